//! The unfinished jobs of a pool, for a dump.
//!
//! **List rule.** A watch adds the job before it is queued, and removes it at the end, or when the job is dropped unrun. In between only
//! the thread that runs the job changes the entry. Any thread may read it. No user code runs under a lock, and none is dropped there: a
//! reader drops its copies later.

use std::sync::Arc;
use std::time::Instant;

use brigade_sync::awaited::Awaited;
use brigade_sync::{CachePadded, Mutex};
use brigade_task::JobId;

use crate::job::Job;

/// A dump lists this number of entries of each kind.
pub(crate) const LISTED: usize = 64;

/// Threads that begin and end jobs at once seldom share one of these locks.
const SHARDS: usize = 8;

/// This many vacant places are kept.
const KEPT: usize = 64;

/// An unfinished job, or a timer.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) job: Arc<Job>,
    /// When the job was accepted, or the timer set.
    pub(crate) since: Instant,
    /// Names it in notes and waits, once it has started and if it has a handle.
    pub(crate) id: Option<JobId>,
    pub(crate) stage: Stage,
}

#[derive(Clone)]
pub(crate) enum Stage {
    Queued,
    Running,
    /// A future: the end of the last poll, and the notes of the poll.
    Pending(Instant, Vec<Awaited>),
    /// A closure to be queued at this time.
    Timed(Instant),
}

impl Entry {
    /// Whether the last poll has noted this job.
    pub(crate) fn awaits_job(&self, job: &Self) -> bool {
        job.id.is_some_and(|id| self.awaits().contains(&Awaited::Job(id.into())))
    }

    /// Whether it is a future between polls.
    pub(crate) fn is_pending(&self) -> bool {
        matches!(self.stage, Stage::Pending(..))
    }

    /// The notes of the last poll.
    pub(crate) fn awaits(&self) -> &[Awaited] {
        if let Stage::Pending(_, awaits) = &self.stage { awaits } else { &[] }
    }

    /// When the timer is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        if let Stage::Timed(at) = self.stage {
            return Some(at);
        }
        let mut due = None;
        for awaited in self.awaits() {
            match *awaited {
                Awaited::Timer(at) if due.is_none_or(|due| at < due) => due = Some(at),
                _ => {}
            }
        }
        due
    }
}

/// The index of an entry: of its shard, and there.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize, usize);

#[derive(Default)]
struct Shard {
    entries: Vec<Option<Entry>>,
    /// The vacant indices of `entries`.
    vacant: Vec<usize>,
}

/// The list.
#[derive(Default)]
pub(crate) struct Unfinished([CachePadded<Mutex<Shard>>; SHARDS]);

impl Unfinished {
    pub(crate) fn add(&self, job: &Arc<Job>, since: Instant, stage: Stage) -> Place {
        let entry = Entry { job: job.clone(), since, id: None, stage };
        let index = Arc::as_ptr(job).addr() / size_of::<Job>() % SHARDS;
        let mut shard = self.0[index].lock();
        let vacant = shard.vacant.pop().unwrap_or(shard.entries.len());
        match shard.entries.get_mut(vacant) {
            Some(place) => *place = Some(entry),
            None => shard.entries.push(Some(entry)),
        }
        Place(index, vacant)
    }

    /// Changes the stage of an entry, and sets the id if it is known.
    pub(crate) fn change(&self, Place(shard, index): Place, stage: Stage, id: Option<JobId>) {
        if let Some(entry) = &mut self.0[shard].lock().entries[index] {
            entry.stage = stage;
            entry.id = id.or(entry.id);
        }
    }

    pub(crate) fn remove(&self, Place(index, place): Place) {
        let mut shard = self.0[index].lock();
        let entry = shard.entries[place].take();
        shard.vacant.push(place);
        if shard.vacant.len() == shard.entries.len() && shard.vacant.len() > KEPT {
            *shard = Shard::default();
        }
        drop(shard);
        // Perhaps the last reference to the job, whose span is the user's.
        drop(entry);
    }

    /// Counts the entries for which there is a time, and copies those with the earliest, in their order.
    pub(crate) fn first(&self, time: &dyn Fn(&Entry) -> Option<Instant>) -> (usize, Vec<Entry>) {
        let (mut count, mut times, mut first) = (0, Vec::new(), Vec::new());
        for shard in &self.0 {
            for entry in shard.lock().entries.iter().flatten() {
                let Some(at) = time(entry) else { continue };
                count += 1;
                let place = times.partition_point(|&earlier| earlier <= at);
                if place < LISTED {
                    times.insert(place, at);
                    times.truncate(LISTED);
                    first.insert(place, entry.clone());
                    // Not the last copy, whose span is the user's.
                    first.truncate(LISTED);
                }
            }
        }
        (count, first)
    }

    /// Copies the entries of a kind.
    pub(crate) fn find(&self, is_asked: &dyn Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut found = Vec::new();
        for shard in &self.0 {
            for entry in shard.lock().entries.iter().flatten() {
                if is_asked(entry) {
                    found.push(entry.clone());
                }
            }
        }
        found
    }
}
