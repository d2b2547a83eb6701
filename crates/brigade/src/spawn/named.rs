//! A future around a spawnable future.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_task::{Job, Spawnable};
use pin_project_lite::pin_project;

use super::future_of;
use super::watched::Boxed;

pin_project! {
    /// A spawnable future.
    pub(crate) struct AsFuture<F> {
        #[pin]
        pub(crate) future: F,
    }
}

impl<F: Spawnable> Future for AsFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll_spawned(context)
    }
}

impl<F: Spawnable + Send + 'static> AsFuture<F> {
    /// Returns the future, which was not accepted.
    pub(crate) fn boxed(self) -> Boxed<F::Output> {
        Boxed::New(Box::new(self.future))
    }

    /// Returns the future of a job, which was not accepted.
    #[cold]
    #[inline(never)]
    pub(crate) fn of_job(job: Job) -> Boxed<F::Output> {
        future_of::<Self>(job).boxed()
    }
}
