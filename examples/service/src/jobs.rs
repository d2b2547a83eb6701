//! The jobs of this process: what they are called, how they end, and which are under way.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brigade::CancelHandle;
use serde::{Deserialize, Serialize};
use thumbnails::work::Thumbnail;

/// The name of a job: up to 64 letters, digits, `-` and `_`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Id(String);

impl Id {
    pub fn new(name: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_name = (1..=64).contains(&name.len()) && name.bytes().all(fits);
        is_name.then(|| Self(name.into()))
    }

    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a job is. A job that has ended is in the store as this, too.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    Queued,
    Running,
    Done(Thumbnail),
    /// It can't be done, and would fail again.
    Failed {
        error: String,
    },
    Cancelled,
    /// It was not begun before its deadline.
    Expired,
}

impl State {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done(_) => "done",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// A job under way.
struct Job {
    state: State,
    /// `None` while the request for the job may yet be refused.
    cancel: Option<CancelHandle>,
    /// By a client.
    is_cancelled: bool,
}

/// The jobs of this process, until their results are stored.
#[derive(Clone, Default)]
pub struct Table(Arc<Mutex<HashMap<Id, Job>>>);

impl Table {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Job>> {
        lock(&self.0)
    }

    /// Takes a name for a job, unless a job under way has it.
    pub fn claim(&self, id: &Id) -> Option<Claim> {
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                place.insert(Job { state: State::Queued, cancel: None, is_cancelled: false });
                Some(Claim { table: self.clone(), id: id.clone() })
            }
        }
    }

    pub fn submitted(&self, id: &Id, cancel: CancelHandle) {
        if let Some(job) = self.lock().get_mut(id) {
            job.cancel = Some(cancel);
        }
    }

    pub fn begun(&self, id: &Id) {
        if let Some(job) = self.lock().get_mut(id) {
            job.state = State::Running;
        }
    }

    pub fn state(&self, id: &Id) -> Option<State> {
        self.lock().get(id).map(|job| job.state.clone())
    }

    /// Whether the job has been accepted.
    pub fn is_submitted(&self, id: &Id) -> bool {
        self.lock().get(id).is_some_and(|job| job.cancel.is_some())
    }

    /// Cancels a job: a running job stops soon. Returns `false` if it is not here.
    pub fn cancel(&self, id: &Id) -> bool {
        let cancel = self.lock().get_mut(id).and_then(|job| {
            job.is_cancelled = true;
            job.cancel.clone()
        });
        cancel.map(|cancel| cancel.cancel()).is_some()
    }

    /// Whether a client has cancelled the job.
    pub fn is_cancelled(&self, id: &Id) -> bool {
        self.lock().get(id).is_some_and(|job| job.is_cancelled)
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }
}

/// A job's place in the table, until this is dropped: also with a request whose client has gone.
pub struct Claim {
    table: Table,
    pub id: Id,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.table.lock().remove(&self.id);
    }
}

/// Locks, also after a panic under the lock: what it protects is whole between any two statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_claim_frees_the_name() {
        let (table, id) = (Table::default(), Id::new("one").unwrap());
        let claim = table.claim(&id).unwrap();
        assert!(table.claim(&id).is_none() && table.state(&id) == Some(State::Queued));
        table.begun(&id);
        assert_eq!(table.state(&id), Some(State::Running));
        drop(claim);
        assert!(table.state(&id).is_none() && table.len() == 0 && table.claim(&id).is_some());
    }

    #[test]
    fn an_id_is_a_file_name_and_a_subject() {
        let long = "a".repeat(65);
        for bad in ["", ".", "..", "a/b", "a.b", "a b", "*", ">", "é", &long] {
            assert_eq!(Id::new(bad), None, "{bad}");
        }
        assert!(Id::new("A-z_09").is_some() && Id::new(&long[1..]).is_some());
        assert_ne!(Id::random(), Id::random());
    }
}
