//! Without the feature `produce-metrics`: jobs as they are.

/// Counts nothing.
#[derive(Clone, Copy)]
pub(crate) struct Meter;

impl Meter {
    pub(crate) fn new(_executor: &'static str) -> Self {
        Self
    }

    pub(crate) fn by_thread(self) -> Self {
        self
    }

    #[inline(always)]
    pub(crate) fn executed<F: FnOnce()>(self, job: F) -> F {
        job
    }

    #[inline(always)]
    pub(crate) fn queued<F: FnOnce()>(self, job: F) -> F {
        job
    }
}
