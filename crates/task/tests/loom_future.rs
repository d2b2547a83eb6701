//! Models of a future's end: who polls it, who wakes it, who cancels it and who has its handle; `ci/loom.sh` runs them.
//!
//! What `async_task` does in between is one step to loom, which does not know its atomics: it has tests of its own. So what a
//! future waits for is under a lock here, and the order of steps is the order in which loom tries them.

#![cfg(brigade_loom)]
#![allow(clippy::disallowed_types, reason = "counters outside the model")]
#![forbid(unsafe_code)]

use std::any::Any;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use brigade_sync::Mutex;
use brigade_sync::model::{check, turn};
use brigade_task::{Home, Job, JoinError, JoinHandle, Ran, Spawned};
use loom::thread;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// What runs futures here.
#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// Whether nobody will run any more.
    is_over: bool,
    /// How the futures ended.
    ended: Vec<Ran>,
}

loom::lazy_static! {
    static ref QUEUE: Mutex<Queue> = Mutex::new(Queue::default());
}

#[derive(Clone, Copy)]
struct Host;

impl Home for Host {
    fn wake(self, job: Job, _: bool) {
        let mut queue = QUEUE.lock();
        let refused = match queue.is_over {
            true => Some(job),
            false => {
                queue.jobs.push(job);
                None
            }
        };
        drop(queue);
        drop(refused);
    }

    fn ended(self, _: u32, ran: Ran, _: Option<Box<dyn Any + Send>>) {
        QUEUE.lock().ended.push(ran);
    }
}

/// Runs what is queued, as long as anything is.
fn run_all() {
    while let Some(job) = { QUEUE.lock().jobs.pop() } {
        job.run();
    }
}

/// How the one future ended.
fn end() -> Ran {
    let ended = &QUEUE.lock().ended;
    assert_eq!(ended.len(), 1, "it ends once");
    ended[0]
}

/// Counts its drop.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was dropped of one future.
#[derive(Clone, Default)]
struct Tally {
    futures: Arc<AtomicUsize>,
    outputs: Arc<AtomicUsize>,
    polls: Arc<AtomicUsize>,
}

impl Tally {
    fn seen(&self) -> (usize, usize) {
        (self.futures.load(Ordering::Relaxed), self.outputs.load(Ordering::Relaxed))
    }
}

/// A future that is ready once `ready` says so.
fn spawned(tally: &Tally, ready: &Arc<Mutex<bool>>) -> Spawned<Counted> {
    let (captured, outputs) = (Counted(tally.futures.clone()), tally.outputs.clone());
    let (polls, ready) = (tally.polls.clone(), ready.clone());
    let future = poll_fn(move |_| {
        let _captured = &captured;
        polls.fetch_add(1, Ordering::Relaxed);
        match *ready.lock() {
            true => Poll::Ready(Counted(outputs.clone())),
            false => Poll::Pending,
        }
    });
    Spawned::new(future, (), Host)
}

fn in_a_thread(call: impl FnOnce() + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        turn();
        call();
    })
}

/// What whoever has the handle does, and what the outcome must have been then.
fn cancel(mut handle: JoinHandle<Counted>, waker: Waker) -> bool {
    let cancels = handle.ask_to_stop();
    // Who polls the future after this wake sees that it was asked, by the word of `async_task`; loom needs a lock for that,
    // which is also taken right before each poll.
    drop(QUEUE.lock());
    waker.wake();
    turn();
    drop(handle);
    cancels
}

/// Caught: `end` or `ask` by a load and an addition in two steps; `abandon` whether or not the outcome is there.
#[test]
fn a_cancel_beside_the_end_and_the_drop_of_the_handle_has_one_winner() {
    check(3, || {
        let (tally, ready) = (Tally::default(), Arc::new(Mutex::new(true)));
        let Spawned { job, handle, waker } = spawned(&tally, &ready);
        let runner = in_a_thread(move || _ = job.run());
        turn();
        let cancels = cancel(handle, waker);
        runner.join().unwrap();
        run_all();
        assert_eq!(end(), if cancels { Ran::Cancelled } else { Ran::Returned });
        let (futures, outputs) = tally.seen();
        let polls = tally.polls.load(Ordering::Relaxed);
        assert_eq!((futures, outputs), (1, polls));
    });
}

/// Caught: no look at `ASKED` before a poll; `end` or `ask` in two steps.
#[test]
fn a_future_that_waits_and_is_woken_beside_its_cancel_is_cancelled() {
    for ready_then in [false, true] {
        check(2, move || {
            let (tally, ready) = (Tally::default(), Arc::new(Mutex::new(false)));
            let Spawned { job, handle, waker } = spawned(&tally, &ready);
            job.run();
            let other = waker.clone();
            let runner = in_a_thread(move || {
                *ready.lock() = ready_then;
                other.wake();
                run_all();
            });
            turn();
            let cancels = cancel(handle, waker);
            runner.join().unwrap();
            run_all();
            assert!(cancels || ready_then);
            assert_eq!(end(), if cancels { Ran::Cancelled } else { Ran::Returned });
            let (futures, outputs) = tally.seen();
            assert_eq!(futures, 1);
            assert!(cancels || outputs == 1, "what it came to is dropped too");
        });
    }
}

/// Caught: `schedule` that forgets a job that was woken while it was polled.
#[test]
fn a_wake_beside_a_poll_is_followed_by_another() {
    check(3, || {
        let (tally, ready) = (Tally::default(), Arc::new(Mutex::new(false)));
        let Spawned { job, mut handle, waker } = spawned(&tally, &ready);
        let runner = in_a_thread(move || {
            job.run();
            run_all();
        });
        let inner = ready.clone();
        let other = waker.clone();
        let first = in_a_thread(move || other.wake());
        turn();
        *inner.lock() = true;
        waker.wake();
        runner.join().unwrap();
        first.join().unwrap();
        run_all();
        assert_eq!(end(), Ran::Returned);
        assert!(tally.polls.load(Ordering::Relaxed) <= 3);
        let outcome = handle.try_join();
        assert!(matches!(outcome, Some(Ok(_))));
        drop((outcome, handle));
        assert_eq!(tally.seen(), (1, 1));
    });
}

/// Caught: `finish` without Release; `is_done` with Relaxed.
#[test]
fn who_waits_for_a_future_sees_a_whole_outcome_and_the_future_gone() {
    check(3, || {
        let (tally, ready) = (Tally::default(), Arc::new(Mutex::new(true)));
        let Spawned { job, mut handle, waker } = spawned(&tally, &ready);
        let runner = in_a_thread(move || _ = job.run());
        let wakes = in_a_thread(move || waker.wake());
        turn();
        handle.wait();
        assert_eq!(tally.seen(), (1, 0));
        assert!(matches!(handle.try_join(), Some(Ok(_))));
        drop(handle);
        runner.join().unwrap();
        wakes.join().unwrap();
        assert_eq!((end(), tally.seen()), (Ran::Returned, (1, 1)));
    });
}

/// Caught: a future that is dropped without an end.
#[test]
fn a_late_wake_beside_the_end_of_the_pool_drops_the_future_once() {
    check(3, || {
        let (tally, ready) = (Tally::default(), Arc::new(Mutex::new(false)));
        let Spawned { job, mut handle, waker } = spawned(&tally, &ready);
        job.run();
        let late = waker.clone();
        let wakes = in_a_thread(move || late.wake());
        turn();
        let queued = {
            let mut queue = QUEUE.lock();
            queue.is_over = true;
            std::mem::take(&mut queue.jobs)
        };
        drop(queued);
        waker.wake_by_ref();
        wakes.join().unwrap();
        assert_eq!((end(), tally.seen()), (Ran::Cancelled, (1, 0)));
        assert!(matches!(handle.try_join(), Some(Err(JoinError::Cancelled))));
        drop(handle);
        waker.wake();
    });
}
