#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use core::any::Any;
use core::future::{Future, pending, poll_fn, ready};
use core::task::{Context, Poll, Waker};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use crate::{Home, Job, JoinError, Ran, Spawned, TaskRef};

thread_local! {
    static QUEUE: RefCell<Queue> = RefCell::default();
}

/// What a test runs futures with.
#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    waiting: Vec<TaskRef>,
    ended: Vec<(u32, Ran, bool)>,
}

fn with<R>(call: impl FnOnce(&mut Queue) -> R) -> R {
    QUEUE.with_borrow_mut(call)
}

/// Runs what is queued until nothing is; returns how many jobs that were.
fn run_all() -> usize {
    core::iter::from_fn(|| with(|queue| queue.jobs.pop()).map(Job::run)).count()
}

/// Queues what is woken and keeps what waits.
#[derive(Clone, Copy)]
struct Keeps;

impl Home for Keeps {
    fn wake(self, job: Job, _: bool) {
        with(|queue| queue.jobs.push(job));
    }

    fn waits(self, task: TaskRef) -> u32 {
        with(|queue| {
            queue.waiting.push(task);
            queue.waiting.len() as u32
        })
    }

    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        with(|queue| queue.ended.push((number, ran, unclaimed.is_some())));
    }
}

/// The same, but lets go of what waits.
#[derive(Clone, Copy)]
struct Forgets;

impl Home for Forgets {
    fn wake(self, job: Job, again: bool) {
        Keeps.wake(job, again);
    }

    fn waits(self, _: TaskRef) -> u32 {
        7
    }

    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        Keeps.ended(number, ran, unclaimed);
    }
}

/// Nobody: drops what is woken.
#[derive(Clone, Copy)]
struct Nobody;

impl Home for Nobody {
    fn wake(self, job: Job, _: bool) {
        drop(job);
    }

    fn waits(self, task: TaskRef) -> u32 {
        Keeps.waits(task)
    }

    fn ended(self, _: u32, _: Ran, _: Option<Box<dyn Any + Send>>) {}
}

#[test]
fn a_future_of_24_bytes_takes_72_and_a_reference_takes_8() {
    use super::store::{Boxed, Inline};
    use super::task::Task;

    type Large = core::future::Ready<[u8; 1 << 20]>;
    fn size<F: Future + 'static>(_: &F) -> usize {
        size_of::<Task<Inline<F>, u64>>()
    }
    if cfg!(target_pointer_width = "64") {
        let small = 1_u8;
        assert_eq!(size(&async move { _ = small }), 72);
        assert_eq!(size(&ready([0_usize; 2])), 72);
        assert_eq!(size(&ready([0_usize; 9])), 48 + size_of_val(&ready([0_usize; 9])));
        assert!(size_of::<Task<Boxed<Large>, u64>>() > 1 << 20, "its outcome lies there");
        assert_eq!(size_of::<Option<TaskRef>>(), 8);
    }
}

#[test]
fn what_never_waits_is_never_entered() {
    let Spawned { job, handle } = Spawned::new(ready(42), (), Keeps);
    job.run();
    let Spawned { job, handle: mut yields } = Spawned::new(twice(), (), Keeps);
    job.run();
    assert!(yields.try_join().is_none());
    assert_eq!(run_all(), 1);
    assert_eq!((handle.join().unwrap(), yields.join().unwrap()), (42, 43));
    with(|queue| {
        assert!(queue.waiting.is_empty());
        assert_eq!(queue.ended, [(0, Ran::Returned, false); 2]);
    });
}

/// Wakes itself once.
fn twice() -> impl Future<Output = i32> + Send {
    let mut is_woken = false;
    poll_fn(move |context| match core::mem::replace(&mut is_woken, true) {
        true => Poll::Ready(43),
        false => {
            context.waker().wake_by_ref();
            let other = context.waker().clone();
            other.wake();
            Poll::Pending
        }
    })
}

#[test]
fn what_waits_is_entered_once_and_queued_once_however_often_it_is_woken() {
    let mut polls = 0;
    let future = poll_fn(move |_| {
        polls += 1;
        if polls == 3 { Poll::Ready(polls) } else { Poll::Pending }
    });
    let Spawned { job, handle } = Spawned::new(future, (), Keeps);
    job.run();
    let task = with(|queue| queue.waiting[0].clone());
    for _ in 0..2 {
        (0..10).for_each(|_| task.wake_by_ref());
        (0..10).for_each(|_| Waker::from(task.clone()).wake());
        assert_eq!(run_all(), 1);
    }
    assert_eq!(handle.join().unwrap(), 3);
    with(|queue| {
        assert_eq!(queue.waiting.len(), 1);
        assert_eq!(queue.ended, [(1, Ran::Returned, false)]);
    });
    task.wake_by_ref();
    let late = Waker::from(task.clone());
    late.wake();
    task.wake();
    assert_eq!(run_all(), 0, "it has ended");
}

#[test]
fn a_cancel_needs_no_waker_and_comes_in_every_state() {
    let count = Arc::new(());
    let inner = [count.clone(), count.clone()];
    let never = |inner: Arc<()>| async move {
        let _inner = inner;
        pending::<()>().await;
    };
    let [first, second] = inner.map(|inner| Spawned::new(never(inner), (), Keeps));
    let (mut queued, mut waits) = (first.handle, second.handle);
    second.job.run();
    assert!(queued.ask_to_stop());
    assert!(waits.ask_to_stop());
    assert!(!waits.ask_to_stop(), "again");
    first.job.run();
    assert_eq!(run_all(), 1);
    assert!(matches!(queued.join(), Err(JoinError::Cancelled)));
    assert!(matches!(waits.join(), Err(JoinError::Cancelled)));
    assert_eq!(Arc::strong_count(&count), 1);
    with(|queue| {
        assert_eq!(queue.ended, [(0, Ran::Cancelled, false), (1, Ran::Cancelled, false)]);
        queue.waiting.clear();
    });
}

#[test]
fn what_nobody_can_wake_any_more_is_cancelled_and_never_by_who_drops_a_waker() {
    let count = Arc::new(());
    let inner = count.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let future = poll_fn(move |context| {
        let _inner = &inner;
        // Whoever gets none sends no waker.
        _ = sender.send(context.waker().clone());
        Poll::<()>::Pending
    });
    let Spawned { job, handle } = Spawned::new(future, (), Forgets);
    job.run();
    let waker = receiver.recv().unwrap();
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 2, "it is queued for that");
    assert_eq!(run_all(), 1);
    assert_eq!(Arc::strong_count(&count), 1);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    // At once, if it has given its waker to nobody.
    let Spawned { job, handle } = Spawned::new(pending::<()>(), (), Forgets);
    job.run();
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    with(|queue| assert_eq!(queue.ended, [(7, Ran::Cancelled, false); 2]));
}

#[test]
fn a_guard_goes_before_the_first_poll_and_with_a_job_that_is_dropped() {
    for is_run in [true, false] {
        let guard = Arc::new(());
        let held = Arc::downgrade(&guard);
        let seen = held.clone();
        let future = async move { assert_eq!(seen.strong_count(), 0) };
        let Spawned { job, handle } = Spawned::new(future, (guard, 0_usize), Keeps);
        assert_eq!(held.strong_count(), 1);
        if is_run {
            _ = job.run()
        } else {
            drop(job)
        }
        assert_eq!(held.strong_count(), 0);
        assert_eq!(handle.join().is_ok(), is_run);
    }
}

#[test]
fn a_fresh_future_is_given_back_small_or_large_and_no_other() {
    let Spawned { job, handle } = Spawned::new(ready([1_u8; 4096]), (), Keeps);
    let future = job.into_future::<core::future::Ready<[u8; 4096]>>().unwrap();
    assert_eq!(future.into_inner(), [1; 4096]);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    let Spawned { job, .. } = Spawned::new(ready(42), (), Keeps);
    assert_eq!(job.into_future::<core::future::Ready<i32>>().unwrap().into_inner(), 42);
    let count = Arc::new(());
    let Spawned { job, handle } = Spawned::new(ready(count.clone()), (), Keeps);
    let other = || job.into_future::<core::future::Ready<i32>>();
    assert!(panic::catch_unwind(AssertUnwindSafe(other)).is_err());
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    assert_eq!(Arc::strong_count(&count), 1);
    let Spawned { job, handle } = Spawned::new(pending::<()>(), (), Keeps);
    job.run();
    with(|queue| queue.waiting.pop()).unwrap().wake();
    let job = with(|queue| queue.jobs.pop()).unwrap();
    assert!(job.is_resumption() && job.is_future());
    let job = job.into_future::<core::future::Pending<()>>().unwrap_err();
    drop(job);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
}

#[test]
fn a_panic_in_every_place_is_the_futures_own_end() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected: a bomb");
        }
    }
    // In a poll, with a handle and without; in the drop of the future, of the output, of the guard.
    let Spawned { job, handle } = Spawned::new(async { panic!("expected: a poll") }, (), Keeps);
    job.run();
    let outcome: Result<(), _> = handle.join();
    assert!(matches!(outcome, Err(JoinError::Panicked(_))));
    let Spawned { job, handle } = Spawned::new(async { panic!("expected: a poll") }, (), Keeps);
    drop::<crate::JoinHandle<()>>(handle);
    job.run();
    let bomb = Bomb;
    let future = poll_fn(move |_: &mut Context<'_>| {
        let _bomb = &bomb;
        Poll::Ready(42)
    });
    let Spawned { job, handle } = Spawned::new(future, (), Keeps);
    job.run();
    assert_eq!(handle.join().unwrap(), 42);
    let Spawned { job, handle } = Spawned::new(async { Bomb }, Bomb, Keeps);
    drop(handle);
    job.run();
    let ends = [(0, Ran::Panicked, false), (0, Ran::Panicked, true)];
    let ends = [ends, [(0, Ran::Returned, false); 2]].concat();
    with(|queue| assert_eq!(queue.ended, ends));
}

#[test]
fn a_local_future_on_another_thread_panics_and_is_leaked_untouched() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    /// On no heap, as leaks are looked for.
    struct Leaked;
    impl Drop for Leaked {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    for is_run in [false, true] {
        let inner = Leaked;
        let future = async move {
            let _inner = inner;
            unreachable!("on another thread");
        };
        let Spawned { job, mut handle } = Spawned::local(future, Nobody);
        let run_or_drop = move || if is_run { _ = job.run() } else { drop(job) };
        thread::spawn(run_or_drop).join().unwrap();
        let outcome: Result<(), _> = handle.try_join().unwrap();
        match outcome {
            Err(JoinError::Panicked(payload)) if is_run => {
                let message = payload.downcast_ref::<&str>();
                assert_eq!(message, Some(&"a local future is on another thread than its own"));
            }
            outcome => assert!(!is_run && matches!(outcome, Err(JoinError::Cancelled))),
        }
        assert_eq!(DROPS.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn what_outlives_a_local_future_may_go_on_any_thread() {
    let count = Rc::new(());
    let inner = count.clone();
    let mut is_woken = false;
    let future = poll_fn(move |_| {
        let _inner = &inner;
        if core::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }
    });
    let Spawned { job, handle } = Spawned::local(future, Keeps);
    job.run();
    let task = with(|queue| queue.waiting.pop()).unwrap();
    task.wake_by_ref();
    assert_eq!(run_all(), 1);
    assert_eq!(Rc::strong_count(&count), 1);
    thread::spawn(move || (handle.join().unwrap(), task.wake())).join().unwrap();
}

#[test]
fn another_thread_ends_what_is_woken_and_dropped_there_with_its_pool() {
    let count = Arc::new(());
    let inner = count.clone();
    let future = poll_fn(move |_| {
        let _inner = &inner;
        Poll::<()>::Pending
    });
    let Spawned { job, handle } = Spawned::new(future, (), Nobody);
    job.run();
    let task = with(|queue| queue.waiting.pop()).unwrap();
    let waker = Waker::from(task.clone());
    thread::spawn(move || waker.wake()).join().unwrap();
    assert_eq!(Arc::strong_count(&count), 1);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    drop(task);
}
