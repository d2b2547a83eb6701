//! The operation that a future waits for, as far as it is brigade's: for a dump of the pool.
//!
//! An operation [notes](note) the awaited event before it is pending. A pool with observed jobs [collects](collect) the notes of each
//! poll. In a process without such a pool, on a thread that has collected none, a note costs a load and a branch.

use core::cell::RefCell;
use std::time::Instant;

use crate::atomic::Ordering::Relaxed;
use crate::unmodelled::AtomicBool;

/// The event that an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// This point in time.
    Timer(Instant),
    /// The file with this number can be read, or can accept.
    Readable(u64),
    /// The file with this number can be written, or is connected.
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

/// The number of notes kept of a poll: more are rare, and a dump writes them on one line.
const KEPT: usize = 8;

/// Whether any thread has collected notes. Ordering: Relaxed, as a collecting thread has set it itself.
static IS_COLLECTED: AtomicBool = AtomicBool::new(false);

crate::scoped_thread_local! {
    /// The notes of the innermost poll.
    static NOTES: RefCell<Vec<Awaited>>
}

/// Notes the event awaited by the calling operation, just before it is pending.
#[inline(always)]
pub fn note(awaited: impl FnOnce() -> Awaited) {
    if IS_COLLECTED.load(Relaxed) {
        add(awaited());
    }
}

#[cold]
#[inline(never)]
fn add(awaited: Awaited) {
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

/// Calls `wait`, which polls other futures inside of the innermost poll: their notes do not belong to this poll.
pub fn apart<R>(wait: impl FnOnce() -> R) -> R {
    NOTES.set(&RefCell::default(), wait)
}
