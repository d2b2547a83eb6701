//! Futures around a future, for what a job has beside it.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::borrow::Cow;

use brigade_task::Spawnable;
use pin_project_lite::pin_project;

use super::watched::Boxed;
use crate::submission::job_name;

/// A future with a name.
pub(super) struct Named<T> {
    pub(super) future: Boxed<T>,
    pub(super) name: Option<Cow<'static, str>>,
}

impl<T> Future for Named<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { future, name } = &mut *self;
        job_name::set(name, || Pin::new(future).poll(context))
    }
}

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
}
