//! A future of a bounded or observed pool, a large future, and a future with a name or values.

use core::any::Any;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use brigade_task::{Job, Spawnable, is_cancelled};

use super::future_of;
use crate::submission::{Carried, Carrying};
use crate::values::{Rejected, Watch, Watcher};

/// A future with all additions.
pub(crate) struct Watched<B> {
    // First, so that it is dropped before its cancellation is reported.
    future: Carrying<B>,
    watch: Watch,
}

/// A future of any type, which may be taken out of its box until the first poll. Futures with the same output type share the
/// code, so no future is compiled a second time for bounded and observed pools.
///
/// A [large](brigade_task::is_large) future is boxed where it is spawned, and all code behind moves the box: each call that takes
/// the future by value would hold a copy on the stack.
pub(crate) enum Boxed<T> {
    New(Box<dyn Movable<T>>),
    Pinned(Pin<Box<dyn Spawnable<Output = T> + Send>>),
    /// The future is being pinned.
    Moving,
}

pub(crate) trait Movable<T>: Send {
    fn pin(self: Box<Self>) -> Pin<Box<dyn Spawnable<Output = T> + Send>>;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<F: Spawnable + Send + 'static> Movable<F::Output> for F {
    fn pin(self: Box<Self>) -> Pin<Box<dyn Spawnable<Output = F::Output> + Send>> {
        Box::into_pin(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl<T> Boxed<T> {
    /// Returns a rejected future as its own type.
    ///
    /// # Errors
    /// Always: a result, so that only this frame has room for the future, and no caller's.
    #[cold]
    #[inline(never)]
    pub(crate) fn unbox<R, F: 'static>(rejected: Rejected<Self>) -> Result<R, Rejected<F>> {
        Err(rejected.map(|boxed| {
            let Self::New(future) = boxed else { unreachable!("it has not been polled") };
            let Ok(future) = future.into_any().downcast() else { unreachable!("it was boxed") };
            *future
        }))
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
            Self::Pinned(future) => future.as_mut().poll_spawned(context),
            Self::New(_) | Self::Moving => unreachable!("it has been pinned"),
        }
    }
}

impl<B: Future + Unpin + 'static> Watched<B> {
    /// The future of a job accepted or about to be. Must be called on the submitting thread.
    pub(crate) fn new(watcher: Watcher, mut carried: Carried, future: B) -> Self {
        carried.inherit();
        Self { future: Carrying::new(carried, future), watch: watcher.begin(true) }
    }

    /// Returns the future of a rejected job.
    pub(crate) fn unmade(job: Job) -> B {
        let Self { mut future, watch } = future_of(job);
        watch.withdraw();
        let Some(future) = future.take() else { unreachable!("it is there until it is dropped") };
        future
    }
}

impl<B: Future + Unpin> Future for Watched<B> {
    type Output = B::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<B::Output> {
        let Self { future, watch } = &mut *self;
        let waker = context.waker();
        let poll = |other: Option<&Waker>| {
            let mut context = Context::from_waker(other.unwrap_or(waker));
            future.run(|future| match future {
                Some(future) => Pin::new(future).poll(&mut context),
                None => unreachable!("it is there until it is dropped"),
            })
        };
        // If it has been asked to stop, it is cancelled, although it is ready.
        watch.run_for_now(Some(waker), poll, |poll| poll.is_ready() && !is_cancelled())
    }
}
