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
