//! What is polled in the place of the user's future: it contains its panics, ends it once, and tells.

use core::any::Any;
use core::future::Future;
use core::mem::{self, ManuallyDrop};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use std::panic::{self, AssertUnwindSafe};

use super::{Home, OUT, Seat};
use crate::cell::state::Finished;
use crate::cell::{Header, running};
use crate::job::Ran;
use crate::join::JoinError;

/// A user's future, from its birth to its end.
pub(super) struct Polled<'a, F: Future, G, H: Home> {
    /// Valid as long as this is: it is dropped before its seat.
    seat: &'a Seat<F::Output, H>,
    /// To be dropped before the first poll.
    guard: Option<G>,
    /// Dropped by hand, where it lies (Pin rule): as an option it would be overwritten, and a large one with a copy of
    /// itself on the stack.
    future: ManuallyDrop<F>,
    /// Whether the future is there.
    is_there: bool,
    /// Whether it has ended; then the seat is not ours to touch.
    ended: bool,
}

impl<F, G, H> Polled<'_, F, G, H>
where
    F: Future + 'static,
    H: Home,
{
    /// Gives the future to who wants it back, if somebody does; `false` if nobody does.
    fn is_given_back(&mut self) -> bool {
        OUT.with(|place| place.take()).is_some_and(|out| self.give_back(out))
    }

    /// Not inlined: it has room for a future on its stack.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self, out: *mut dyn Any) -> bool {
        // SAFETY: whoever put it there does so for the length of a call that we are in, and touches it afterwards.
        let out = unsafe { &mut *out };
        let Some(place) = out.downcast_mut::<Option<F>>() else { return false };
        // What has been polled has no guard any more, and may not be moved (Pin rule).
        let Some(guard) = self.guard.take() else { return false };
        crate::drop_contained(guard);
        if mem::replace(&mut self.is_there, false) {
            // SAFETY: it was there, and has not been polled.
            *place = Some(unsafe { ManuallyDrop::take(&mut self.future) });
        }
        self.finish(Err(JoinError::Cancelled));
        true
    }
}

impl<'a, F: Future, G, H: Home> Polled<'a, F, G, H> {
    pub(super) fn new(seat: &'a Seat<F::Output, H>, guard: G, future: F) -> Self {
        Self {
            seat,
            guard: Some(guard),
            future: ManuallyDrop::new(future),
            is_there: true,
            ended: false,
        }
    }

    /// Ends the future: drops it, then tells the handle and the home.
    fn end(&mut self, outcome: Result<F::Output, JoinError>) {
        crate::drop_contained(self.guard.take());
        if mem::replace(&mut self.is_there, false) {
            let future = &mut self.future;
            crate::contain(|| {
                // SAFETY: Pin rule: it was there, and is dropped where it is.
                let drop = || unsafe { ManuallyDrop::drop(future) };
                running::enter(&self.seat.header.state, drop);
            });
        }
        // Whoever asked before this is told that it was cancelled, and so is the handle; whoever asks later comes too late.
        let outcome = match self.seat.header.state.end() {
            true => {
                crate::drop_contained(outcome);
                Err(JoinError::Cancelled)
            }
            false => outcome,
        };
        let ran = match &outcome {
            Ok(_) => Ran::Returned,
            Err(JoinError::Panicked(_)) => Ran::Panicked,
            Err(_) => Ran::Cancelled,
        };
        // Copied: after `finish` the seat may not be ours.
        let (home, number) = (self.seat.home, self.seat.header.number());
        let unclaimed = self.finish(outcome);
        home.ended(number, ran, unclaimed);
    }

    /// Tells the handle, and lets our side of the seat go; returns the panic that nobody takes.
    fn finish(&mut self, outcome: Result<F::Output, JoinError>) -> Option<Box<dyn Any + Send>> {
        self.ended = true;
        // SAFETY: Stage rule: it ends here and only here.
        unsafe { self.seat.replace(Some(outcome)) };
        let unclaimed = match self.seat.header.state.finish() {
            // SAFETY: Stage rule: the handle is gone, so the outcome is ours.
            Finished::Detached => unsafe { self.seat.replace(None) },
            Finished::Wake => {
                self.seat.header.wake();
                None
            }
            Finished::Quiet => None,
        };
        // SAFETY: Keep rule: our side is released here and only here.
        unsafe { Header::release_job(NonNull::from(self.seat).cast()) };
        match unclaimed {
            Some(Err(JoinError::Panicked(payload))) => Some(payload),
            other => {
                crate::drop_contained(other);
                None
            }
        }
    }
}

impl<F, G, H> Future for Polled<'_, F, G, H>
where
    F: Future + 'static,
    H: Home,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: Pin rule: below, the user's future is moved only by `is_given_back`, before it is polled.
        let this = unsafe { self.get_unchecked_mut() };
        if this.is_given_back() {
            return Poll::Ready(());
        }
        if this.seat.header.state.is_asked() {
            this.end(Err(JoinError::Cancelled));
            return Poll::Ready(());
        }
        if let Some(guard) = this.guard.take() {
            this.seat.header.will_be_polled();
            crate::drop_contained(guard);
        }
        assert!(this.is_there, "it is not polled again once it has ended");
        // SAFETY: Pin rule.
        let future = unsafe { Pin::new_unchecked(&mut *this.future) };
        let call = || running::enter(&this.seat.header.state, || future.poll(context));
        let outcome = match panic::catch_unwind(AssertUnwindSafe(call)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(payload) => Err(JoinError::Panicked(payload)),
        };
        this.end(outcome);
        Poll::Ready(())
    }
}

impl<F, G, H> Drop for Polled<'_, F, G, H>
where
    F: Future,
    H: Home,
{
    fn drop(&mut self) {
        if !self.ended {
            self.end(Err(JoinError::Cancelled));
        }
    }
}
