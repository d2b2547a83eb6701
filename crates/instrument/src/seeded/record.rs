//! The steps of the threads of a run.

use core::sync::atomic::{AtomicU32, Ordering};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::Location;
use std::string::String;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use super::{Run, clock, wait};

std::thread_local! {
    /// Whether this thread of the system is in a run.
    static IN_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Of the run: a process has a single run at a time. Not a thread-local, as the watchdog reads it.
static RECORD: Mutex<Record> = Mutex::new(Record::new());

/// The number of the run.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// A thread, a place, and the nanoseconds since the start of the run.
type Step = (usize, &'static Location<'static>, u128);

/// The record of a run.
struct Record {
    seed: u64,
    /// The thread that goes on.
    current: usize,
    /// By the number of the thread.
    names: BTreeMap<usize, String>,
    steps: u64,
    fingerprint: u64,
    last: VecDeque<Step>,
    /// The last step of each thread.
    of_each: BTreeMap<usize, Step>,
    kept: usize,
}

impl Record {
    const fn new() -> Self {
        Self {
            seed: 0,
            current: 0,
            names: BTreeMap::new(),
            steps: 0,
            fingerprint: 0,
            last: VecDeque::new(),
            of_each: BTreeMap::new(),
            kept: 0,
        }
    }

    fn line(&self, (thread, place, nanos): Step) -> String {
        let name = self.names.get(&thread).map_or("", String::as_str);
        std::format!(
            "{:>10}.{:03} µs  thread {thread:<3} {name} {place}",
            nanos / 1000,
            nanos % 1000
        )
    }
}

/// Whether the calling thread belongs to a run.
pub(crate) fn is_in_run() -> bool {
    IN_RUN.get()
}

fn record() -> MutexGuard<'static, Record> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the run, in which the calling thread must be: a run is to statics as a process.
///
/// # Panics
/// On a thread outside of a run, unless it unwinds.
pub fn run() -> u32 {
    if !is_in_run() && !std::thread::panicking() {
        panic!(
            "brigade was used outside of a simulated run: with --cfg brigade_seeded it can be used only inside of `brigade::sim::run` or \
             `explore`, and there not by a thread of `std`: use `brigade::sim::thread`"
        );
    }
    RUNS.load(Ordering::Relaxed)
}

pub(super) fn begin(seed: u64, kept: usize) {
    IN_RUN.set(true);
    RUNS.fetch_add(1, Ordering::Relaxed);
    *record() = Record { seed, kept, fingerprint: seed, ..Record::new() };
}

/// A thread goes on.
pub(super) fn goes_on(thread: usize) {
    record().current = thread;
}

/// Describes the thread that goes on, and its last step.
pub(super) fn current() -> String {
    let record = record();
    let Record { seed, current, names, of_each, .. } = &*record;
    let name = names.get(current).map_or("", String::as_str);
    let mut said = std::format!("thread {current} {name} of the simulated run with seed {seed}");
    if let Some((_, place, _)) = of_each.get(current) {
        said += &std::format!(", whose last step was at {place},");
    }
    said
}

/// Ends the record; returns the contents.
pub(super) fn end() -> (Run, Vec<String>) {
    IN_RUN.set(false);
    let record = core::mem::replace(&mut *record(), Record::new());
    let line = |step: &Step| record.line(*step);
    let heading = core::iter::once(String::from("the last step of each thread:"));
    let each = heading.chain(record.of_each.values().map(line));
    let steps = record.last.iter().map(line).chain(each).collect();
    (Run { steps: record.steps, fingerprint: record.fingerprint }, steps)
}

/// Notes a step of the calling thread.
pub(super) fn note(place: &'static Location<'static>) {
    let thread = wait::number();
    let now = clock::elapsed().as_nanos();
    let step = (thread, place, now);
    let mut record = record();
    record.steps += 1;
    let what = (thread as u64) << 32 | u64::from(place.line());
    record.fingerprint =
        (record.fingerprint.rotate_left(5) ^ what).wrapping_mul(0x517c_c1b7_2722_0a95);
    record.names.entry(thread).or_insert_with(wait::name);
    record.of_each.insert(thread, step);
    if record.kept == usize::MAX {
        std::println!("{}", record.line(step));
    } else if record.kept > 0 {
        if record.last.len() == record.kept {
            record.last.pop_front();
        }
        record.last.push_back(step);
    }
}
