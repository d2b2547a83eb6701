//! A future that stays on its first thread.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_sync::thread::{ThreadId, current_id};

/// A future polled and dropped on the thread of its creation.
///
/// On another thread a poll panics, and a drop leaks the future and panics: a bug of the scheduler, but sound.
///
/// **Thread rule.** After the creation only `poll` and `drop` touch the future, and both check the thread first.
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
        // SAFETY: the future is pinned with the whole, and is never moved out.
        let future = unsafe { self.map_unchecked_mut(|this| &mut *this.future) };
        future.poll(context)
    }
}

impl<F> Drop for Local<F> {
    fn drop(&mut self) {
        self.check();
        // SAFETY: it is dropped only here.
        unsafe { ManuallyDrop::drop(&mut self.future) };
    }
}
