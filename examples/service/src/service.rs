//! What becomes of a job, from its acceptance to its stored result.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brigade::{Cause, Handle, JobBuilder, JoinError, JoinHandle, Priority, Reason};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use thumbnails::work;
use tokio::sync::{Semaphore, watch};
use tracing::{Instrument, Span, info, warn};

use crate::config::Settings;
use crate::events::{Events, event};
use crate::jobs::{Claim, Id, State, Table, lock};
use crate::queue::Queue;
use crate::store::Store;

/// How long to wait before the next attempt to store a result.
const RETRY: Duration = Duration::from_millis(200);

/// How a job is to be done.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Terms {
    /// Of the square into which the thumbnail fits, in pixels.
    pub side: u32,
    pub class: Class,
    /// The latest time to begin, in milliseconds since 1970: other processes read it, too.
    pub deadline: Option<u64>,
}

/// [`Priority`], as people write it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    High,
    #[default]
    Normal,
    Low,
}

impl From<Class> for Priority {
    fn from(class: Class) -> Self {
        match class {
            Class::High => Self::High,
            Class::Normal => Self::Normal,
            Class::Low => Self::Low,
        }
    }
}

impl Terms {
    fn deadline(&self) -> Option<SystemTime> {
        self.deadline.map(|millis| UNIX_EPOCH + Duration::from_millis(millis))
    }
}

/// How far the end of the process has come.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Stage {
    Serving,
    /// No new jobs; those that were accepted have some time.
    Ending,
    /// The time is over: what still runs is left to other processes.
    GivenUp,
}

/// What became of a request for a job.
pub enum Accepted {
    Begun(JoinHandle<State>),
    /// It is in the queue, or was accepted earlier.
    UnderWay,
    Over(State),
}

/// Why a job was not accepted.
#[derive(Debug)]
pub enum Refused {
    /// There are too many.
    Full,
    /// Results can't be stored now, or the queue can't be reached.
    Unwell(String),
    /// The service ends.
    Ending,
    /// The most bytes of an image.
    TooLarge(usize),
}

/// All that requests, messages and the end of the process share.
pub struct Service {
    pub settings: Settings,
    /// Runs connections: all that waits.
    pub web: Handle,
    /// Runs jobs: all that computes. It has a capacity.
    pub work: Handle,
    pub table: Table,
    pub store: Store,
    pub queue: Option<Queue>,
    pub events: Events,
    /// How many results can't be stored, and why.
    trouble: Mutex<(usize, String)>,
    /// Room for jobs in this process, from their acceptance to their stored results.
    room: Arc<Semaphore>,
    /// How many jobs ended in each way.
    ends: Mutex<BTreeMap<&'static str, u64>>,
    stage: watch::Sender<Stage>,
}

impl Service {
    pub fn new(
        settings: Settings,
        web: Handle,
        work: Handle,
        store: Store,
        queue: Option<Queue>,
    ) -> Arc<Self> {
        // Waiting, running, and being stored.
        let room = settings.capacity + 2 * *work.size().end();
        Arc::new(Self {
            settings,
            room: Arc::new(Semaphore::new(room)),
            web,
            work,
            table: Table::default(),
            store,
            queue,
            events: Events::default(),
            trouble: Mutex::default(),
            ends: Mutex::default(),
            stage: watch::Sender::new(Stage::Serving),
        })
    }

    /// Accepts a job, unless there is one with this id.
    pub async fn accept(
        self: &Arc<Self>,
        id: &Id,
        terms: Terms,
        image: Bytes,
    ) -> Result<Accepted, Refused> {
        if self.is_ending() {
            return Err(Refused::Ending);
        }
        self.health().map_err(Refused::Unwell)?;
        if let Some(queue) = &self.queue {
            return match self.stored(id).await.map_err(unwell)? {
                Some(state) => Ok(Accepted::Over(state)),
                None => queue.publish(id, terms, image).await.map(|()| Accepted::UnderWay),
            };
        }
        // The claim comes first: a job under way here is in the table until its result is in the store.
        let Some(claim) = self.table.claim(id) else {
            // The other request may yet be refused.
            let is_submitted = self.table.is_submitted(id);
            return if is_submitted { Ok(Accepted::UnderWay) } else { Err(Refused::Full) };
        };
        if let Some(state) = self.stored(id).await.map_err(unwell)? {
            return Ok(Accepted::Over(state));
        }
        let room = self.room.clone().try_acquire_owned().map_err(|_| Refused::Full)?;
        let job = self.job(id, terms).submit(self.closure(id, terms, image));
        let job = job.map_err(|rejected| match rejected.reason() {
            Reason::Full => Refused::Full,
            _ => Refused::Ending,
        })?;
        self.table.submitted(id, job.cancel_handle());
        let service = self.clone();
        let settled = async move {
            let state = ended(job.await);
            service.settle(claim, &state).await;
            drop(room);
            state
        };
        Ok(Accepted::Begun(self.web.spawn(settled.instrument(Span::current()))))
    }

    /// Does a job of the queue, and stores its result. Returns `false` if another process should do it, as this one ends.
    pub async fn perform(self: &Arc<Self>, claim: Claim, terms: Terms, image: Bytes) -> bool {
        let id = &claim.id;
        // The message has been taken, so this waits for room.
        let Ok(room) = self.job(id, terms).reserve().await else { return false };
        let Ok(job) = room.submit(self.closure(id, terms, image)) else { return false };
        self.table.submitted(id, job.cancel_handle());
        let state = ended(job.await);
        if state == State::Cancelled && self.is_ending() && !self.table.is_cancelled(id) {
            return false;
        }
        self.settle(claim, &state).await;
        true
    }

    /// The job's place in the pool. The name is for the log of stalls.
    fn job(&self, id: &Id, terms: Terms) -> JobBuilder {
        let job = self.work.job().name(id.to_string()).priority(terms.class.into());
        match terms.deadline() {
            // `Err` is a time that has passed.
            Some(deadline) => {
                let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
                job.deadline(Instant::now() + left)
            }
            None => job,
        }
    }

    /// What a thread of the pool does.
    fn closure(
        self: &Arc<Self>,
        id: &Id,
        terms: Terms,
        image: Bytes,
    ) -> impl FnOnce() -> State + Send + use<> {
        let (service, id) = (self.clone(), id.clone());
        move || {
            service.table.begun(&id);
            let begun = Instant::now();
            let made = work::thumbnail(&image, terms.side);
            metrics::histogram!("thumbnails_job_seconds").record(begun.elapsed());
            match made {
                Ok(thumbnail) => State::Done(thumbnail),
                Err(_) if brigade::cancelled() => State::Cancelled,
                Err(error) => State::Failed { error },
            }
        }
    }

    /// Stores how a job ended, however long it takes: nothing that was accepted is lost while this process lives.
    pub async fn settle(&self, claim: Claim, state: &State) {
        let id = claim.id.clone();
        let too_large = State::Failed { error: "the thumbnail is too large for the store".into() };
        let (bytes, state) = match encode(state) {
            bytes if bytes.len() > self.store.limit() => (encode(&too_large), &too_large),
            bytes => (bytes, state),
        };
        let mut has_failed = false;
        let is_first = loop {
            match self.store.put_once(&id, bytes.clone()).await {
                Ok(is_first) => break is_first,
                Err(error) => {
                    warn!(%id, %error, "can't store a result; trying again");
                    self.suffer(usize::from(!has_failed), error.to_string());
                    has_failed = true;
                    brigade::sleep(RETRY).await;
                }
            }
        };
        lock(&self.trouble).0 -= usize::from(has_failed);
        info!(%id, state = state.name(), is_first, "stored");
        if is_first {
            metrics::counter!("thumbnails_jobs_total", "state" => state.name()).increment(1);
            *lock(&self.ends).entry(state.name()).or_default() += 1;
        }
        drop(claim);
        if is_first {
            self.events.send_result(&json!({ "id": id, "result": state }));
        }
    }

    /// Notes that so many more results can't be stored.
    fn suffer(&self, more: usize, error: String) {
        let mut trouble = lock(&self.trouble);
        *trouble = (trouble.0 + more, error);
    }

    /// The result of a job that has ended.
    pub async fn stored(&self, id: &Id) -> io::Result<Option<State>> {
        let stored = self.store.get(id).await?;
        Ok(stored.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
    }

    /// Says why jobs are not accepted now.
    pub fn health(&self) -> Result<(), String> {
        if self.queue.as_ref().is_some_and(|queue| !queue.is_connected()) {
            return Err("there is no connection to the queue".into());
        }
        match &*lock(&self.trouble) {
            (0, _) => Ok(()),
            (results, error) => Err(format!("{results} results can't be stored: {error}")),
        }
    }

    pub fn enter(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    pub fn is_ending(&self) -> bool {
        *self.stage.borrow() >= Stage::Ending
    }

    /// Waits for a stage, or a later one.
    pub fn until(&self, stage: Stage) -> impl Future<Output = ()> + Send + use<> {
        let mut stages = self.stage.subscribe();
        async move { _ = stages.wait_for(|now| *now >= stage).await }
    }

    /// How many jobs ended in each way.
    pub fn ends(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.ends).clone()
    }

    /// Tells those that listen how many jobs there are.
    pub fn tell_of_queue(&self) {
        if self.events.has_listeners() {
            self.events.send(self.counts());
        }
    }

    /// How many jobs there are, as an event.
    pub fn counts(&self) -> Bytes {
        let metrics = self.work.metrics();
        let counts = json!({
            "queued": metrics.queued,
            "running": metrics.running,
            "capacity": self.settings.capacity,
            "rejected": metrics.rejected,
            "ends": self.ends(),
        });
        event("queue", &counts)
    }
}

/// The state of a job that has ended.
fn ended(outcome: Result<State, JoinError>) -> State {
    match outcome {
        Ok(state) => state,
        Err(JoinError::Cancelled(Cause::Deadline)) => State::Expired,
        Err(JoinError::Cancelled(_)) => State::Cancelled,
        Err(error) => State::Failed { error: error.to_string() },
    }
}

fn encode(state: &State) -> Bytes {
    serde_json::to_vec(state).expect("a state is plain data").into()
}

fn unwell(error: io::Error) -> Refused {
    Refused::Unwell(error.to_string())
}
