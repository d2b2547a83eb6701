//! Finds a bug that few orders of threads have, by a seed. It needs a flag of the compiler and the feature `sim`:
//! `RUSTFLAGS='--cfg brigade_seeded' cargo run -p brigade --example simulation --features sim`. Without them it says so.
#![allow(clippy::disallowed_types, reason = "a program of a user has locks of std")]

#[cfg(brigade_seeded)]
use brigade::sim::sync::Mutex;
#[cfg(not(brigade_seeded))]
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

/// The seats that are left.
struct Seats(Mutex<i32>);

impl Seats {
    fn left(&self) -> i32 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    /// Checks under one lock and acts under another: two jobs may get the same seat.
    fn book_wrongly(&self) -> bool {
        let is_free = self.left() > 0;
        if is_free {
            self.take();
        }
        is_free
    }

    fn book(&self) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = *left > 0;
        if is_free {
            *left -= 1;
        }
        is_free
    }
}

/// Two jobs want the last seat. It is taken once.
fn last_seat(book: fn(&Seats) -> bool) {
    let pool = brigade::Pool::new(2);
    let seats = Arc::new(Seats(Mutex::new(1)));
    let jobs = [(); 2].map(|()| {
        let seats = seats.clone();
        pool.submit(move || book(&seats))
    });
    let booked = jobs.into_iter().filter_map(|job| job.join().ok()).filter(|&booked| booked);
    assert_eq!(booked.count(), 1, "a seat for each who booked");
    assert_eq!(seats.left(), 0);
}

#[cfg(brigade_seeded)]
fn main() {
    brigade::sim::explore(0..200, || last_seat(Seats::book));
    println!("`book` passed with 200 seeds");
    let found = std::panic::catch_unwind(|| {
        brigade::sim::explore(0..200, || last_seat(Seats::book_wrongly));
    });
    // The message has the seed.
    assert!(found.is_err(), "200 seeds did not find the bug of `book_wrongly`");
}

#[cfg(not(brigade_seeded))]
fn main() {
    last_seat(Seats::book);
    // The threads of the system seldom find the bug.
    let found = std::panic::catch_unwind(|| last_seat(Seats::book_wrongly)).is_err();
    println!("found: {found}. A seed finds it with --cfg brigade_seeded and the feature `sim`");
}
