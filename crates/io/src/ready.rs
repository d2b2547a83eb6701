//! Waiting for one event, with a place of one's own.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::driver_closed;
use crate::readiness::Seen;
use crate::sys::Source;
use crate::waiters::Place;
use crate::waiting::Direction;

/// Waits until a value is ready; [`Async::readable`](crate::Async::readable) and
/// [`writable`](crate::Async::writable) make it.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Ready<'a> {
    source: &'a Source,
    direction: Direction,
    /// Whether only an event counts, that is what the system says, and no belief.
    precise: bool,
    /// Where its waker lies, and what was seen before it lay there.
    waiting: Option<(Place, Seen)>,
}

impl<'a> Ready<'a> {
    /// Ready when told so by the system.
    pub(crate) fn precise(source: &'a Source, direction: Direction) -> Self {
        Self { source, direction, precise: true, waiting: None }
    }

    /// Ready when an operation is worth the try.
    pub(crate) fn believed(source: &'a Source, direction: Direction) -> Self {
        Self { source, direction, precise: false, waiting: None }
    }

    /// Looks for the first time: `None` if there is nothing to wait for, else what was seen.
    fn begin(&self) -> Option<Seen> {
        let readiness = &self.source.readiness[self.direction as usize];
        if self.precise {
            // The system is asked again, which says how it is now.
            readiness.told(readiness.now());
        }
        let seen = readiness.now();
        (!seen.worth_a_try()).then_some(seen)
    }

    fn poll_event(&mut self, context: &Context<'_>) -> Poll<io::Result<()>> {
        let (place, before) = match self.waiting {
            Some(waiting) => waiting,
            None => {
                let Some(before) = self.begin() else { return Poll::Ready(Ok(())) };
                if !self.source.is_here() {
                    return Poll::Ready(Err(driver_closed()));
                }
                let place = self.source.sit_down(self.direction);
                *self.waiting.insert((place, before))
            }
        };
        let readiness = &self.source.readiness[self.direction as usize];
        let done = || {
            let now = readiness.now();
            now.worth_a_try() || now.is_news_since(before)
        };
        if done() {
            return Poll::Ready(Ok(()));
        }
        self.source.poll_until(self.direction, place, context, done)
    }
}

impl Future for Ready<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ready = self.poll_event(context)?;
        if ready.is_ready() && self.precise {
            let readiness = &self.source.readiness[self.direction as usize];
            readiness.told(readiness.now());
        }
        ready.map(Ok)
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        if let Some((place, _)) = self.waiting {
            self.source.leave(self.direction, place);
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
