//! The values that an observed pool and its jobs have. Without the feature `observe` there is no such pool, and they are empty.

#[cfg(feature = "observe")]
pub(crate) use brigade_observe::{ListedTimer, Observer, Settings, Watch, Watcher};
#[cfg(not(feature = "observe"))]
pub(crate) use unobserved::{
    Absent as ListedTimer, Absent as Observer, Settings, Unwatched as Watch, Unwatched as Watcher,
};

#[cfg(not(feature = "observe"))]
mod unobserved {
    use std::io;
    use std::sync::Arc;
    use std::task::Waker;
    use std::time::Instant;

    use brigade_sync::thread::Inherited;

    /// The observer of a pool, and a timer in its list: there is none.
    pub(crate) enum Absent {}

    impl Absent {
        pub(crate) fn start_detector(&self, _inherited: Arc<Inherited>) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn end(&self, _deadline: Option<Instant>) -> bool {
            match *self {}
        }
    }

    /// The settings of an observer.
    #[derive(Default)]
    pub(crate) struct Settings {}

    /// The watcher and the watch of a job that is not observed.
    #[derive(Clone, Default)]
    pub(crate) struct Unwatched;

    impl Unwatched {
        pub(crate) fn watches(&self) -> bool {
            false
        }

        pub(crate) fn begin(self, _has_handle: bool) -> Self {
            self
        }

        pub(crate) fn list_timer(&self, _at: Instant) -> Option<Absent> {
            None
        }

        pub(crate) fn lend<R>(&self, call: impl FnOnce() -> R) -> R {
            call()
        }

        pub(crate) fn run_call<R>(&self, call: impl FnOnce() -> R) -> R {
            call()
        }

        pub(crate) fn run<R>(self, call: impl FnOnce() -> R) -> R {
            call()
        }

        pub(crate) fn run_for_now<R>(
            &mut self,
            _waker: Option<&Waker>,
            call: impl FnOnce(Option<&Waker>) -> R,
            _is_over: impl Fn(&R) -> bool,
        ) -> R {
            call(None)
        }

        pub(crate) fn withdraw(self) {}
    }
}
