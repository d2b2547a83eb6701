//! What a thread is doing: a closure that is dropped then records the reason by it.

use std::cell::Cell;

/// The innermost operation of a thread.
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

/// The former value, to be restored.
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

    /// Runs it.
    pub(crate) fn during<R>(self, call: impl FnOnce() -> R) -> R {
        let _before = Before(NOW.replace(self));
        call()
    }
}
