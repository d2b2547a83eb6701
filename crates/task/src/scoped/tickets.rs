//! How many jobs of a scope have not ended.
//!
//! Each job has a ticket; a scope counts tickets. If each job changed the count twice, the threads that run jobs of one scope would
//! contend for it. So a thread takes tickets in bulk for the jobs it adds, and keeps the tickets of finished jobs for the next ones.
//! Kept tickets still count: a scope does not end before they have been [returned](return_tickets).
//!
//! **Who keeps tickets.** Only a thread that calls the scope's body, runs one of its jobs, or waits for its end; it then keeps tickets
//! of no other scope, although jobs of others may end on it: by a cancelled handle, or the end of a pool. So nothing that a thread does
//! meanwhile, such as to block, holds up a scope that could have ended: the body or the job on its stack holds that up anyway. Between two jobs a
//! thread runs no code of the user. A thread that waits returns its tickets when it has run other jobs, and before it sleeps; asleep it
//! keeps none.

use core::cell::Cell;
use core::ptr;

use brigade_sync::atomic::{AtomicU64, Ordering};

use super::latch::Latch;
use crate::region::Region;

/// How many tickets a worker takes at once.
const BULK: u64 = 32;

/// The count of a scope, and the latch set by the last ticket.
///
/// **Ticket rule.** It lives until the last ticket has been returned. The thread that returns the last ticket sets the latch, as
/// its last access.
pub(super) struct Tickets {
    /// It can't wrap, even where a pool forgets its jobs.
    count: AtomicU64,
    pub(super) latch: Latch,
}

/// The tickets kept by a thread, and the scope whose tickets it keeps; null if it keeps none.
#[derive(Clone, Copy)]
struct Kept {
    /// Not to be used without tickets: the scope may have ended.
    of: *const Tickets,
    count: u64,
}

const NONE: Kept = Kept { of: ptr::null(), count: 0 };

brigade_sync::thread_local! {
    static KEPT: Cell<Kept> = const { Cell::new(NONE) };
}

/// Sets the tickets kept by this thread.
#[inline]
fn keep(kept: Kept) {
    KEPT.with(|cell| cell.set(kept));
}

impl Tickets {
    /// The count of a new scope, with the ticket of the body.
    pub(super) fn new() -> Self {
        Self { count: AtomicU64::new(1), latch: Latch::new() }
    }

    /// Issues a ticket to a thread that has a ticket, or runs a job with a ticket.
    #[inline]
    pub(super) fn issue(&self) {
        let kept = KEPT.with(Cell::get);
        if kept.count > 0 && ptr::eq(kept.of, self) {
            keep(Kept { count: kept.count - 1, ..kept });
        } else {
            self.issue_counted(ptr::eq(kept.of, self));
        }
    }

    /// Ends a ticket: this thread keeps it, or returns it.
    ///
    /// # Safety
    /// Ticket rule: it must have been issued, and not be used again.
    #[inline]
    pub(super) unsafe fn end_one(this: *const Self) {
        // At the end of a thread the cell is still accessible, as it has no destructor.
        let kept = KEPT.with(Cell::get);
        if ptr::eq(kept.of, this) {
            keep(Kept { of: this, count: kept.count + 1 });
        } else {
            // SAFETY: guaranteed by the caller.
            unsafe { give_back(this, 1) };
        }
    }

    #[inline(never)]
    fn issue_counted(&self, keeps: bool) {
        let bulk = if keeps { BULK } else { 1 };
        // Ordering: Relaxed: the caller's own ticket keeps the count above 0.
        self.count.fetch_add(bulk, Ordering::Relaxed);
        if keeps {
            keep(Kept { of: self, count: bulk - 1 });
        }
    }

    /// Returns the ticket of the body, and all kept tickets of this thread; whether they were the last.
    pub(super) fn end_body(&self) -> bool {
        let kept = KEPT.with(Cell::get);
        let mut count = 1;
        if ptr::eq(kept.of, self) {
            keep(Kept { count: 0, ..kept });
            count += kept.count;
        }
        // Ordering: Acquire: if they are the last, this thread sees all that the others did. Release: if not, another thread sees
        // what this thread did.
        self.count.fetch_sub(count, Ordering::AcqRel) == count
    }
}

/// Returns tickets to the count.
///
/// # Safety
/// Ticket rule: they must have been issued and not be used again.
unsafe fn give_back(tickets: *const Tickets, count: u64) {
    // Ordering: as in `end_body`.
    // SAFETY: Ticket rule: it is alive, as these have not been returned.
    if unsafe { &(*tickets).count }.fetch_sub(count, Ordering::AcqRel) == count {
        // SAFETY: Ticket rule: the body, its ticket returned, waits for the latch; it is set once.
        let latch = unsafe { &raw const (*tickets).latch };
        // SAFETY: Latch rule: as above, and this is the only last ticket.
        unsafe { Latch::set(latch, true) };
    }
}

/// Makes the thread keep tickets of this scope, or none, until the returned value is dropped. Meanwhile the thread must have the body or
/// a job of the scope on its stack, or wait for its end, or do nothing but look for its next job.
///
/// ```
/// # let region = brigade_task::Region::at(8);
/// let kept = brigade_task::keep_tickets(Some(region));
/// // Here the thread runs jobs of a scope, or adds some.
/// drop(kept);
/// ```
#[must_use = "dropping it returns the tickets"]
pub fn keep_tickets(of: Option<Region>) -> KeptTickets {
    return_tickets();
    let address = of.filter(|_| cfg!(not(brigade_loom))).map_or(0, Region::address);
    let former =
        KEPT.with(|kept| kept.replace(Kept { of: ptr::without_provenance(address), count: 0 }));
    KeptTickets { former: former.of }
}

/// The time in which a thread [keeps tickets](keep_tickets).
pub struct KeptTickets {
    /// The scope whose tickets it kept before. A pointer, so this stays on its thread.
    former: *const Tickets,
}

impl Drop for KeptTickets {
    fn drop(&mut self) {
        return_tickets();
        keep(Kept { of: self.former, count: 0 });
    }
}

brigade_sync::opaque!(KeptTickets);

/// Returns the kept tickets of this thread.
///
/// ```
/// brigade_task::return_tickets(); // It keeps none.
/// ```
#[inline]
pub fn return_tickets() {
    let kept = KEPT.with(Cell::get);
    if kept.count > 0 {
        keep(Kept { count: 0, ..kept });
        // SAFETY: Ticket rule: they were issued to this thread, or returned by jobs, and are given back once.
        unsafe { give_back(kept.of, kept.count) };
    }
}
