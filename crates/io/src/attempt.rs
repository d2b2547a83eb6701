//! Tries an operation until it does not block, and concludes from the result whether the next
//! operation would.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use brigade_sync::budget;

use crate::event::Direction;
use crate::readiness::Snapshot;
use crate::ready::Ready;
use crate::sys::Source;
use crate::waiters::SlotId;

/// The hint of a result for the next try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It would block.
    Blocks,
    /// It would probably block.
    ProbablyBlocks,
    /// Nothing is known.
    Unknown,
}

impl Source {
    /// Tries `operation` on `io` until it need not wait.
    pub(crate) async fn attempt<T, R>(
        &self,
        direction: Direction,
        io: &T,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut ready = Ready::to_try(self, direction);
        poll_fn(|context| {
            ready!(self.turns[direction].poll_begin(context));
            let wait = || {
                ready!(ready.poll_event(context)?);
                ready = Ready::to_try(self, direction);
                Poll::Ready(Ok(()))
            };
            self.poll_attempt(direction, io, &mut operation, |_| Next::Unknown, wait)
        })
        .await
    }

    /// The same for the polling task, whose turn it is and which `wait` registers. `next` turns a result into a hint for the next
    /// try.
    pub(crate) fn poll_attempt<T, R>(
        &self,
        direction: Direction,
        io: &T,
        mut operation: impl FnMut(&T) -> io::Result<R>,
        next: impl FnOnce(&R) -> Next,
        mut wait: impl FnMut() -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<R>> {
        let readiness = &self.readiness[direction];
        let outcome = loop {
            let seen = readiness.load();
            if !seen.may_succeed() {
                match ready!(wait()) {
                    Ok(()) => continue,
                    Err(error) => break last_try(operation(io), error),
                }
            }
            match operation(io) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => readiness.clear(seen),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
                Ok(result) => {
                    self.note(next(&result), direction, seen);
                    break Ok(result);
                }
            }
        };
        // An error too: a loop of retries must yield.
        budget::count();
        Poll::Ready(outcome)
    }

    /// Records the hint of a result for the next try.
    fn note(&self, next: Next, direction: Direction, seen: Snapshot) {
        let blocks = match next {
            Next::Blocks => self.mode.short_is_last,
            // Beside other events messages come in clumps, and a read that fails costs less than another event, wake and poll of the task.
            Next::ProbablyBlocks => self.mode.trigger.reports_what_is_left() && !seen.is_in_crowd(),
            Next::Unknown => false,
        };
        if blocks {
            self.readiness[direction].drain(seen);
        }
    }

    /// Waits for the first event after registration.
    pub(crate) async fn first_writable(&self) -> io::Result<()> {
        Ready::to_try(self, Direction::Write).await
    }

    /// Waits for another event, as the last event changed nothing.
    pub(crate) async fn writable_again(&self) -> io::Result<()> {
        let readiness = &self.readiness.write;
        readiness.clear(readiness.load());
        poll_fn(|context| self.poll_ready(Direction::Write, SlotId::Polled, context)).await
    }

    /// Waits for a report in the slot of the polling task.
    pub(crate) fn poll_reported(
        &self,
        direction: Direction,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let readiness = &self.readiness[direction];
        readiness.require_event();
        ready!(self.turns[direction].poll_begin(context));
        let ready = ready!(self.poll_ready(direction, SlotId::Polled, context));
        budget::count();
        Poll::Ready(ready.map(|()| readiness.report(readiness.load())))
    }
}

/// Returns the result of an operation when no wait is possible any more: `cannot_wait` if it would
/// block.
fn last_try<R>(outcome: io::Result<R>, cannot_wait: io::Error) -> io::Result<R> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => cannot_wait,
        _ => error,
    })
}
