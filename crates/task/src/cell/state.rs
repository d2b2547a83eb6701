//! The state word of a task cell, and the only ways it changes.
//!
//! | bit | says | set by | never set when |
//! |---|---|---|---|
//! | `CLAIMED` | somebody took the closure, to run or to drop it | the job, or its joiner | – |
//! | `DONE` | the outcome has been written | whoever claimed | not claimed |
//! | `WAKER` | the waker slot is filled and belongs to whoever sets `DONE` | the handle | `DONE` was set before |
//! | `JOB` | the job is alive | birth | – |
//! | `HANDLE` | the handle is alive | birth | – |
//! | `ASKED` | the closure is asked to stop, or the future to be dropped | the handle | not claimed |
//!
//! The outcome belongs to the handle once `DONE` is set while `HANDLE` is; if the handle was gone by
//! then, to whoever set `DONE`. The cell is freed by whoever clears the last of `JOB` and `HANDLE`.
//!
//! Whether a future has been cancelled is decided between `ASKED` and `DONE`: by which of them came first.
//!
//! Of a closure `ASKED` decides nothing: it is the closure's to look at, and after `DONE` nobody does. It adds no race to
//! the models: who sets it holds the handle and who reads it runs the closure, so neither needs anything to keep
//! the cell alive, and no other memory goes by it.

use brigade_sync::atomic::{AtomicU32, Ordering};

const CLAIMED: u32 = 1;
const DONE: u32 = 2;
const WAKER: u32 = 4;
const JOB: u32 = 8;
const HANDLE: u32 = 16;
const ASKED: u32 = 32;

/// The state word.
pub(crate) struct State(AtomicU32);

/// What whoever finished a task has to do next.
#[must_use]
pub(crate) enum Finished {
    /// The handle is gone: the outcome is the finisher's to drop.
    Detached,
    /// The handle waits: take its waker out of the slot and wake it.
    Wake,
    /// The handle will look for itself.
    Quiet,
}

impl Finished {
    fn after(before: u32) -> Self {
        match (before & HANDLE != 0, before & WAKER != 0) {
            (false, _) => Self::Detached,
            (true, true) => Self::Wake,
            (true, false) => Self::Quiet,
        }
    }
}

/// What the handle may do with the waker slot.
#[must_use]
pub(super) enum Slot {
    /// It is the handle's, and empty or not according to the flag.
    Ours {
        /// Whether a waker lies in it.
        filled: bool,
    },
    /// The outcome has been written.
    Done,
}

impl State {
    /// A job and a handle, nothing done.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(JOB | HANDLE))
    }

    /// A future and a handle: nobody runs it in another's place.
    pub(crate) fn claimed() -> Self {
        Self(AtomicU32::new(CLAIMED | JOB | HANDLE))
    }

    /// Takes the closure for the caller; `false` if somebody was first.
    #[must_use]
    pub(super) fn claim(&self) -> bool {
        // Ordering: Relaxed: the closure came with the pointer, and the outcome goes by `DONE`.
        self.0.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Asks a claimed closure to stop, or a future to be dropped; `true` if nobody has before, nor has it ended.
    pub(crate) fn ask(&self) -> bool {
        // Ordering: Release pairs with the Acquire in `is_asked`: who sees that it was asked sees why.
        self.0.fetch_or(ASKED, Ordering::Release) & (ASKED | DONE) == 0
    }

    /// Whether the closure is asked to stop.
    pub(crate) fn is_asked(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `ask`.
        self.0.load(Ordering::Acquire) & ASKED != 0
    }

    /// Says that the outcome has been written.
    pub(crate) fn finish(&self) -> Finished {
        // Ordering: Release pairs with the Acquires of `DONE` below, for the outcome; Acquire pairs with
        // the Release in `offer_waker`, for the waker.
        Finished::after(self.0.fetch_or(DONE, Ordering::AcqRel))
    }

    /// The same for a future, unless somebody has asked before: then it is cancelled, whatever it came to, and `None`.
    pub(crate) fn finish_unless_asked(&self) -> Option<Finished> {
        // Ordering: Acquire, as in `is_asked`.
        let mut state = self.0.load(Ordering::Acquire);
        while state & ASKED == 0 {
            // Ordering: AcqRel, as in `finish`; Acquire on failure, as above.
            match self.0.compare_exchange_weak(
                state,
                state | DONE,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(before) => return Some(Finished::after(before)),
                Err(now) => state = now,
            }
        }
        None
    }

    /// Whether the outcome has been written.
    pub(super) fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `finish`.
        self.0.load(Ordering::Acquire) & DONE != 0
    }

    /// Takes the waker slot back from the finisher.
    pub(super) fn reclaim_slot(&self) -> Slot {
        let mut state = self.0.load(Ordering::Acquire);
        loop {
            if state & DONE != 0 {
                return Slot::Done;
            }
            if state & WAKER == 0 {
                return Slot::Ours { filled: false };
            }
            // Ordering: Acquire on failure, for the outcome; a success reads only what we wrote.
            match self.0.compare_exchange_weak(
                state,
                state & !WAKER,
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => return Slot::Ours { filled: true },
                Err(now) => state = now,
            }
        }
    }

    /// Gives the filled waker slot to the finisher; `false` if it finished meanwhile and will not look.
    #[must_use]
    pub(super) fn offer_waker(&self) -> bool {
        let mut state = self.0.load(Ordering::Acquire);
        loop {
            if state & DONE != 0 {
                return false;
            }
            // Ordering: Release pairs with the Acquire in `finish`, for the waker; Acquire on failure,
            // for the outcome.
            match self.0.compare_exchange_weak(
                state,
                state | WAKER,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
    }

    /// Clears the handle's bit if the task is unfinished; `false` if the outcome is there.
    ///
    /// After `true` the cell is the job's alone.
    #[must_use]
    pub(super) fn abandon(&self) -> bool {
        let mut state = self.0.load(Ordering::Acquire);
        while state & DONE == 0 {
            // Ordering: Release: our last use comes before the job's free. Acquire on failure, for the outcome.
            match self.0.compare_exchange_weak(
                state,
                state & !HANDLE,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Gives up the job's side; `true` if the cell is the caller's to free.
    #[must_use]
    pub(super) fn release_job(&self) -> bool {
        // If the other side is gone nobody looks at the state any more.
        // Ordering: Acquire, AcqRel: the other side's last use comes before the free.
        self.0.load(Ordering::Acquire) & HANDLE == 0
            || self.0.fetch_and(!JOB, Ordering::AcqRel) & HANDLE == 0
    }

    /// Gives up the handle's side of a finished task; `true` if the cell is the caller's to free.
    #[must_use]
    pub(super) fn release_handle(&self) -> bool {
        // Ordering: as in `release_job`.
        self.0.load(Ordering::Acquire) & JOB == 0
            || self.0.fetch_and(!HANDLE, Ordering::AcqRel) & JOB == 0
    }
}
