//! What an observed pool adds to a future.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::watch::Watch;

pin_project! {
    /// A future of an observed pool.
    pub(super) struct Watched<F> {
        // First, so that it has been dropped when its cancellation is told.
        #[pin]
        future: F,
        watch: Watch,
    }
}

impl<F> Watched<F> {
    pub(super) fn new(watch: Watch, future: F) -> Self {
        Self { future, watch }
    }

    /// The future, which was not accepted.
    pub(super) fn withdraw(self) -> F {
        self.watch.withdraw();
        self.future
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.watch.run_for_now(|| this.future.poll(context), Poll::is_ready)
    }
}
