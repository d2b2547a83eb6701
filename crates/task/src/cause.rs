//! Why a job was cancelled.
//!
//! **How a cause reaches the result.** The thread that ends an unfinished job knows the cause, and passes it on: with the action for the
//! job, with the claim of the closure, or with the stop request of a future, whose state keeps it. A [`Job`](crate::Job) dropped without
//! a cause belongs to an ended pool.
//!
//! **The first cause wins.** A closure is claimed once, and the claiming thread has a single cause. A future is dropped for the cause of
//! the first stop request: the thread that drops it makes a request before, which has no effect if there was an earlier request. A cause
//! for which a running job is not cancelled leaves no trace.
//!
//! Destructors of the closure or future find the cause by [`drop_cause`](crate::drop_cause).

use core::fmt;

/// Why a job was cancelled: the first cause, if there are several.
///
/// `Display` names the cause, and says what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// As long as the pointer of a panic, so a result is still passed in two registers.
#[repr(usize)]
#[non_exhaustive]
pub enum Cause {
    /// A handle, a set or a scope has cancelled it, or a `cancel_on_drop` handle or a set was dropped.
    Asked,
    /// It had not started by its deadline, or not ended by the deadline of its set.
    Deadline,
    /// The queue was full, and had no room for it, or needed the room for a newer job.
    Evicted,
    /// The pool was discarded, has ended, or had no thread to run it.
    Ended,
}

impl Cause {
    /// All causes, each at the index `cause as usize`.
    #[doc(hidden)]
    pub const ALL: [Self; 4] = [Self::Asked, Self::Deadline, Self::Evicted, Self::Ended];

    /// The cause with this number.
    pub(crate) fn of_number(number: usize) -> Self {
        Self::ALL[number % Self::ALL.len()]
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "it was asked to stop",
            Self::Deadline => "it had not started by its deadline, or not ended by that of its set; allow more time, or add threads",
            Self::Evicted => "its queue was full; raise the capacity, or let submitters wait",
            Self::Ended => {
                "its pool was discarded or has ended; `Shutdown::Finish` runs all jobs and futures"
            }
        })
    }
}

/// How many jobs were cancelled, by [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Causes {
    /// Jobs cancelled by a handle, a set or a scope.
    pub asked: u64,
    /// Jobs not started by their deadline, or not ended by the deadline of their set.
    pub deadline: u64,
    /// Jobs dropped because the queue was full.
    pub evicted: u64,
    /// Jobs of a discarded or ended pool.
    pub ended: u64,
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, deadline, evicted, ended } = self;
        write!(f, "{asked} asked, {deadline} late, {evicted} evicted, {ended} ended")
    }
}

impl Causes {
    /// Adds jobs cancelled for this cause.
    #[doc(hidden)]
    pub fn add(&mut self, cause: Cause, jobs: u64) {
        *match cause {
            Cause::Asked => &mut self.asked,
            Cause::Deadline => &mut self.deadline,
            Cause::Evicted => &mut self.evicted,
            Cause::Ended => &mut self.ended,
        } += jobs;
    }

    /// Returns the number of cancelled jobs.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// let causes = brigade::Causes::default();
    /// assert_eq!(causes.sum(), 0);
    /// ```
    #[must_use]
    pub fn sum(&self) -> u64 {
        let Self { asked, deadline, evicted, ended } = self;
        asked + deadline + evicted + ended
    }
}
