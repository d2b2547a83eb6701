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
use async_nats::jetstream::{self, AckKind, Context, Message, kv};
use async_nats::{ConnectOptions, HeaderMap};
use bytes::Bytes;
use futures_lite::{StreamExt, future};
use tokio::sync::{RwLock, Semaphore};
use tracing::{Instrument, info_span, warn};

use crate::config::Settings;
use crate::jobs::{self, Id};
use crate::service::{Refused, Service, Stage, Terms};
use crate::store::Store;

/// The header with a job's [`Terms`].
const TERMS: &str = "Terms";

/// The error of a stream that has as many messages as it may.
const MAX_MESSAGES: &str = "maximum messages exceeded";

/// How many bytes of a message are kept for headers.
const HEADERS: usize = 4096;

/// How long a request to the server may take.
const REQUEST: Duration = Duration::from_secs(2);

/// How long to wait before the next attempt to take messages.
const RETRY: Duration = Duration::from_millis(200);

/// For how long the attempts of a job are known.
const ATTEMPTS: Duration = Duration::from_secs(24 * 3600);

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The streams of a server: jobs, and dead letters.
pub struct Queue {
    context: Context,
    jobs: Stream,
    /// All processes take from this one.
    workers: PullConsumer,
    /// How often each job that was delivered again has been begun.
    attempts: kv::Store,
    /// A job that was delivered again is done alone.
    turns: RwLock<()>,
    prefix: String,
    /// The most bytes of an image, and of a result.
    limit: usize,
}

impl Queue {
    /// Connects, and makes the streams and buckets as the settings say.
    pub async fn connect(settings: &Settings) -> Result<(Self, Store), Failure> {
        let options = ConnectOptions::new()
            .request_timeout(Some(REQUEST))
            .reconnect_delay_callback(|_| RETRY);
        let client = options.connect(&settings.queue).await?;
        let limit = client.server_info().max_payload.saturating_sub(HEADERS);
        let context = jetstream::context::ContextBuilder::new().timeout(REQUEST).build(client);
        let prefix = settings.prefix.clone();
        let stream = |kind: &str| Config {
            name: format!("{prefix}-{kind}"),
            subjects: vec![format!("{prefix}.{kind}.*")],
            ..Config::default()
        };
        let jobs = Config {
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            max_messages: settings.queue_capacity,
            ..stream("jobs")
        };
        let jobs_named = jobs.name.clone();
        for config in [jobs, stream("dead")] {
            context.create_or_update_stream(config).await?;
        }
        let jobs = context.get_stream(jobs_named).await?;
        let workers = pull::Config {
            durable_name: Some("workers".into()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: settings.ack_wait(),
            // This counts attempts itself, and says what became of the job.
            max_deliver: -1,
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        // Or updates it.
        let workers = jobs.create_consumer(workers).await?;
        let attempts = bucket(&context, format!("{prefix}-attempts"), ATTEMPTS).await?;
        let results = bucket(&context, format!("{prefix}-results"), Duration::ZERO).await?;
        let store = Store::Bucket { bucket: Box::new(results), limit };
        let turns = RwLock::default();
        Ok((Self { context, jobs, workers, attempts, turns, prefix, limit }, store))
    }

    pub fn is_connected(&self) -> bool {
        self.context.client().connection_state() == State::Connected
    }

    /// Returns when the server has stored the job.
    pub async fn publish(&self, id: &Id, terms: Terms, image: Bytes) -> Result<(), Refused> {
        if image.len() > self.limit {
            return Err(Refused::TooLarge(self.limit));
        }
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id.as_str());
        headers.insert(TERMS, serde_json::to_string(&terms).expect("plain data"));
        let subject = format!("{}.jobs.{id}", self.prefix);
        let publish =
            async { self.context.publish_with_headers(subject, headers, image).await?.await };
        match publish.compat().await {
            Ok(_) => Ok(()),
            Err(error) if error.to_string().contains(MAX_MESSAGES) => Err(Refused::Full),
            Err(error) => Err(Refused::Unwell(error.to_string())),
        }
    }

    /// Whether a job waits, or runs in some process.
    pub async fn has(&self, id: &Id) -> Result<bool, Failure> {
        let subject = format!("{}.jobs.{id}", self.prefix);
        async { Ok(self.jobs.info_with_subjects(subject).await?.next().await.is_some()) }
            .compat()
            .await
    }

    /// Does jobs until the process ends. Takes a message for each thread, and for each a second one, so that no thread waits for the
    /// server.
    pub async fn take(&self, service: &Arc<Service>) {
        let room = Arc::new(Semaphore::new(2 * *service.work.size().end()));
        while !service.is_ending() {
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
        let ending = async {
            service.until(Stage::Ending).await;
            Ok::<_, Failure>(None)
        };
        let one = async { Ok(Some(room.clone().acquire_owned().await?)) };
        let Some(permit) = future::or(one, ending).await? else { return Ok(()) };
        let mut permits = vec![permit];
        permits.extend(iter::from_fn(|| room.clone().try_acquire_owned().ok()));
        let messages = self.workers.batch().max_messages(permits.len()).expires(REQUEST);
        let mut messages = messages.messages().await?;
        while let Some(message) = messages.next().await {
            let message = message?;
            if service.is_ending() {
                message.double_ack_with(AckKind::Nak(None)).await?;
                continue;
            }
            let (service, permit) = (service.clone(), permits.pop());
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
        let meanwhile = async {
            let signs = signs_of_life(message, service.settings.ack_wait() / 3);
            future::or(signs, service.until(Stage::GivenUp)).await;
            Ok(false)
        };
        match future::or(self.finish(service, message), meanwhile).await? {
            true => message.double_ack().await,
            false => {
                // This process ends by itself, so the job is not to blame.
                self.attempts.delete(name(message)).await?;
                message.double_ack_with(AckKind::Nak(None)).await
            }
        }
    }

    /// Returns when the message has a result, or is a dead letter; with `false` if another process should do it.
    async fn finish(&self, service: &Arc<Service>, message: &Message) -> Result<bool, Failure> {
        let terms = message.headers.as_ref().and_then(|headers| headers.get(TERMS));
        let terms = terms.and_then(|terms| serde_json::from_str::<Terms>(terms.as_str()).ok());
        let (Some(id), Some(terms)) = (Id::new(name(message)), terms) else {
            self.bury(message, "the message is no job").await?;
            return Ok(true);
        };
        if service.store.get(&id).await?.is_some() {
            // Its process died between the result and the acknowledgement.
            return Ok(true);
        }
        let Some(claim) = service.table.claim(&id) else {
            return Err("it was delivered again while it is under way here".into());
        };
        let image = message.payload.clone();
        if message.info()?.delivered == 1 {
            let _turn = self.turns.read().await;
            return Ok(service.perform(claim, terms, image).await);
        }
        // Its process has died, or has ended. Perhaps the job is the reason: it is done alone, so that no other job is blamed.
        let _alone = self.turns.write().await;
        let attempts = self.attempts.get(id.as_str()).await?;
        let attempts = attempts.and_then(|text| str::from_utf8(&text).ok()?.parse().ok());
        let attempts = attempts.unwrap_or(1_u32);
        if attempts >= service.settings.max_attempts {
            let error = format!("given up: begun {attempts} times, without a result");
            self.bury(message, &error).await?;
            service.settle(claim, &jobs::State::Failed { error }).await;
            return Ok(true);
        }
        self.attempts.put(id.as_str(), (attempts + 1).to_string().into()).await?;
        Ok(service.perform(claim, terms, image).await)
    }

    /// Copies a message to the dead letters. Their stream takes the same one once.
    async fn bury(&self, message: &Message, reason: &str) -> Result<(), Failure> {
        warn!(reason, "a dead letter");
        let mut headers = message.headers.clone().unwrap_or_default();
        headers.insert("Reason", reason);
        let subject = format!("{}.dead.{}", self.prefix, name(message));
        let payload = message.payload.slice(..message.payload.len().min(self.limit));
        self.context.publish_with_headers(subject, headers, payload).await?.await?;
        Ok(())
    }
}

/// The last part of a message's subject, which is the job's id.
fn name(message: &Message) -> &str {
    message.subject.rsplit_once('.').unwrap_or_default().1
}

/// Makes a bucket, which is a stream with these settings. (`create_key_value` does not understand servers before 2.10.)
/// <https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-8.md>
async fn bucket(context: &Context, name: String, max_age: Duration) -> Result<kv::Store, Failure> {
    let config = Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        discard: DiscardPolicy::New,
        max_messages_per_subject: 1,
        max_age,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    };
    context.create_or_update_stream(config).await?;
    Ok(context.get_key_value(name).await?)
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
