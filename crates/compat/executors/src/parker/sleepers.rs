//! Which threads are about to sleep, and the parkers they sleep on.
//!
//! Under a lock: a thread that prepares to sleep and its waker see each other, whichever is first. A wake clears the sleeper's
//! preparation and leaves a token, so a sleeper that is not prepared any more has been woken.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_sync::ParkerGroup;
use brigade_sync::unmodelled::Mutex;

use super::ParkResult;

/// Threads by number.
#[derive(Debug, Default)]
pub(super) struct Sleepers(Mutex<BTreeMap<usize, Row>>);

/// As many threads as a single system call can wake.
#[derive(Debug, Default)]
struct Row {
    /// A bit for each thread that is about to sleep, or sleeps, and has not been woken.
    prepared: u32,
    group: Arc<ParkerGroup>,
}

/// A thread's row, the number there, and the bit.
fn seat(thread: usize) -> (usize, u32, u32) {
    let seats = ParkerGroup::SEATS as usize;
    let seat = (thread % seats) as u32;
    (thread / seats, seat, 1 << seat)
}

impl Sleepers {
    /// Forgets the thread's preparation, and a wake.
    pub(super) fn init(&self, thread: usize) {
        let (row, seat, bit) = seat(thread);
        let mut rows = self.0.lock();
        let row = rows.entry(row).or_default();
        row.prepared &= !bit;
        row.group.try_take(seat);
    }

    /// From now on the thread is woken.
    pub(super) fn prepare(&self, thread: usize) {
        let (row, _, bit) = seat(thread);
        self.0.lock().entry(row).or_default().prepared |= bit;
    }

    /// From now on it is not. If it has been woken, another thread is in its place: there may be more to do than this thread found.
    pub(super) fn abort(&self, thread: usize) {
        if self.take_wake(thread) {
            self.wake_one();
        }
    }

    /// Takes back the thread's preparation; returns whether it has been woken instead.
    fn take_wake(&self, thread: usize) -> bool {
        let (row, seat, bit) = seat(thread);
        let mut rows = self.0.lock();
        let row = rows.entry(row).or_default();
        row.prepared &= !bit;
        row.group.try_take(seat)
    }

    /// Blocks the calling thread, which has prepared it, until it is woken.
    pub(super) fn park(&self, thread: usize) -> ParkResult {
        let (row, seat, bit) = seat(thread);
        let group = {
            let mut rows = self.0.lock();
            let row = rows.entry(row).or_default();
            if row.prepared & bit == 0 {
                row.group.try_take(seat);
                return ParkResult::Abort;
            }
            Arc::clone(&row.group)
        };
        group.park(seat, None);
        ParkResult::Woken
    }

    /// Whether no thread has prepared to sleep and has not been woken.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().values().all(|row| row.prepared == 0)
    }

    /// Wakes a thread, if any has prepared to sleep.
    pub(super) fn wake_one(&self) {
        let mut rows = self.0.lock();
        if let Some(row) = rows.values_mut().find(|row| row.prepared != 0) {
            let lowest = row.prepared & row.prepared.wrapping_neg();
            row.prepared &= !lowest;
            row.group.unpark(lowest);
        }
    }

    /// Wakes all threads that have prepared to sleep.
    pub(super) fn wake_all(&self) {
        for row in self.0.lock().values_mut() {
            row.group.unpark(std::mem::take(&mut row.prepared));
        }
    }
}
