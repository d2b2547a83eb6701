//! A future that waits for an event.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use brigade_sync::budget;

use crate::error::driver_closed;
use crate::event::Direction;
use crate::readiness::{Readiness, Snapshot};
use crate::sys::Source;
use crate::waiters::SlotId;

/// Waits until a value is ready; made by [`Async::readable`](crate::Async::readable) and
/// [`writable`](crate::Async::writable).
#[must_use = "a future does nothing unless it is awaited"]
pub struct Ready<'a> {
    source: &'a Source,
    direction: Direction,
    /// Whether a new report of the operating system is required, instead of the state in the driver.
    reported: bool,
    /// The slot of the waker, and the state seen before there was a slot.
    waiting: Option<(SlotId, Snapshot)>,
}

impl<'a> Ready<'a> {
    /// Ready when the operating system reports it.
    pub(crate) fn reported(source: &'a Source, direction: Direction) -> Self {
        Self { source, direction, reported: true, waiting: None }
    }

    /// Ready when an operation may succeed.
    pub(crate) fn to_try(source: &'a Source, direction: Direction) -> Self {
        Self { source, direction, reported: false, waiting: None }
    }

    fn readiness(&self) -> &'a Readiness {
        &self.source.readiness[self.direction]
    }

    /// The future's slot, taken at the first poll. `None` if there is nothing to wait for.
    fn slot(&mut self) -> io::Result<Option<(SlotId, Snapshot)>> {
        if self.waiting.is_some() {
            return Ok(self.waiting);
        }
        if self.reported {
            self.readiness().report(self.readiness().load());
        }
        let before = self.readiness().load();
        if before.may_succeed() {
            return Ok(None);
        }
        if !self.source.is_here() {
            return Err(driver_closed());
        }
        let slot = self.source.reserve(self.direction);
        self.waiting = Some((slot, before));
        Ok(self.waiting)
    }

    pub(crate) fn poll_event(&mut self, context: &Context<'_>) -> Poll<io::Result<()>> {
        let Some((slot, before)) = self.slot()? else { return Poll::Ready(Ok(())) };
        let readiness = self.readiness();
        let done = || {
            let now = readiness.load();
            now.may_succeed() || now.has_event_since(before)
        };
        if done() {
            return Poll::Ready(Ok(()));
        }
        self.source.poll_until(self.direction, slot, context, done)
    }
}

impl Future for Ready<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.reported {
            return self.poll_event(context);
        }
        ready!(self.source.turns[self.direction].poll_begin(context));
        let event = ready!(self.poll_event(context));
        budget::count();
        Poll::Ready(event.map(|()| self.readiness().report(self.readiness().load())))
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        if let Some((slot, _)) = self.waiting {
            self.source.release(self.direction, slot);
        }
    }
}

impl fmt::Debug for Ready<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("direction", &self.direction)
            .field("waits", &self.waiting.is_some())
            .finish_non_exhaustive()
    }
}
