//! A future that is polled in its turn.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use brigade_sync::awaited::{Awaited, note};

use super::line::Claim;
use crate::engine::{Waiter, hold};
use crate::spawn::Boxed;

/// A future that holds a permit while it is polled.
pub(super) struct Gated<T> {
    future: Boxed<T>,
    claim: Claim,
    waiter: Option<Waiter>,
}

impl<T> Gated<T> {
    pub(super) fn new(claim: Claim, future: Boxed<T>) -> Self {
        Self { future, claim, waiter: None }
    }

    pub(super) fn into_future(self) -> Boxed<T> {
        self.future
    }
}

impl<T> Future for Gated<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { future, claim, waiter } = &mut *self;
        let permit = match claim.take() {
            Some(permit) => permit,
            None => {
                let polled = claim.line.poll_permit(waiter, context);
                if polled.is_pending() {
                    note(|| Awaited::Room);
                }
                ready!(polled)
            }
        };
        hold(claim.line.pool(), permit, || Pin::new(future).poll(context))
    }
}
