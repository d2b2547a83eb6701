//! Counts every task, nearly for free and the same for every target.
//!
//! Each worker thread writes a separate slot with plain loads and stores; the submitting side sums
//! the slots. Beside the count a slot holds the sum of the tasks' fingerprints, so a lost and a
//! repeated task can't cancel out.
//!
//! Rejected: a shared counter (it would be the most contended atomic of the whole run, and hide every
//! difference between targets); a counter carried by each task (the repetition of a task would go unnoticed).

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;
use crate::work::grind;

/// One thread's part of the count, alone on the cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    /// Tasks this thread ran.
    ran: AtomicU64,
    /// Sum of their fingerprints.
    prints: AtomicU64,
    /// Units of work before a task is counted: none, unless the target is slow on purpose.
    units: AtomicU64,
}

/// Tasks, by their number and the sum of their fingerprints: the tasks expected by the end of a run, or the tasks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// How many.
    pub(crate) tasks: u64,
    /// Sum of their fingerprints.
    pub(crate) prints: u64,
}

impl Sum {
    /// The task as recorded by [`Tally::ran`].
    pub(crate) fn one(message: u32, step: u32) -> Self {
        Sum { tasks: 1, prints: scramble(message.into()).wrapping_mul(scramble(step.into())) }
    }

    /// A task for each of `messages` × `steps`.
    pub(crate) fn grid(messages: u64, steps: u64) -> Self {
        // A fingerprint is a product, so the sum over the grid is the product of the sums.
        Sum { tasks: messages * steps, prints: prints(messages).wrapping_mul(prints(steps)) }
    }

    /// The tasks of a message with this many steps.
    pub(crate) fn chain(message: u32, steps: u64) -> Self {
        Sum { tasks: steps, prints: scramble(message.into()).wrapping_mul(prints(steps)) }
    }

    /// The same tasks `count` times over.
    pub(crate) fn times(self, count: u64) -> Self {
        Sum { tasks: self.tasks * count, prints: self.prints.wrapping_mul(count) }
    }

    /// Adds a task with this fingerprint.
    #[inline]
    pub(crate) fn note(&mut self, print: u64) {
        self.tasks += 1;
        self.prints = self.prints.wrapping_add(print);
    }

    /// These tasks and those.
    pub(crate) fn plus(self, other: Self) -> Self {
        let prints = self.prints.wrapping_add(other.prints);
        Sum { tasks: self.tasks + other.tasks, prints }
    }
}

/// A task for each of these fingerprints.
impl FromIterator<u64> for Sum {
    fn from_iter<I: IntoIterator<Item = u64>>(prints: I) -> Self {
        let mut sum = Sum::default();
        prints.into_iter().for_each(|print| sum.note(print));
        sum
    }
}

/// The sum of the fingerprints of `0..count`.
fn prints(count: u64) -> u64 {
    (0..count).map(scramble).fold(0, u64::wrapping_add)
}

/// Spreads `number` over all 64 bits; odd, so a product of two loses nothing.
#[inline]
pub(crate) fn scramble(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)) | 1
}

/// The count of a run.
#[derive(Default)]
pub(crate) struct Tally {
    /// Slots of all threads with a task of this run.
    slots: Mutex<Vec<&'static Slot>>,
    /// The tasks expected by the end.
    expected: Mutex<Sum>,
    /// Steps of the laboratory's own between the tasks, which may take long.
    steps: AtomicU64,
    /// Units of work of each task before it is counted, for the slots.
    units: AtomicU64,
    /// The fewest single values behind a set of percentiles; 0 if there is none.
    values: AtomicU64,
    /// Whether the run is given up.
    abandoned: AtomicBool,
}

thread_local! {
    /// The slot this thread writes, and the run it belongs to. Without a destructor and with a
    /// constant start value, so reaching it is a single load.
    static MINE: Cell<Option<(&'static Tally, &'static Slot)>> = const { Cell::new(None) };
}

/// Slots whose run ended well, for runs to come.
static SPARE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

/// Pause between two looks at the slots: long enough not to disturb the workers.
const PAUSE: Duration = Duration::from_micros(50);

impl Tally {
    /// A tally for a run. Leaked, since a late task, after the failure of the run, must still be
    /// able to access it; it is a few words.
    pub(crate) fn leak() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Records a run of the task with this identity, on this thread.
    #[inline]
    pub(crate) fn ran(&'static self, message: u32, step: u32) {
        self.add(Sum::one(message, step));
    }

    /// Records a run of these tasks, on this thread.
    #[inline]
    pub(crate) fn add(&'static self, sum: Sum) {
        let slot = match MINE.get() {
            Some((tally, slot)) if ptr::eq(tally, self) => slot,
            _ => self.claim(),
        };
        grind(slot.units.load(Ordering::Relaxed));
        let prints = slot.prints.load(Ordering::Relaxed).wrapping_add(sum.prints);
        slot.prints.store(prints, Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire in `sum`: a thread that sees the count sees
        // the fingerprint too. A load and a store are enough, since no other thread writes this slot.
        slot.ran.store(slot.ran.load(Ordering::Relaxed) + sum.tasks, Ordering::Release);
    }

    /// Gives this thread a slot for this run.
    #[cold]
    fn claim(&'static self) -> &'static Slot {
        let spare = lock(&SPARE).pop();
        let slot = spare.unwrap_or_else(|| Box::leak(Box::default()));
        slot.ran.store(0, Ordering::Relaxed);
        slot.prints.store(0, Ordering::Relaxed);
        // In the slot, whose line this thread has: the tally's own is written while the tasks run.
        slot.units.store(self.units.load(Ordering::Relaxed), Ordering::Relaxed);
        lock(&self.slots).push(slot);
        MINE.set(Some((self, slot)));
        slot
    }

    /// The tasks run so far, over all slots.
    pub(crate) fn sum(&self) -> Sum {
        lock(&self.slots).iter().fold(Sum::default(), |sum, slot| {
            let tasks = slot.ran.load(Ordering::Acquire);
            sum.plus(Sum { tasks, prints: slot.prints.load(Ordering::Relaxed) })
        })
    }

    /// Expects these tasks too. In a run of a given time, some of them are known only at the end.
    pub(crate) fn expect(&self, sum: Sum) {
        let mut expected = lock(&self.expected);
        *expected = expected.plus(sum);
    }

    /// The tasks expected by the end, as far as known.
    pub(crate) fn expected(&self) -> Sum {
        *lock(&self.expected)
    }

    /// Tasks run so far.
    pub(crate) fn count(&self) -> u64 {
        self.sum().tasks
    }

    /// Notes how many single values are behind a set of percentiles. A single thread has all sets of a run.
    pub(crate) fn note_values(&self, count: u64) {
        let fewest = match self.values() {
            0 => count,
            fewest => fewest.min(count),
        };
        self.values.store(fewest, Ordering::Relaxed);
    }

    /// The fewest single values behind a set of percentiles; 0 if there is none.
    pub(crate) fn values(&self) -> u64 {
        self.values.load(Ordering::Relaxed)
    }

    /// Notes a step of the laboratory's own: the run goes on although no task runs.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// A value that changes as long as the run goes on.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.count(), self.steps.load(Ordering::Relaxed))
    }

    /// Waits until `count` tasks have run, by polling.
    pub(crate) fn wait_for(&self, count: u64) -> Result<(), Failure> {
        while self.count() < count {
            self.go_on()?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Lets each task on a thread without a count do this much work first.
    pub(crate) fn slow_down(&self, units: u64) {
        self.units.store(units, Ordering::Relaxed);
    }

    /// Gives the run up; all waits for it end.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// An error if the run was given up: each wait must check it before it continues.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        if self.abandoned.load(Ordering::Relaxed) { Err(Failure::Abandoned) } else { Ok(()) }
    }

    /// Compares the tasks run with the expected tasks, exactly.
    pub(crate) fn check(&self, expected: Sum) -> Result<(), Failure> {
        let ran = self.sum();
        if ran == expected {
            return Ok(());
        }
        Err(Failure::Miscounted { ran: ran.tasks, expected: expected.tasks })
    }

    /// Releases the slots for later runs. Only after the check of the run, and the shutdown of its
    /// target: a late task must not write into another run's slot.
    pub(crate) fn retire(&self) {
        lock(&SPARE).append(&mut lock(&self.slots));
    }
}

/// Locks `mutex`; no panic can leave the content half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Sum, Tally};
    use std::thread;

    /// Runs these tasks, each on either of two threads, and returns whether they pass for a 2 × 4 grid.
    fn passes(tasks: &[(u32, u32)]) -> bool {
        let tally = Tally::leak();
        thread::scope(|scope| {
            let (front, back) = tasks.split_at(tasks.len() / 2);
            for half in [front, back] {
                scope.spawn(move || half.iter().for_each(|&(m, s)| tally.ran(m, s)));
            }
        });
        tally.check(Sum::grid(2, 4)).is_ok()
    }

    #[test]
    fn every_task_once_passes_in_any_order() {
        assert!(passes(&[(1, 3), (0, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 3), (1, 2)]));
    }

    #[test]
    fn a_lost_or_repeated_task_does_not_pass() {
        assert!(!passes(&[(1, 3), (0, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 3)]));
        assert!(!passes(&[(1, 3), (0, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 3), (1, 2), (1, 2)]));
    }

    #[test]
    fn lost_tasks_do_not_offset_repeated_ones() {
        // The sums of the identities are right in both: 1 + 2 instead of 0 + 3, and a crossed pair.
        assert!(!passes(&[(1, 3), (0, 1), (0, 2), (1, 1), (1, 0), (0, 1), (0, 2), (1, 2)]));
        assert!(!passes(&[(1, 3), (0, 1), (0, 2), (1, 0), (1, 0), (0, 1), (0, 3), (1, 2)]));
    }

    #[test]
    fn a_run_inherits_no_count() {
        for _ in 0..2 {
            let tally = Tally::leak();
            (0..2).for_each(|message| (0..4).for_each(|step| tally.ran(message, step)));
            assert!(tally.check(Sum::grid(2, 4)).is_ok());
            tally.retire();
        }
    }
}
