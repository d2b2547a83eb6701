//! A future is polled, woken, cancelled and ended as its scheduler is notified.
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use core::any::Any;
use core::future::{Future, pending, poll_fn, ready};
use core::task::{Context, Poll, Waker};
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use crate::{
    Asked, Cause, Guard, Job, JoinError, JoinHandle, Outcome, Schedule, Spawned, TaskRef, Woken,
};

const ASKED: Outcome = Outcome::Cancelled(Cause::Asked);

thread_local! {
    static QUEUE: RefCell<Queue> = RefCell::default();
}

/// The queue of a test's schedulers.
#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    waiting: Vec<TaskRef>,
    ended: Vec<(u32, Outcome, bool)>,
}

fn with<R>(call: impl FnOnce(&mut Queue) -> R) -> R {
    QUEUE.with_borrow_mut(call)
}

/// Runs jobs until none is queued; returns how many ran.
fn run_all() -> usize {
    core::iter::from_fn(|| with(|queue| queue.jobs.pop()).map(Job::run)).count()
}

/// Queues woken futures and keeps references to the waiting ones.
#[derive(Clone, Copy)]
struct Binding;

impl Schedule for Binding {
    fn schedule(self, job: Job, _: Woken, _: u8) {
        with(|queue| queue.jobs.push(job));
    }

    fn bind(self, task: TaskRef) -> u32 {
        with(|queue| {
            queue.waiting.push(task);
            queue.waiting.len() as u32
        })
    }

    fn release(self, key: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        with(|queue| queue.ended.push((key, outcome, unclaimed.is_some())));
    }
}

/// The same, but drops the references to waiting futures.
#[derive(Clone, Copy)]
struct Unbinding;

impl Schedule for Unbinding {
    fn schedule(self, job: Job, woken: Woken, _: u8) {
        Binding.schedule(job, woken, 0);
    }

    fn bind(self, _: TaskRef) -> u32 {
        7
    }

    fn release(self, key: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        Binding.release(key, outcome, unclaimed);
    }
}

/// Refuses the jobs of woken futures, as a pool that has ended.
#[derive(Clone, Copy)]
struct Ended;

impl Schedule for Ended {
    fn schedule(self, job: Job, woken: Woken, _: u8) {
        match woken {
            Woken::Idle => job.leave(),
            Woken::Polled => drop(job),
        }
    }

    fn bind(self, task: TaskRef) -> u32 {
        Binding.bind(task)
    }

    fn release(self, _: u32, _: Outcome, _: Option<Box<dyn Any + Send>>) {}
}

/// Has the futures of one thread, and counts what is given back.
#[derive(Clone, Copy)]
struct Staying(ThreadId);

impl Staying {
    fn here() -> Self {
        Self(thread::current().id())
    }
}

impl Schedule for Staying {
    fn is_here(self) -> bool {
        thread::current().id() == self.0
    }

    fn schedule(self, job: Job, woken: Woken, _: u8) {
        Binding.schedule(job, woken, 0);
    }

    fn bind(self, task: TaskRef) -> u32 {
        Binding.bind(task)
    }

    fn release(self, key: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        Binding.release(key, outcome, unclaimed);
    }

    fn give_back(self) {
        GIVEN_BACK.set(GIVEN_BACK.get() + 1);
    }
}

impl Guard for (Arc<()>, usize) {}

#[test]
fn a_future_of_24_bytes_takes_72_and_a_reference_8() {
    use super::task::Task;

    fn size<F: Future + 'static>(_: &F) -> usize {
        size_of::<Task<F, u64>>()
    }
    if cfg!(target_pointer_width = "64") {
        let small = 1_u8;
        // The outcome takes 16 bytes.
        assert_eq!(size(&async move { _ = small }), 64);
        assert_eq!(size(&ready([0_usize; 2])), 72);
        assert_eq!(size(&ready([0_usize; 9])), 48 + size_of_val(&ready([0_usize; 9])));
        assert_eq!(size_of::<Option<TaskRef>>(), 8);
    }
}

#[test]
fn a_never_pending_future_is_never_bound() {
    let Spawned { job, handle } = Spawned::new(ready(42), (), Binding);
    job.run();
    let Spawned { job, handle: mut yields } = Spawned::new(twice(), (), Binding);
    job.run();
    assert!(yields.try_join().is_none());
    assert_eq!(run_all(), 1);
    assert_eq!((handle.join().unwrap(), yields.join().unwrap()), (42, 43));
    with(|queue| {
        assert!(queue.waiting.is_empty());
        assert_eq!(queue.ended, [(0, Outcome::Returned, false); 2]);
    });
}

/// Returns a future that wakes itself once.
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
fn a_pending_future_is_queued_once_per_poll() {
    let mut polls = 0;
    let future = poll_fn(move |_| {
        polls += 1;
        if polls == 3 { Poll::Ready(polls) } else { Poll::Pending }
    });
    let Spawned { job, handle } = Spawned::new(future, (), Binding);
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
        assert_eq!(queue.ended, [(1, Outcome::Returned, false)]);
    });
    task.wake_by_ref();
    let late = Waker::from(task.clone());
    late.wake();
    task.wake();
    assert_eq!(run_all(), 0, "it has ended");
}

#[test]
fn a_cancel_needs_no_waker_in_any_state() {
    let count = Arc::new(());
    let inner = [count.clone(), count.clone()];
    let never = |inner: Arc<()>| async move {
        let _inner = inner;
        pending::<()>().await;
    };
    let [first, second] = inner.map(|inner| Spawned::new(never(inner), (), Binding));
    let (queued, waits) = (first.handle, second.handle);
    second.job.run();
    assert_eq!(queued.ask_to_stop(false), Asked::ToStop);
    assert_eq!(waits.ask_to_stop(true), Asked::ToStop);
    assert_eq!(waits.ask_to_stop(true), Asked::Nothing, "again");
    first.job.run();
    assert_eq!(run_all(), 1);
    assert!(matches!(queued.join(), Err(JoinError::Cancelled(Cause::Asked))));
    assert!(matches!(waits.join(), Err(JoinError::Cancelled(Cause::Asked))));
    assert_eq!(Arc::strong_count(&count), 1);
    with(|queue| {
        assert_eq!(queue.ended, [(0, ASKED, false), (1, ASKED, false)]);
        queue.waiting.clear();
    });
}

#[test]
fn a_future_without_wakers_is_cancelled_elsewhere() {
    let count = Arc::new(());
    let inner = count.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let future = poll_fn(move |context| {
        let _inner = &inner;
        // The receiver may be gone by then.
        _ = sender.send(context.waker().clone());
        Poll::<()>::Pending
    });
    let Spawned { job, handle } = Spawned::new(future, (), Unbinding);
    job.run();
    let waker = receiver.recv().unwrap();
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 2, "its job is queued");
    assert_eq!(run_all(), 1);
    assert_eq!(Arc::strong_count(&count), 1);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
    // At once, if it has not cloned its waker.
    let Spawned { job, handle } = Spawned::new(pending::<()>(), (), Unbinding);
    job.run();
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
    with(|queue| assert_eq!(queue.ended, [(7, Outcome::Cancelled(Cause::Ended), false); 2]));
}

#[test]
fn a_futures_wakers_are_recognized() {
    let future = poll_fn(|context| {
        let (waker, clone) = (context.waker(), context.waker().clone());
        Poll::Ready([waker, &clone, Waker::noop()].map(TaskRef::wakes))
    });
    let Spawned { job, handle } = Spawned::new(future, (), Unbinding);
    job.run();
    assert_eq!(handle.join().unwrap(), [true, true, false]);
}

#[test]
fn a_polled_futures_job_is_never_stale() {
    let Spawned { job, handle } = Spawned::new(pending::<()>(), (), Binding);
    assert!(!job.is_stale());
    job.run();
    assert_eq!(handle.ask_to_stop(true), Asked::ToStop);
    let resumption = with(|queue| queue.jobs.pop()).unwrap();
    assert!(!resumption.is_stale(), "it drops the future");
    resumption.run();
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
    with(|queue| queue.waiting.clear());
}

/// A guard that counts how often it was dropped, and by hundreds how often it was left.
struct Room(Arc<AtomicUsize>);

impl Guard for Room {
    fn holds(&self) -> bool {
        true
    }

    fn leave(self) {
        // With its drop 100.
        self.0.fetch_add(99, Ordering::Relaxed);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static GIVEN_BACK: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn a_handle_drops_an_unpolled_future() {
    for by_canceller in [false, true] {
        let (count, guard) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let inner = count.clone();
        let future = async move { drop(inner) };
        let Spawned { job, handle } = Spawned::new(future, Room(guard.clone()), Staying::here());
        assert!(!job.is_stale());
        let before = GIVEN_BACK.get();
        let asked = match by_canceller {
            false => handle.ask_to_stop(true),
            true => handle.canceller().unwrap().ask_to_stop(true, Cause::Asked),
        };
        assert_eq!((asked, Arc::strong_count(&count)), (Asked::Dropped, 1));
        assert_eq!(GIVEN_BACK.get(), before + 1);
        assert_eq!(handle.ask_to_stop(true), Asked::Nothing);
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
        assert!(job.is_stale() && job.is_future());
        assert_eq!((job.run(), guard.load(Ordering::Relaxed)), (Outcome::Stale, 100));
        with(|queue| assert_eq!(queue.ended.pop(), Some((0, ASKED, false))));
    }
}

/// Its first job comes later than the handle, and polls it again or not at all.
#[test]
fn a_guard_releases_once_beside_a_handles_poll() {
    for wakes in [false, true] {
        let guard = Arc::new(AtomicUsize::new(0));
        let mut polls = 0;
        let future = poll_fn(move |_| {
            polls += 1;
            if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        });
        let Spawned { job, handle } = Spawned::new(future, Room(guard.clone()), Staying::here());
        let before = GIVEN_BACK.get();
        assert_eq!(handle.settle_if_unclaimed(None), Some(Outcome::Polled));
        assert_eq!((handle.settle_if_unclaimed(None), GIVEN_BACK.get()), (None, before + 1));
        let task = with(|queue| queue.waiting.pop()).unwrap();
        if wakes {
            task.wake_by_ref();
            assert!(!job.is_stale() && job.is_resumption());
        }
        assert_eq!(job.run(), if wakes { Outcome::Polled } else { Outcome::Stale });
        assert_eq!((guard.load(Ordering::Relaxed), GIVEN_BACK.get()), (100, before + 1));
        task.wake();
        while let Some(job) = with(|queue| queue.jobs.pop()) {
            job.run();
        }
        assert!(handle.join().is_ok());
        with(|queue| assert!(queue.ended.pop().is_some()));
    }
}

#[test]
fn a_handle_drops_a_local_future_on_its_thread() {
    for is_here in [true, false] {
        let scheduler = Staying::here();
        let Spawned { job, handle } = Spawned::local(pending::<()>(), scheduler);
        let (asked, ran) = if is_here {
            (handle.ask_to_stop(true), (Asked::Dropped, Outcome::Stale))
        } else {
            let asked = thread::scope(|s| s.spawn(|| handle.ask_to_stop(true)).join().unwrap());
            (asked, (Asked::ToStop, Outcome::Polled))
        };
        assert_eq!((job.is_stale(), handle.is_finished()), (is_here, is_here));
        assert_eq!((asked, job.run()), ran);
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
        with(|queue| assert_eq!(queue.ended.pop(), Some((0, ASKED, false))));
    }
}

#[test]
fn a_guard_drops_before_the_first_poll() {
    for is_run in [true, false] {
        let guard = Arc::new(());
        let held = Arc::downgrade(&guard);
        let seen = held.clone();
        let future = async move { assert_eq!(seen.strong_count(), 0) };
        let Spawned { job, handle } = Spawned::new(future, (guard, 0_usize), Binding);
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
fn a_future_is_returned_only_before_a_poll() {
    let Spawned { job, handle } = Spawned::new(ready([1_u8; 4096]), (), Binding);
    let future = job.into_future::<core::future::Ready<[u8; 4096]>>().unwrap();
    assert_eq!(future.into_inner(), [1; 4096]);
    assert!(handle.join().unwrap_err().is_cancelled());
    let Spawned { job, .. } = Spawned::new(ready(42), (), Binding);
    assert_eq!(job.into_future::<core::future::Ready<i32>>().unwrap().into_inner(), 42);
    let count = Arc::new(());
    let Spawned { job, handle } = Spawned::new(ready(count.clone()), (), Binding);
    let other = || job.into_future::<core::future::Ready<i32>>();
    assert!(panic::catch_unwind(AssertUnwindSafe(other)).is_err());
    assert!(handle.join().unwrap_err().is_cancelled());
    assert_eq!(Arc::strong_count(&count), 1);
    let Spawned { job, handle } = Spawned::new(pending::<()>(), (), Binding);
    job.run();
    with(|queue| queue.waiting.pop()).unwrap().wake();
    let job = with(|queue| queue.jobs.pop()).unwrap();
    assert!(job.is_resumption() && job.is_future());
    let job = job.into_future::<core::future::Pending<()>>().unwrap_err();
    drop(job);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
}

#[test]
fn a_panic_anywhere_is_the_futures_own_end() {
    struct Bomb;
    impl Guard for Bomb {}
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected: a bomb");
        }
    }
    // In a poll, with a handle and without one; in the drops of the future, the output and the guard.
    let Spawned { job, handle } = Spawned::new(async { panic!("expected: a poll") }, (), Binding);
    job.run();
    let outcome: Result<(), _> = handle.join();
    assert!(matches!(outcome, Err(JoinError::Panicked(_))));
    let Spawned { job, handle } = Spawned::new(async { panic!("expected: a poll") }, (), Binding);
    drop::<crate::JoinHandle<()>>(handle);
    job.run();
    let bomb = Bomb;
    let future = poll_fn(move |_: &mut Context<'_>| {
        let _bomb = &bomb;
        Poll::Ready(42)
    });
    let Spawned { job, handle } = Spawned::new(future, (), Binding);
    job.run();
    assert_eq!(handle.join().unwrap(), 42);
    let Spawned { job, handle } = Spawned::new(async { Bomb }, Bomb, Binding);
    drop(handle);
    job.run();
    let ends = [(0, Outcome::Panicked, false), (0, Outcome::Panicked, true)];
    let ends = [ends, [(0, Outcome::Returned, false); 2]].concat();
    with(|queue| assert_eq!(queue.ended, ends));
}

#[test]
fn a_misplaced_local_future_panics_and_leaks() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    /// Not on the heap, as the leak checker must not see it.
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
        let Spawned { job, mut handle } = Spawned::local(future, Ended);
        let run_or_drop = move || if is_run { _ = job.run() } else { drop(job) };
        thread::spawn(run_or_drop).join().unwrap();
        let outcome: Result<(), _> = handle.try_join().unwrap();
        match outcome {
            Err(JoinError::Panicked(panic)) if is_run => {
                let message = panic.message();
                assert_eq!(message, Some("a local future is on another thread than its own"));
            }
            outcome => {
                assert!(!is_run && matches!(outcome, Err(JoinError::Cancelled(Cause::Ended))))
            }
        }
        assert_eq!(DROPS.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_local_futures_references_outlive_it_anywhere() {
    let count = Rc::new(());
    let inner = count.clone();
    let mut is_woken = false;
    let future = poll_fn(move |_| {
        let _inner = &inner;
        if core::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }
    });
    let Spawned { job, handle } = Spawned::local(future, Binding);
    job.run();
    let task = with(|queue| queue.waiting.pop()).unwrap();
    task.wake_by_ref();
    assert_eq!(run_all(), 1);
    assert_eq!(Rc::strong_count(&count), 1);
    thread::spawn(move || (handle.join().unwrap(), task.wake())).join().unwrap();
}

/// Caught: the waker dropped it, perhaps under a lock of other code, or nothing did.
#[test]
fn the_ending_thread_drops_a_late_woken_future() {
    for is_woken in [false, true] {
        let count = Arc::new(());
        let inner = count.clone();
        let future = poll_fn(move |_| {
            let _inner = &inner;
            Poll::<()>::Pending
        });
        let Spawned { job, handle } = Spawned::new(future, (), Ended);
        job.run();
        let task = with(|queue| queue.waiting.pop()).unwrap();
        let waker = Waker::from(task.clone());
        if is_woken {
            thread::spawn(move || waker.wake()).join().unwrap();
        }
        assert_eq!((Arc::strong_count(&count), task.is_queued()), (2, is_woken));
        task.end();
        assert_eq!(Arc::strong_count(&count), 1);
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
        task.end();
    }
}

#[test]
fn a_future_refused_by_its_guard_is_cancelled() {
    struct Late;
    impl Guard for Late {
        fn may_start(&self) -> bool {
            false
        }
    }
    let Spawned { job, handle } = Spawned::new(async { unreachable!("it is late") }, Late, Binding);
    let _: &JoinHandle<()> = &handle;
    assert_eq!(job.run(), Outcome::Polled);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Deadline))));
}

/// Each ends a future that waits, and none that has ended.
type Ends = fn(&JoinHandle<()>);

/// Caught: a second stop request that changes the cause of the first; a job dropped for the cause of its drop although its future had been
/// asked to stop; a destructor that finds another cause than the handle.
#[test]
fn the_first_of_two_causes_wins() {
    struct Tells(std::sync::mpsc::Sender<Cause>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(crate::drop_cause()).unwrap();
        }
    }
    let ask: Ends = |handle| _ = handle.ask_to_stop(true);
    let end_waiting: Ends = |_| with(|queue| queue.waiting[0].clone()).cancel_waiting();
    let drop_jobs: Ends = |_| drop(with(|queue| core::mem::take(&mut queue.jobs)));
    let evict: Ends = |_| {
        let jobs = with(|queue| core::mem::take(&mut queue.jobs));
        jobs.into_iter().for_each(|job| _ = job.cancel(Cause::Evicted));
    };
    let cases: [(&[Ends], Cause); 6] = [
        (&[ask, end_waiting, drop_jobs], Cause::Asked),
        (&[ask, evict], Cause::Asked),
        (&[end_waiting, ask, evict], Cause::Ended),
        (&[end_waiting, drop_jobs, ask], Cause::Ended),
        (&[|_| with(|queue| queue.waiting[0].clone()).wake(), evict, ask], Cause::Evicted),
        (&[|_| with(|queue| queue.waiting[0].clone()).wake(), ask, evict], Cause::Asked),
    ];
    for (number, (ends, cause)) in cases.into_iter().enumerate() {
        let (sender, destructors) = std::sync::mpsc::channel();
        let tells = Tells(sender);
        let future = async move {
            let _tells = tells;
            pending().await
        };
        let Spawned { job, handle } = Spawned::new(future, (), Binding);
        job.run();
        ends.iter().for_each(|end| end(&handle));
        run_all();
        let Err(JoinError::Cancelled(first)) = handle.join() else {
            panic!("{number}: it has ended")
        };
        assert_eq!((first, destructors.recv()), (cause, Ok(cause)), "{number}");
        with(|queue| {
            assert_eq!(queue.ended.pop().unwrap().1, Outcome::Cancelled(cause), "{number}");
            queue.waiting.clear();
        });
    }
}

#[test]
fn a_canceller_ends_a_handleless_future() {
    let Spawned { job, handle } = Spawned::new(pending::<()>(), (), Binding);
    let canceller = handle.canceller().unwrap();
    assert!(handle.canceller().is_none(), "there is one");
    job.run();
    drop(handle);
    assert!(canceller.is_of_future() && !canceller.is_finished());
    assert_eq!(canceller.ask_to_stop(false, Cause::Asked), Asked::ToStop);
    assert_eq!(run_all(), 1);
    assert!(canceller.is_finished());
    assert_eq!(canceller.ask_to_stop(true, Cause::Asked), Asked::Nothing, "it has ended");
    assert_eq!(with(|queue| queue.ended.pop()).unwrap().1, Outcome::Cancelled(Cause::Asked));
}
