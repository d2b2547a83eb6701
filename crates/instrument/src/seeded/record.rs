//! The steps of the threads of a run.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::panic::Location;
use std::string::String;
use std::vec::Vec;

use super::{Run, clock, wait};

std::thread_local! {
    /// Whether this thread of the system is in a run.
    static IN_RUN: Cell<bool> = const { Cell::new(false) };
    static RECORD: RefCell<Record> = const { RefCell::new(Record::new()) };
}

/// A thread, a place, and the nanoseconds since the start of the run.
type Step = (usize, &'static Location<'static>, u128);

/// The record of a run.
struct Record {
    steps: u64,
    fingerprint: u64,
    last: VecDeque<Step>,
    /// The last step of each thread.
    of_each: BTreeMap<usize, Step>,
    kept: usize,
}

impl Record {
    const fn new() -> Self {
        Self { steps: 0, fingerprint: 0, last: VecDeque::new(), of_each: BTreeMap::new(), kept: 0 }
    }
}

/// Whether the calling thread belongs to a run.
pub(crate) fn is_in_run() -> bool {
    IN_RUN.get()
}

pub(super) fn begin(seed: u64, kept: usize) {
    IN_RUN.set(true);
    RECORD.set(Record { kept, fingerprint: seed, ..Record::new() });
}

/// Ends the record; returns the contents.
pub(super) fn end() -> (Run, Vec<String>) {
    IN_RUN.set(false);
    let Record { steps, fingerprint, last, of_each, .. } = RECORD.replace(Record::new());
    let heading = core::iter::once(String::from("the last step of each thread:"));
    let each = heading.chain(of_each.into_values().map(line));
    (Run { steps, fingerprint }, last.into_iter().map(line).chain(each).collect())
}

fn line((thread, place, nanos): Step) -> String {
    std::format!("{:>10}.{:03} µs  thread {thread:<3} {place}", nanos / 1000, nanos % 1000)
}

/// Notes a step of the calling thread.
pub(super) fn note(place: &'static Location<'static>) {
    let thread = wait::number();
    let now = clock::elapsed().as_nanos();
    RECORD.with_borrow_mut(|record| {
        record.steps += 1;
        let what = (thread as u64) << 32 | u64::from(place.line());
        record.fingerprint =
            (record.fingerprint.rotate_left(5) ^ what).wrapping_mul(0x517c_c1b7_2722_0a95);
        record.of_each.insert(thread, (thread, place, now));
        if record.kept == usize::MAX {
            std::println!("{}", line((thread, place, now)));
        } else if record.kept > 0 {
            if record.last.len() == record.kept {
                record.last.pop_front();
            }
            record.last.push_back((thread, place, now));
        }
    });
}
