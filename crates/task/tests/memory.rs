//! A job that has ended has freed all its memory, by an allocator that counts. So a test binary of its own.
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![cfg(not(brigade_loom))]

use core::any::Any;
use core::future::{pending, ready};
use core::task::{Context, Poll};
use std::cell::{Cell, RefCell};
use std::pin::Pin;

use brigade_task::{
    Cause, Completions, Job, JoinHandle, Outcome, Schedule, Spawned, TaskRef, Woken,
};
use brigade_testkit::Observed;

thread_local! {
    /// The bytes that this thread has allocated and not freed.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// The woken futures of this thread.
    static QUEUE: RefCell<Vec<Job>> = const { RefCell::new(Vec::new()) };
}

#[global_allocator]
static ALLOCATOR: Observed = Observed::new(
    |bytes| {
        BYTES.set(BYTES.get().wrapping_add(bytes));
        true
    },
    |bytes| BYTES.set(BYTES.get().wrapping_sub(bytes)),
);

/// Calls it twice, and returns how many bytes the second call leaves.
fn left(call: impl Fn()) -> usize {
    call();
    let before = BYTES.get();
    call();
    BYTES.get().wrapping_sub(before)
}

#[test]
fn leaked_memory_is_seen() {
    assert_eq!(left(|| drop(Box::new([0_u8; 100]))), 0);
    // Freed at the end of the test: the address sanitizer looks for leaks.
    let kept = RefCell::new(Vec::with_capacity(2));
    assert_eq!(left(|| kept.borrow_mut().push(Box::new([0_u8; 100]))), 100);
}

/// A job, with a capture on the heap, and its handle, in the order in which they are used.
type Way = fn(Job, JoinHandle<Box<u8>>);

const WAYS: [(&str, Way); 9] = [
    ("run, joined", |job, handle| {
        job.run();
        drop(handle.join());
    }),
    ("run, the handle dropped later", |job, handle| {
        job.run();
        drop(handle);
    }),
    ("the handle dropped, then run", |job, handle| {
        drop(handle);
        job.run();
    }),
    ("dropped, joined", |job, handle| {
        drop(job);
        drop(handle.join());
    }),
    ("cancelled, the handle dropped first", |job, handle| {
        drop(handle);
        job.cancel(Cause::Evicted);
    }),
    ("run by its handle", |job, handle| {
        _ = handle.settle_if_unclaimed(None);
        job.run();
        drop(handle.join());
    }),
    ("cancelled by its handle", |job, handle| {
        _ = handle.settle_if_unclaimed(Some(Cause::Asked));
        drop(handle);
        job.run();
    }),
    ("a canceller to the last", |job, handle| {
        let canceller = handle.canceller();
        job.run();
        drop(handle.join());
        drop(canceller);
    }),
    ("cancelled by a canceller", |job, handle| {
        let canceller = handle.canceller();
        drop(handle);
        _ = canceller.map(|canceller| canceller.drop_if_unclaimed(Cause::Asked));
        job.run();
    }),
];

#[test]
fn an_ended_closure_leaves_nothing() {
    for (way, end) in WAYS {
        let plain = || {
            let content = Box::new(1);
            let (job, handle) = Job::with_handle(move || content);
            end(job, handle);
        };
        let of_a_set = || {
            let (mut completions, content) = (Completions::new(), Box::new(1));
            let (job, handle) = completions.job(0, move || content);
            end(job, handle);
            _ = completions.take().count();
        };
        assert_eq!((left(plain), left(of_a_set)), (0, 0), "{way}");
    }
}

/// Queues woken futures.
#[derive(Clone, Copy)]
struct Queueing;

impl Schedule for Queueing {
    fn schedule(self, job: Job, _: Woken, _: u8) {
        QUEUE.with_borrow_mut(|queue| queue.push(job));
    }

    fn bind(self, _: TaskRef) -> u32 {
        0
    }

    fn release(self, _: u32, _: Outcome, _: Option<Box<dyn Any + Send>>) {}
}

/// Yields once, and leaves a waker.
struct Yields(Option<Box<u8>>);

thread_local! {
    static WAKER: RefCell<Option<core::task::Waker>> = const { RefCell::new(None) };
}

impl Future for Yields {
    type Output = Box<u8>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Box<u8>> {
        if WAKER.take().is_some() {
            return Poll::Ready(self.0.take().expect("it is polled once more"));
        }
        WAKER.set(Some(context.waker().clone()));
        Poll::Pending
    }
}

fn run_all() {
    while let Some(job) = QUEUE.with_borrow_mut(Vec::pop) {
        job.run();
    }
}

#[test]
fn an_ended_future_leaves_nothing() {
    for (way, end) in WAYS {
        let at_once = || {
            let Spawned { job, handle } = Spawned::new(ready(Box::new(1)), (), Queueing);
            end(job, handle);
        };
        let ends: [fn(JoinHandle<Box<u8>>); 3] = [
            |handle| {
                WAKER.with_borrow(|waker| waker.iter().for_each(|waker| waker.wake_by_ref()));
                run_all();
                drop(handle.join());
            },
            |handle| {
                drop(handle);
                WAKER.with_borrow(|waker| waker.iter().for_each(|waker| waker.wake_by_ref()));
                run_all();
            },
            |handle| {
                _ = handle.ask_to_stop(true);
                run_all();
                drop(handle);
            },
        ];
        for end in ends {
            let later = || {
                let Spawned { job, handle } = Spawned::new(Yields(Some(Box::new(1))), (), Queueing);
                job.run();
                end(handle);
                drop(WAKER.take());
            };
            assert_eq!(left(later), 0);
        }
        assert_eq!(left(at_once), 0, "{way}");
    }
    let waits = || {
        let Spawned { job, handle } = Spawned::new(pending::<Box<u8>>(), (), Queueing);
        job.run();
        drop(handle);
    };
    assert_eq!(left(waits), 0, "no waker, no reference");
}
