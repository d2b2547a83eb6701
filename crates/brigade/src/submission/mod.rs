//! Submitting to a pool: the methods of a [`Handle`](crate::Handle), and the additions of bounded pools and of a
//! [`JobBuilder`]. This module must not know the owner of a pool.
//!
//! In a pool that is neither bounded nor observed, a closure without a deadline, a name or values becomes a plain job. Every
//! other job takes the slow path through [`Submission`]. The fast path recognizes its pools by their keys.

// In the order of the methods in the documentation of `Handle`.
mod accept;

mod job_builder;

mod boxed;
mod broadcast;
mod carried;
mod on_worker;
mod options;
mod reserve;
#[cfg_attr(not(feature = "observe"), path = "unwatched.rs")]
mod watcher;

use core::convert::identity;
use std::panic::Location;
use std::time::Instant;

use brigade_task::Job;

use crate::engine::{Admission, Key, Permit, reach_once};
use crate::values::{Priority, Rejected, WhenFull};
pub(crate) use accept::{ADMIT, Receipt, accept, admit_bounded, inherits, submit, submit_job};
pub(crate) use boxed::{Closure, Until, make_job, returned, unmade};
pub(crate) use carried::{Carried, Carrying};
pub use carried::{current_job_name, inherited};
pub use job_builder::JobBuilder;
pub use on_worker::JobOnWorker;
pub(crate) use options::Options;
pub use reserve::Reserved;
pub(crate) use watcher::watcher_of;

/// A closure to be submitted on the slow path. Passed as one value, made where the path is taken: a closure that is an
/// argument of its own would be in memory on the fast path too, where it stays in registers (`latency` takes 1.2 times as
/// long then).
pub(crate) struct Submission<F> {
    pub(crate) work: F,
    /// The policy for a full pool; `None` for the pool's own.
    pub(crate) when_full: Option<WhenFull>,
    /// The settings; `None` if nothing was set, which costs the caller a single word to store.
    pub(crate) options: Option<Options>,
    /// The place of the call that submits it.
    pub(crate) place: &'static Location<'static>,
}

impl<F> Submission<F> {
    /// Submits the closure to the pool with this key.
    #[cold]
    #[inline(never)]
    pub(crate) fn submit<R: Receipt>(self, key: Key) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let Self { work, when_full, options, place } = self;
        // Also that of a job without values, once a program has used values: a copy of the other way here would be 0.6 kB for each
        // closure.
        Submission { work: (), when_full, options, place }.submit_large(work, key, identity)
    }
}

impl Submission<()> {
    /// Submits this closure. A large closure is an argument of its own, which is not copied into a submission.
    #[inline]
    pub(crate) fn submit_large<F, R: Receipt, H>(
        self,
        work: F,
        key: Key,
        handle: impl FnOnce(R) -> H,
    ) -> Result<H, Rejected<F>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let Self { when_full, options, place, .. } = self;
        let work: Box<dyn Closure<R::Output>> = Box::new(work);
        let boxed = Submission { work, when_full, options, place };
        boxed.submit_boxed(key).map(handle).or_else(returned)
    }
}

impl<T: 'static> Submission<Box<dyn Closure<T>>> {
    #[inline(never)]
    fn submit_boxed<R: Receipt<Output = T>>(
        self,
        key: Key,
    ) -> Result<R, Rejected<Box<dyn Closure<T>>>> {
        let Self { work, when_full, options, place } = self;
        let options = options.unwrap_or_default();
        let admitted = Admitted { when_full, deadline: options.deadline, class: options.class };
        let watcher = watcher_of(key, place, options.carried.name.as_ref(), options.class);
        let make = |permit, work| make_job(watcher, permit, options, None, work);
        submit_admitted(key, admitted, work, make, unmade)
    }
}

/// The properties of a job that a pool needs before the job is made.
#[derive(Clone, Copy)]
pub(crate) struct Admitted {
    /// The policy for a full pool; `None` for the pool's own.
    pub(crate) when_full: Option<WhenFull>,
    pub(crate) deadline: Option<Instant>,
    /// The class of the job; `None` for the submitting job's class.
    pub(crate) class: Option<Priority>,
}

/// Submits work to the pool with this key. Makes the job and the receipt once the pool has decided to accept the
/// work.
///
/// # Errors
/// Returns the work, which `back` extracts from a job already made.
// Not inlined: callers skip it for pools without a capacity.
#[inline(never)]
pub(crate) fn submit_admitted<W, R>(
    key: Key,
    admitted: Admitted,
    work: W,
    make: impl FnOnce(Option<Permit>, W) -> (Job, R),
    back: impl FnOnce(Job) -> W,
) -> Result<R, Rejected<W>> {
    reach_once(key, |at| {
        // Dropped last: the destructor of an evicted job may wait for room.
        let (permit, how, _evicted) = match at.admit(admitted) {
            Admission::Queue(permit) => (permit, None, None),
            Admission::Replace(permit, evicted) => (Some(permit), None, Some(evicted)),
            Admission::Unqueued(how) => (None, Some(how), None),
            Admission::Refuse(reason) => return Err(at.reject(work, reason)),
        };
        submit_job(make(permit, work), |job| at.place(admitted.class, how, job), back)
    })
}
