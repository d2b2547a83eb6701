//! A large future, in a box that is freed when the future ends.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A future in a box. Not the `Pin<Box<F>>` alone, which may also be the future of a user.
pub(super) struct Boxed<F>(Pin<Box<F>>);

impl<F> Boxed<F> {
    pub(super) fn new(future: F) -> Self {
        Self(Box::pin(future))
    }

    /// Moves the future out of the box.
    ///
    /// # Safety
    /// Pin rule: it must not have been polled.
    pub(super) unsafe fn into_inner(self) -> F {
        // SAFETY: guaranteed by the caller.
        *unsafe { Pin::into_inner_unchecked(self.0) }
    }
}

impl<F: Future> Future for Boxed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(context)
    }
}
