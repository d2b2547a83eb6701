//! The additions of an observed pool to a future.

use core::any::Any;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_observe::Watch;

/// A future of an observed pool. It is boxed, so that futures with the same output type share the code, and no future
/// is compiled a second time for observed pools.
pub(super) struct Watched<B> {
    // First, so that it is dropped before its cancellation is reported.
    future: B,
    watch: Watch,
}

/// A future of any type, which may be taken out of its box until the first poll.
pub(super) enum Boxed<T> {
    New(Box<dyn Movable<T>>),
    Pinned(Pin<Box<dyn Future<Output = T> + Send>>),
    /// The future is being pinned.
    Moving,
}

pub(super) trait Movable<T>: Send {
    fn pin(self: Box<Self>) -> Pin<Box<dyn Future<Output = T> + Send>>;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<F: Future + Send + 'static> Movable<F::Output> for F {
    fn pin(self: Box<Self>) -> Pin<Box<dyn Future<Output = F::Output> + Send>> {
        Box::into_pin(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl<T> Future for Boxed<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        *self = match mem::replace(&mut *self, Self::Moving) {
            Self::New(future) => Self::Pinned(future.pin()),
            pinned => pinned,
        };
        match &mut *self {
            Self::Pinned(future) => future.as_mut().poll(context),
            Self::New(_) | Self::Moving => unreachable!("it has been pinned"),
        }
    }
}

impl<B> Watched<B> {
    pub(super) fn new(watch: Watch, future: B) -> Self {
        Self { future, watch }
    }
}

impl<T> Watched<Boxed<T>> {
    /// Returns the future, which was not accepted.
    pub(super) fn withdraw<F: 'static>(self) -> Option<F> {
        let Self { future, watch } = self;
        watch.withdraw();
        let Boxed::New(future) = future else { return None };
        future.into_any().downcast().ok().map(|future| *future)
    }
}

impl<B: Future + Unpin> Future for Watched<B> {
    type Output = B::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<B::Output> {
        let Self { future, watch } = &mut *self;
        watch.run_for_now(|| Pin::new(future).poll(context), Poll::is_ready)
    }
}
