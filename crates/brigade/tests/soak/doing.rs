//! What a thread is about: a closure that is dropped meanwhile tells by it why.

use std::cell::Cell;

/// What the innermost of a thread's undertakings is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// A call that hands a job to the pool.
    Submitting,
    /// A job, or anything else.
    Other,
}

thread_local! {
    static NOW: Cell<Doing> = const { Cell::new(Doing::Other) };
}

/// What was before, to be so again.
struct Before(Doing);

impl Drop for Before {
    fn drop(&mut self) {
        NOW.set(self.0);
    }
}

impl Doing {
    pub(crate) fn now() -> Self {
        NOW.get()
    }

    /// Does it.
    pub(crate) fn during<R>(self, call: impl FnOnce() -> R) -> R {
        let _before = Before(NOW.replace(self));
        call()
    }
}
