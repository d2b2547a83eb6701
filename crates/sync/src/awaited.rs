//! What a future waits for, as far as the operations of brigade know it: for a dump of its pool.
//!
//! An operation that is about to be pending [notes](note) what it waits for. A pool whose jobs are observed [collects](collect) the notes of
//! each poll. On a thread that has collected none, in a process without such a pool, a note costs a load and a branch.

use core::cell::RefCell;
use std::time::Instant;

use crate::atomic::Ordering::Relaxed;
use crate::unmodelled::AtomicBool;

/// What an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// This point in time.
    Timer(Instant),
    /// That it can read from the file with this number, or accept.
    Readable(u64),
    /// That it can write to the file with this number, or is connected.
    Writable(u64),
    /// The end of the job with this number.
    Job(usize),
    /// The end of any job of a set.
    Set,
    /// Room in a bounded pool.
    Room,
    /// Its turn, as it has yielded.
    Turn,
}

/// The notes of a poll that are kept: more are rare, and a dump writes them on one line.
const KEPT: usize = 8;

/// Whether any thread has collected notes. Ordering: Relaxed, as a thread that collects has set it itself.
static IS_COLLECTED: AtomicBool = AtomicBool::new(false);

crate::scoped_thread_local! {
    /// The notes of the innermost poll.
    static NOTES: RefCell<Vec<Awaited>>
}

/// Notes what the calling operation waits for, just before it is pending.
#[inline(always)]
pub fn note(awaited: impl FnOnce() -> Awaited) {
    if IS_COLLECTED.load(Relaxed) {
        add(awaited);
    }
}

#[cold]
#[inline(never)]
fn add(awaited: impl FnOnce() -> Awaited) {
    let awaited = awaited();
    NOTES.with(|notes| {
        let Some(mut notes) = notes.map(RefCell::borrow_mut) else { return };
        if notes.len() < KEPT && !notes.contains(&awaited) {
            notes.push(awaited);
        }
    });
}

/// Calls `poll`, and returns its notes too.
///
/// ```
/// use brigade_sync::awaited::{Awaited, apart, collect, note};
/// let poll = || {
///     note(|| Awaited::Room);
///     apart(|| note(|| Awaited::Set));
/// };
/// assert_eq!(collect(poll).1, [Awaited::Room]);
/// ```
pub fn collect<R>(poll: impl FnOnce() -> R) -> (R, Vec<Awaited>) {
    IS_COLLECTED.store(true, Relaxed);
    let notes = RefCell::default();
    let result = NOTES.set(&notes, poll);
    (result, notes.into_inner())
}

/// Calls `wait`, which polls other futures inside of the innermost poll: their notes do not belong to that.
pub fn apart<R>(wait: impl FnOnce() -> R) -> R {
    NOTES.set(&RefCell::default(), wait)
}
