//! Who waits for one direction of a source.

use core::mem;
use core::task::Waker;

/// Where a waiter's waker lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The place of the `poll_` methods, of which there is one.
    Polled,
    /// That of a future, which it has until it is dropped.
    Seat(usize),
}

/// A future's place.
#[derive(Debug)]
enum Seat {
    /// Nobody's.
    Free,
    /// Of a future that has been woken.
    Woken,
    /// Of a future that waits.
    Waiting(Waker),
}

/// The wakers of one direction. None of its methods runs user code: they give back what is to be dropped.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// Who called a `poll_` method last.
    polled: Option<Waker>,
    /// The futures.
    seats: Vec<Seat>,
}

impl Waiters {
    /// Finds a free place for a future.
    pub(crate) fn sit_down(&mut self) -> Place {
        let free = self.seats.iter().position(|seat| matches!(seat, Seat::Free));
        let number = free.unwrap_or_else(|| {
            self.seats.push(Seat::Free);
            self.seats.len() - 1
        });
        self.seats[number] = Seat::Woken;
        Place::Seat(number)
    }

    /// Gives a future's place back, with the waker that lay there.
    #[must_use = "dropping it is user code"]
    pub(crate) fn stand_up(&mut self, place: Place) -> Option<Waker> {
        match place {
            Place::Polled => self.polled.take(),
            Place::Seat(number) => match mem::replace(&mut self.seats[number], Seat::Free) {
                Seat::Waiting(waker) => Some(waker),
                Seat::Free | Seat::Woken => None,
            },
        }
    }

    /// Puts a waker into its place; returns the one that lay there.
    #[must_use = "dropping it is user code"]
    pub(crate) fn wait(&mut self, place: Place, waker: Waker) -> Option<Waker> {
        match place {
            Place::Polled => self.polled.replace(waker),
            Place::Seat(number) => {
                match mem::replace(&mut self.seats[number], Seat::Waiting(waker)) {
                    Seat::Waiting(former) => Some(former),
                    Seat::Free | Seat::Woken => None,
                }
            }
        }
    }

    /// Whether there is anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.polled.is_none() && !self.seats.iter().any(|seat| matches!(seat, Seat::Waiting(_)))
    }

    /// Takes all wakers.
    pub(crate) fn take(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.polled.take());
        for seat in &mut self.seats {
            if matches!(seat, Seat::Waiting(_)) {
                if let Seat::Waiting(waker) = mem::replace(seat, Seat::Woken) {
                    wakers.push(waker);
                }
            }
        }
    }
}
