//! A future that stays on the thread that made it.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_sync::thread::{ThreadId, current_id};

/// A future that is polled and dropped on one thread. Elsewhere a poll panics, and a drop leaks the future and panics: whoever
/// runs it has made a mistake then, but nothing is touched.
///
/// **Thread rule.** Nothing but `poll` and `drop` touches the future once it has been made, and both look at the thread first.
pub(super) struct Local<F> {
    thread: ThreadId,
    future: ManuallyDrop<F>,
}

impl<F> Local<F> {
    pub(super) fn new(future: F) -> Self {
        Self { thread: current_id(), future: ManuallyDrop::new(future) }
    }

    #[track_caller]
    fn check(&self) {
        assert!(self.thread == current_id(), "a local future is on another thread than its own");
    }
}

impl<F: Future> Future for Local<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.check();
        // SAFETY: the future is pinned with what it lies in, and nothing moves it out.
        let future = unsafe { self.map_unchecked_mut(|this| &mut *this.future) };
        future.poll(context)
    }
}

impl<F> Drop for Local<F> {
    fn drop(&mut self) {
        self.check();
        // SAFETY: it is dropped here and only here.
        unsafe { ManuallyDrop::drop(&mut self.future) };
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::any::Any;
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::Arc;
    use std::thread;

    use crate::{Home, Job, JoinError, Ran, Spawned};

    #[derive(Clone, Copy)]
    struct Nobody;

    impl Home for Nobody {
        fn wake(self, job: Job, _: bool) {
            drop(job);
        }

        fn ended(self, _: u32, _: Ran, _: Option<Box<dyn Any + Send>>) {}
    }

    #[test]
    fn a_local_future_on_another_thread_panics_and_is_leaked_untouched() {
        for is_run in [false, true] {
            let count = Arc::new(());
            let inner = count.clone();
            let Spawned { job, mut handle, waker } =
                Spawned::local(async move { unreachable!("on another thread, {inner:?}") }, Nobody);
            let there = thread::spawn(move || {
                panic::catch_unwind(AssertUnwindSafe(|| {
                    if is_run { _ = job.run() } else { drop(job) }
                }))
            });
            there.join().unwrap().unwrap();
            let outcome: Result<(), _> = handle.try_join().unwrap();
            assert_eq!(matches!(outcome, Err(JoinError::Panicked(_))), is_run);
            waker.wake();
            assert_eq!(Arc::strong_count(&count), 2);
        }
    }

    #[test]
    fn what_outlives_a_local_future_may_go_on_any_thread() {
        let count = Arc::new(());
        let inner = count.clone();
        let Spawned { job, handle, waker } = Spawned::local(async move { drop(inner) }, Nobody);
        job.run();
        assert_eq!(Arc::strong_count(&count), 1);
        thread::spawn(move || (handle, waker.wake())).join().unwrap();
    }
}
