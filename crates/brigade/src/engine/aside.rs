//! Futures that are polled or dropped on a thread that is no worker of their pool: where the pool has no room, or has ended.
//!
//! Two things may go wrong there and nowhere else. The drop of one may wake another, which is dropped for that, and wakes the
//! next: a chain of futures, each with the handle of the one before, would be a recursion as deep as it is long. And the drop
//! of one may end its own pool, which would wait for it. So each thread knows which pools' futures it has on its stack,
//! and from some depth on puts off what it is to drop.

use core::cell::{Cell, RefCell};

use brigade_task::Job;

/// How many are dropped one inside the other; a chain that is longer goes on in a loop.
const DEPTH: usize = 16;

/// What a thread has on its stack.
struct Stack {
    depth: Cell<usize>,
    /// The keys of the pools, from the outermost in.
    keys: [Cell<u64>; DEPTH],
}

thread_local! {
    /// No destructor: it can be asked for until the thread's very end.
    static STACK: Stack =
        const { Stack { depth: Cell::new(0), keys: [const { Cell::new(0) }; DEPTH] } };
    /// What is to be dropped once the innermost has been.
    static PUT_OFF: RefCell<Vec<(u64, Job)>> = const { RefCell::new(Vec::new()) };
}

/// Takes the innermost off the stack.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        STACK.with(|stack| stack.depth.set(stack.depth.get() - 1));
    }
}

/// Puts a pool on the stack; returns how many there are below it.
fn enter(key: u64) -> (usize, Leave) {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        if let Some(place) = stack.keys.get(depth) {
            place.set(key);
        }
        stack.depth.set(depth + 1);
        (depth, Leave)
    })
}

/// Polls or drops a future of that pool, by what `call` does.
pub(super) fn aside<R>(key: u64, call: impl FnOnce() -> R) -> R {
    let (depth, _leave) = enter(key);
    let result = call();
    if depth + 1 == DEPTH {
        while let Some((key, job)) = next_put_off() {
            STACK.with(|stack| stack.keys[depth].set(key));
            drop(job);
        }
    }
    result
}

fn next_put_off() -> Option<(u64, Job)> {
    PUT_OFF.try_with(|jobs| jobs.borrow_mut().pop()).ok().flatten()
}

/// Drops a future of that pool, now or when those have been dropped that are on the stack.
pub(crate) fn drop_aside(key: u64, job: Job) {
    let mut job = Some(job);
    if STACK.with(|stack| stack.depth.get()) >= DEPTH {
        // At the thread's end there may be no list any more.
        let _ = PUT_OFF.try_with(|jobs| {
            jobs.borrow_mut().extend(job.take().map(|job| (key, job)));
        });
    }
    if let Some(job) = job {
        aside(key, || drop(job));
    }
}

/// Whether this thread may be inside a future of that pool, so that it must not wait for it.
pub(super) fn is_aside(key: u64) -> bool {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        // What lies deeper, or has been put off, may be of any pool.
        depth >= DEPTH || stack.keys[..depth].iter().any(|other| other.get() == key)
    })
}
