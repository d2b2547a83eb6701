//! A queue for several processes: a stream of a NATS server, from which each process takes jobs.
//!
//! A message is acknowledged when the job's result is stored, and not before. So a job is begun again if its process dies, and
//! a result is stored once, as a bucket creates each key once. A job whose processes die again and again becomes a dead letter.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use async_compat::CompatExt;
use async_nats::connection::State;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{self, AckKind, Context, Message};
use async_nats::{ConnectOptions, HeaderMap};
use bytes::Bytes;
use futures_lite::{StreamExt, future};
use tokio::sync::Semaphore;
use tracing::{Instrument, info_span, warn};

use crate::config::Settings;
use crate::jobs::{self, Id};
use crate::service::{Refused, Service, Stage, Terms};
use crate::store::Store;

/// The header with a job's [`Terms`].
const TERMS: &str = "Terms";

/// The error code of a stream that has as many messages as it may.
const MAX_MESSAGES: &str = "maximum messages exceeded";

/// How long a request to the server may take.
const REQUEST: Duration = Duration::from_secs(2);

/// How long to wait before the next attempt to take messages.
const RETRY: Duration = Duration::from_millis(200);

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The streams of a server: jobs, and dead letters.
pub struct Queue {
    context: Context,
    jobs: Stream,
    /// All processes take from this one.
    workers: PullConsumer,
    prefix: String,
}

impl Queue {
    /// Connects, and makes the streams and the bucket for results if they are not there.
    pub async fn connect(settings: &Settings) -> Result<(Self, Store), Failure> {
        let options = ConnectOptions::new()
            .request_timeout(Some(REQUEST))
            .reconnect_delay_callback(|_| RETRY);
        let client = options.connect(&settings.queue).await?;
        let context = jetstream::context::ContextBuilder::new().timeout(REQUEST).build(client);
        let prefix = settings.prefix.clone();
        let stream = |kind: &str| Config {
            name: format!("{prefix}-{kind}"),
            subjects: vec![format!("{prefix}.{kind}.*")],
            ..Config::default()
        };
        let jobs = context.get_or_create_stream(Config {
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            max_messages: settings.queue_capacity,
            ..stream("jobs")
        });
        let jobs = jobs.await?;
        context.get_or_create_stream(stream("dead")).await?;
        let consumer = pull::Config {
            durable_name: Some("workers".into()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: settings.ack_wait(),
            // This counts deliveries itself, and so says what became of the job.
            max_deliver: -1,
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        let workers = jobs.get_or_create_consumer("workers", consumer).await?;
        // A bucket is a stream with these settings. (`create_key_value` does not understand servers before 2.10.)
        // <https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-8.md>
        let bucket = format!("{prefix}-results");
        let results = Config {
            name: format!("KV_{bucket}"),
            subjects: vec![format!("$KV.{bucket}.>")],
            discard: DiscardPolicy::New,
            max_messages_per_subject: 1,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            ..Config::default()
        };
        context.get_or_create_stream(results).await?;
        let bucket = context.get_key_value(bucket).await?;
        Ok((Self { context, jobs, workers, prefix }, Store::Bucket(Box::new(bucket))))
    }

    pub fn is_connected(&self) -> bool {
        self.context.client().connection_state() == State::Connected
    }

    /// Returns when the server has stored the job.
    pub async fn publish(&self, id: &Id, terms: Terms, image: Bytes) -> Result<(), Refused> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id.as_str());
        headers.insert(TERMS, serde_json::to_string(&terms).expect("plain data"));
        let subject = format!("{}.jobs.{id}", self.prefix);
        let publish =
            async { self.context.publish_with_headers(subject, headers, image).await?.await };
        match publish.compat().await {
            Ok(_) => Ok(()),
            Err(error) if error.to_string().contains(MAX_MESSAGES) => Err(Refused::Full),
            Err(error) => match error.kind() {
                jetstream::context::PublishErrorKind::MaxPayloadExceeded => Err(Refused::TooLarge),
                _ => Err(Refused::Unwell(error.to_string())),
            },
        }
    }

    /// Whether a job waits, or runs in some process.
    pub async fn has(&self, id: &Id) -> Result<bool, Failure> {
        use async_nats::jetstream::stream::LastRawMessageErrorKind::NoMessageFound;
        let subject = format!("{}.jobs.{id}", self.prefix);
        match self.jobs.get_last_raw_message_by_subject(&subject).compat().await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == NoMessageFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Does jobs until it is dropped. Takes as many messages as the pool's queue has room for, and no more.
    pub async fn take(&self, service: &Arc<Service>) {
        let room = Arc::new(Semaphore::new(service.settings.capacity));
        loop {
            if let Err(error) = self.take_some(service, &room).compat().await {
                warn!(%error, "can't take jobs; trying again");
                brigade::sleep(RETRY).await;
            }
        }
    }

    async fn take_some(
        &self,
        service: &Arc<Service>,
        room: &Arc<Semaphore>,
    ) -> Result<(), Failure> {
        let mut permits = vec![room.clone().acquire_owned().await?];
        permits.extend(iter::from_fn(|| room.clone().try_acquire_owned().ok()));
        let messages = self.workers.batch().max_messages(permits.len()).expires(REQUEST);
        let mut messages = messages.messages().await?;
        while let Some(message) = messages.next().await {
            let (message, service, permit) = (message?, service.clone(), permits.pop());
            let span = info_span!("message", subject = %message.subject);
            let done = async move {
                let queue = service.queue.as_ref().expect("it is this one");
                if let Err(error) = queue.perform(&service, &message).await {
                    // Some process gets it again when it has been without a sign of life for long enough.
                    warn!(%error, "a message was not acknowledged");
                }
                drop(permit);
            };
            brigade::spawn(done.instrument(span).compat());
        }
        Ok(())
    }

    /// Does the job of a message, and acknowledges it.
    async fn perform(&self, service: &Arc<Service>, message: &Message) -> Result<(), Failure> {
        let (_, name) = message.subject.rsplit_once('.').unwrap_or_default();
        let terms = message.headers.as_ref().and_then(|headers| headers.get(TERMS));
        let terms = terms.and_then(|terms| serde_json::from_str::<Terms>(terms.as_str()).ok());
        let (Some(id), Some(terms)) = (Id::new(name), terms) else {
            return self.bury(message, "the message is no job").await;
        };
        if service.store.get(&id).await?.is_some() {
            // Its process died between the result and the acknowledgement.
            return message.double_ack().await;
        }
        // Otherwise it was delivered again although it is under way here; its next delivery finds the result.
        let Some(claim) = service.table.claim(&id) else { return Ok(()) };
        let times = message.info()?.delivered - 1;
        if times >= service.settings.max_deliveries {
            let error = format!("given up: begun {times} times, without a result");
            service.settle(claim, &jobs::State::Failed { error: error.clone() }).await;
            return self.bury(message, &error).await;
        }
        let perform = service.perform(claim, terms, message.payload.clone());
        let meanwhile = async {
            let signs = signs_of_life(message, service.settings.ack_wait() / 3);
            future::or(signs, service.until(Stage::GivenUp)).await;
            false
        };
        if future::or(perform, meanwhile).await {
            return message.double_ack().await;
        }
        message.double_ack_with(AckKind::Nak(None)).await
    }

    /// Moves a message to the dead letters.
    async fn bury(&self, message: &Message, reason: &str) -> Result<(), Failure> {
        warn!(reason, "a dead letter");
        let (_, name) = message.subject.rsplit_once('.').unwrap_or_default();
        let mut headers = message.headers.clone().unwrap_or_default();
        headers.insert("Reason", reason);
        let subject = format!("{}.dead.{name}", self.prefix);
        let payload = message.payload.clone();
        self.context.publish_with_headers(subject, headers, payload).await?.await?;
        message.double_ack().await
    }
}

/// Tells the server, again and again, that the message is being worked on.
async fn signs_of_life(message: &Message, period: Duration) {
    loop {
        brigade::sleep(period).await;
        if let Err(error) = message.ack_with(AckKind::Progress).await {
            warn!(%error, "no sign of life");
        }
    }
}
