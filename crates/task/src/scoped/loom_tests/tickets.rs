//! Models of the tickets that threads keep.
//!
//! In the library no thread of a model keeps any, which would take other models more steps. So this compiles the same source once more.

use std::sync::Arc;

use brigade_sync::model::{check, turn};
use loom::thread;

use super::{Parked, Place, wait_parked};
// The source's sibling.
use crate::region::Region;
use crate::scoped::latch;

/// The source asks whether it may keep tickets: here it may.
macro_rules! cfg {
    (not(brigade_loom)) => {
        true
    };
}

#[allow(unreachable_pub, reason = "it is public in the library")]
#[path = "../tickets.rs"]
mod source;

use source::{Tickets, keep_tickets, return_tickets};

/// A scope on the stack of its body, and what its jobs write.
struct Scope {
    tickets: Tickets,
    places: [Place; 2],
}

/// A pointer to it; each thread that has one has a ticket.
#[derive(Clone, Copy)]
struct Here(*mut Scope);

// SAFETY: the models give each thread a ticket.
unsafe impl Send for Here {}

impl Here {
    fn new() -> Self {
        let places = [Place::new(), Place::new()];
        Self(Box::into_raw(Box::new(Scope { tickets: Tickets::new(), places })))
    }

    fn region(self) -> Region {
        Region::at(self.0.addr() + core::mem::offset_of!(Scope, tickets))
    }

    /// Adds a job.
    fn issue(self) {
        turn();
        // SAFETY: the caller has a ticket.
        unsafe { &(*self.0).tickets }.issue();
    }

    /// Runs a job, and ends its ticket.
    fn run(self, job: usize) {
        turn();
        // SAFETY: the job has a ticket.
        let scope = unsafe { &*self.0 };
        scope.places[job].add(1);
        let tickets = &raw const scope.tickets;
        // SAFETY: Ticket rule: it was issued for this job.
        unsafe { Tickets::end_one(tickets) };
    }

    /// A worker that runs a job.
    fn worker(self, job: usize) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            let here = self;
            let _kept = keep_tickets(Some(here.region()));
            here.run(job);
        })
    }

    /// Ends the body: waits for the jobs, and leaves the stack.
    fn end(self, ran: [u32; 2]) {
        turn();
        // SAFETY: the body has a ticket.
        let scope = unsafe { &*self.0 };
        if !scope.tickets.end_body() {
            let parked = Arc::new(Parked::default());
            turn();
            if scope.tickets.latch.register(parked.waker()) {
                wait_parked(&scope.tickets.latch, &parked);
            }
        }
        assert_eq!([0, 1].map(|job| scope.places[job].add(0)), ran);
        scope.tickets.latch.overwrite();
        // SAFETY: it came from a box, and nothing uses it any more: that is what the models show.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Caught: `give_back` with Relaxed; `end_one` that returns nothing at the end of `keep_tickets`.
#[test]
fn a_scope_ends_after_a_job_with_a_kept_ticket() {
    check(4, || {
        let here = Here::new();
        here.issue();
        let worker = here.worker(0);
        here.end([1, 0]);
        worker.join().unwrap();
    });
}

/// A job adds two more, one for another worker and one for its own, and all their tickets are kept.
///
/// Caught: `issue` that leaves the ticket among those that are kept; `give_back` with Relaxed.
#[test]
fn a_scope_ends_after_jobs_with_kept_tickets() {
    check(3, || {
        let here = Here::new();
        here.issue();
        let worker = thread::spawn(move || {
            let here = here;
            let _kept = keep_tickets(Some(here.region()));
            // In bulk.
            here.issue();
            let other = here.worker(1);
            // One of those.
            here.issue();
            here.run(0);
            here.run(0);
            other
        });
        here.end([2, 1]);
        worker.join().unwrap().join().unwrap();
    });
}

/// A body that waits runs a job, and returns its ticket before it sleeps, as `Worker::help_until_over` does.
///
/// Caught: a body that does not return it; `return_tickets` that returns it twice.
#[test]
fn a_waiting_body_returns_tickets_before_it_sleeps() {
    check(3, || {
        let here = Here::new();
        here.issue();
        let thief = here.worker(0);
        let kept = keep_tickets(Some(here.region()));
        here.issue();
        here.run(1);
        return_tickets();
        here.end([1, 1]);
        drop(kept);
        thief.join().unwrap();
    });
}

/// Caught: `issue_counted` that keeps as many as it has counted; `end_body` that forgets what is kept.
#[test]
fn a_body_returns_tickets_taken_in_bulk() {
    check(4, || {
        let here = Here::new();
        let kept = keep_tickets(Some(here.region()));
        here.issue();
        let thief = thread::spawn(move || {
            let here = here;
            here.run(0);
        });
        here.end([1, 0]);
        drop(kept);
        thief.join().unwrap();
    });
}
