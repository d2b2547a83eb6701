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
//! | `ENDED` | the future has ended: who asks now asks too late | whoever polls or drops it | – |
//! | `POLLED` | the future has been polled, or is about to be | who polls it | – |
//!
//! The outcome belongs to the handle once `DONE` is set while `HANDLE` is; if the handle was gone by
//! then, to whoever set `DONE`. The cell is freed by whoever clears the last of `JOB` and `HANDLE`.
//!
//! Whether a future has been cancelled is decided between `ASKED` and `ENDED`: by which of them came first.
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
const ENDED: u32 = 64;
const POLLED: u32 = 128;

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

    /// Asks a claimed closure to stop, or a future to be dropped; `true` if nobody has before, nor has a future ended.
    pub(super) fn ask(&self) -> bool {
        // Ordering: Release pairs with the Acquire in `is_asked`: who sees that it was asked sees why.
        self.0.fetch_or(ASKED, Ordering::Release) & (ASKED | ENDED) == 0
    }

    /// Ends a future; `true` if somebody has asked before: then it is cancelled, whatever it came to.
    pub(crate) fn end(&self) -> bool {
        // Ordering: Acquire, as in `is_asked`; the outcome goes by `DONE`.
        self.0.fetch_or(ENDED, Ordering::Acquire) & ASKED != 0
    }

    /// A future is about to be polled for the first time.
    pub(super) fn will_be_polled(&self) {
        // Ordering: Relaxed: who looks at it has taken the job from a queue, to which it came after this.
        self.0.fetch_or(POLLED, Ordering::Relaxed);
    }

    /// Whether a future has been polled.
    pub(super) fn has_been_polled(&self) -> bool {
        // Ordering: Relaxed, as above.
        self.0.load(Ordering::Relaxed) & POLLED != 0
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
        let before = self.0.fetch_or(DONE, Ordering::AcqRel);
        match (before & HANDLE != 0, before & WAKER != 0) {
            (false, _) => Finished::Detached,
            (true, true) => Finished::Wake,
            (true, false) => Finished::Quiet,
        }
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

    /// Clears the job's bit; `true` if the cell is the caller's to free.
    #[must_use]
    pub(super) fn release_job(&self) -> bool {
        // Ordering: AcqRel: the other side's last use comes before the free.
        self.0.fetch_and(!JOB, Ordering::AcqRel) & HANDLE == 0
    }

    /// Clears the handle's bit of a finished task; `true` if the cell is the caller's to free.
    #[must_use]
    pub(super) fn release_handle(&self) -> bool {
        // Ordering: AcqRel: the other side's last use comes before the free.
        self.0.fetch_and(!HANDLE, Ordering::AcqRel) & JOB == 0
    }
}
