//! Trying an operation until it doesn't have to wait, and what its result tells of the next.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use crate::asynchronous::Async;
use crate::readiness::{Readiness, Seen};
use crate::ready::Ready;
use crate::waiters::Place;
use crate::waiting::Direction;

/// What a result tells of the next try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// It would block.
    Nothing,
    /// It may get more: the buffer was filled.
    Perhaps,
    /// Nothing that would be news.
    Unknown,
}

impl<T> Async<T> {
    pub(crate) async fn attempt<R>(
        &self,
        direction: Direction,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let readiness = self.readiness(direction);
        loop {
            let seen = readiness.now();
            if !seen.worth_a_try() {
                match Ready::believed(self.source(), direction).await {
                    Ok(()) => continue,
                    Err(unwatched) => return last_try(operation(self.get_ref()), unwatched),
                }
            }
            match operation(self.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => readiness.blocked(seen),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    /// The same for the task that polls. `left` says what a result tells of the next one.
    pub(crate) fn poll_attempt<R>(
        &self,
        direction: Direction,
        context: &Context<'_>,
        mut operation: impl FnMut(&T) -> io::Result<R>,
        left: impl FnOnce(&R) -> Left,
    ) -> Poll<io::Result<R>> {
        let readiness = self.readiness(direction);
        loop {
            let seen = readiness.now();
            if !seen.worth_a_try() {
                match self.source().poll_ready(direction, Place::Polled, context) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(unwatched)) => {
                        return Poll::Ready(last_try(operation(self.get_ref()), unwatched));
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
            match operation(self.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if seen.was_filled() {
                        self.habit.learn(false);
                    }
                    readiness.blocked(seen);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => {
                    self.learn_from(left(&result), readiness, seen);
                    return Poll::Ready(Ok(result));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Notes what a result tells of the next try.
    fn learn_from(&self, left: Left, readiness: &Readiness, seen: Seen) {
        match left {
            Left::Nothing if self.drains => readiness.drained(seen),
            // Only if the kernel tells of it again: by an edge it does not.
            Left::Perhaps if self.asks_again => {
                if seen.was_filled() {
                    self.habit.learn(true);
                }
                match self.habit.expects_more() {
                    true => readiness.filled(seen),
                    false => readiness.drained(seen),
                }
            }
            _ => {}
        }
    }

    /// Waits for the first event after registration.
    pub(crate) async fn first_writable(&self) -> io::Result<()> {
        Ready::believed(self.source(), Direction::Write).await
    }

    /// Waits for the next event, as the last one was for nothing.
    pub(crate) async fn writable_again(&self) -> io::Result<()> {
        let readiness = self.readiness(Direction::Write);
        readiness.blocked(readiness.now());
        poll_fn(|context| self.source().poll_ready(Direction::Write, Place::Polled, context)).await
    }

    pub(crate) fn poll_told(
        &self,
        direction: Direction,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let readiness = self.readiness(direction);
        readiness.stop_guessing();
        let told = self.source().poll_ready(direction, Place::Polled, context)?;
        told.map(|()| {
            readiness.told(readiness.now());
            Ok(())
        })
    }
}

/// What an operation says that can't be waited for any more: that, if it would have to be.
fn last_try<R>(outcome: io::Result<R>, unwatched: io::Error) -> io::Result<R> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => unwatched,
        _ => error,
    })
}
