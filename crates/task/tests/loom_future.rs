//! Models of a future's cell: polls, wakes, cancellations and uses of the handle, beside each other; `ci/loom.sh` runs them.
//!
//! A future waits for a flag that orders nothing. If a poll need not see why it was woken, it stays pending in some
//! interleaving, and is never woken again. The allocator counts cells and overwrites them when they are freed, so that loom
//! fails on a later access.

#![cfg(brigade_loom)]
#![allow(clippy::disallowed_types, reason = "counters outside the model")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use brigade_sync::Mutex;
use brigade_sync::atomic::AtomicBool;
use brigade_sync::model::{check, turn};
use brigade_task::{
    Asked, Cause, Job, JoinError, JoinHandle, Outcome, Schedule, Spawned, TaskRef, Woken,
};
use loom::thread;

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// The queue of the models' schedulers.
#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// References to the waiting futures.
    waiting: Vec<TaskRef>,
    /// Whether jobs are refused: left, or dropped if the future was woken while it was polled.
    is_over: bool,
    /// How the futures ended.
    ended: Vec<Outcome>,
}

loom::lazy_static! {
    static ref QUEUE: Mutex<Queue> = Mutex::new(Queue::default());
}

/// Keeps references to the waiting futures, as a pool does.
#[derive(Clone, Copy)]
struct Binding;

impl Schedule for Binding {
    fn schedule(self, job: Job, woken: Woken, _: u8) {
        let mut queue = QUEUE.lock();
        let rejected = match queue.is_over {
            true => Some(job),
            false => {
                queue.jobs.push(job);
                None
            }
        };
        drop(queue);
        match woken {
            Woken::Idle => rejected.into_iter().for_each(Job::leave),
            Woken::Polled => drop(rejected),
        }
    }

    fn bind(self, task: TaskRef) -> u32 {
        let mut queue = QUEUE.lock();
        queue.waiting.push(task);
        1
    }

    fn release(self, _: u32, outcome: Outcome, _: Option<Box<dyn Any + Send>>) {
        let mut queue = QUEUE.lock();
        queue.ended.push(outcome);
        let waited = std::mem::take(&mut queue.waiting);
        drop(queue);
        drop(waited);
    }
}

/// Keeps no references: waiting futures are kept by their wakers.
#[derive(Clone, Copy)]
struct Unbinding;

impl Schedule for Unbinding {
    fn schedule(self, job: Job, woken: Woken, _: u8) {
        Binding.schedule(job, woken, 0);
    }

    fn bind(self, task: TaskRef) -> u32 {
        drop(task);
        1
    }

    fn release(self, key: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        Binding.release(key, outcome, unclaimed);
    }
}

/// Runs jobs until none is queued; returns whether any ran.
fn run_all() -> bool {
    let mut any = false;
    while let Some(job) = { QUEUE.lock().jobs.pop() } {
        assert!(QUEUE.lock().jobs.is_empty(), "it is queued once");
        job.run();
        any = true;
    }
    any
}

/// Returns how the one future ended.
fn end() -> Outcome {
    let ended = &QUEUE.lock().ended;
    assert_eq!(ended.len(), 1, "it ends once");
    ended[0]
}

/// The alignment of these futures, and so of their cells; nothing else is aligned so.
const ALIGN: usize = 256;

/// Counts cells.
struct Cells;

/// The number of cells that have been allocated and not freed. One model runs at a time, see [`explore`].
static CELLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator with its arguments.
unsafe impl GlobalAlloc for Cells {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == ALIGN {
            CELLS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if layout.align() == ALIGN {
            CELLS.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: it is as large as its layout says, and the caller does not use it any more.
            unsafe { memory.write_bytes(0xdd, layout.size()) };
        }
        // SAFETY: the caller keeps the contract of `dealloc`; `alloc` above used the same allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Cells = Cells;

/// Explores a model, one at a time, which must free all its cells.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock();
    CELLS.store(0, Ordering::Relaxed);
    check(preemptions, move || {
        model();
        assert_eq!(CELLS.load(Ordering::Relaxed), 0, "each cell is freed once");
    });
}

/// Counts its drop.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts the drops and polls of one future.
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

/// What a future waits for: two flags that order nothing.
#[derive(Clone)]
struct Event(Arc<[AtomicBool; 2]>);

impl Event {
    /// Creates an event of which each half has happened or not.
    fn new(now: [bool; 2]) -> Self {
        Self(Arc::new(now.map(AtomicBool::new)))
    }

    fn set(&self, which: usize) {
        self.0[which].store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.iter().all(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Aligns the cell.
#[repr(align(256))]
struct Aligned<T>(#[allow(dead_code, reason = "dropped")] T);

const _: () = assert!(align_of::<Aligned<u8>>() == ALIGN);

/// Makes a future that is ready once both halves have happened.
fn spawned<H: Schedule>(tally: &Tally, event: &Event, home: H) -> Spawned<Counted> {
    let captured = Aligned(Counted(tally.futures.clone()));
    let (tally, event) = (tally.clone(), event.clone());
    let future = poll_fn(move |_| {
        let _captured = &captured; // all of it, with its alignment
        tally.polls.fetch_add(1, Ordering::Relaxed);
        match event.is_set() {
            true => Poll::Ready(Counted(tally.outputs.clone())),
            false => Poll::Pending,
        }
    });
    Spawned::new(future, (), home)
}

/// Makes a future that has been polled once and waits; returns a reference that wakes it.
fn waiting(tally: &Tally, event: &Event) -> (JoinHandle<Counted>, TaskRef) {
    let Spawned { job, handle } = spawned(tally, event, Binding);
    job.run();
    let task = QUEUE.lock().waiting[0].clone();
    (handle, task)
}

fn in_a_thread(call: impl FnOnce() + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        turn();
        call();
    })
}

/// Caught: `finish_unless_stopped` that looks before it changes the state; `abandon` whether or not the result has been
/// written; a release of the job's side that frees whether or not the handle is alive.
#[test]
fn a_cancel_beside_end_and_drop_has_one_winner() {
    for (is_kept, may_drop) in [(false, false), (false, true), (true, false), (true, true)] {
        explore(3, move || {
            let tally = Tally::default();
            let Spawned { job, handle } = spawned(&tally, &Event::new([true; 2]), Binding);
            let runner = in_a_thread(move || _ = job.run());
            turn();
            let cancels = handle.ask_to_stop(may_drop) != Asked::Nothing;
            let kept = is_kept.then_some(handle);
            runner.join().unwrap();
            assert!(!run_all());
            assert_eq!(
                end(),
                if cancels { Outcome::Cancelled(Cause::Asked) } else { Outcome::Returned }
            );
            let outcome = kept.map(JoinHandle::join);
            assert!(outcome.is_none_or(|outcome| outcome.is_ok() != cancels));
            assert_eq!(tally.seen(), (1, tally.polls.load(Ordering::Relaxed)));
        });
    }
}

/// Caught: a poll without a look at the stop request; a stop request without a wake; `begin_first_poll` or `wake_by_ref` with
/// Relaxed; a claim that is not one step, or that releases the reference of the job.
#[test]
fn a_cancel_beside_the_first_poll_is_heard() {
    for may_drop in [false, true] {
        explore(3, move || {
            let tally = Tally::default();
            let Spawned { job, handle } = spawned(&tally, &Event::new([false; 2]), Binding);
            let runner = in_a_thread(move || {
                job.run();
                run_all();
            });
            turn();
            assert!(handle.ask_to_stop(may_drop) != Asked::Nothing);
            runner.join().unwrap();
            run_all();
            assert_eq!((end(), tally.seen()), (Outcome::Cancelled(Cause::Asked), (1, 0)));
            assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
        });
    }
}

/// A request that is heard is the cause; otherwise it is that of the drop.
///
/// Caught: `request_stop` by a look and a change in two steps.
#[test]
fn a_cancel_beside_a_drop_has_one_cause() {
    explore(3, || {
        let tally = Tally::default();
        let Spawned { job, handle } = spawned(&tally, &Event::new([false; 2]), Binding);
        let drops = in_a_thread(move || drop(job));
        turn();
        let asks = handle.ask_to_stop(false) != Asked::Nothing;
        drops.join().unwrap();
        run_all();
        let cause = if asks { Cause::Asked } else { Cause::Ended };
        assert_eq!((end(), tally.seen()), (Outcome::Cancelled(cause), (1, 0)));
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(told)) if told == cause));
    });
}

/// Caught: `finish_unless_stopped` that looks before it changes the state.
#[test]
fn a_cancel_beside_a_wake_has_one_winner() {
    for ready_then in [false, true] {
        explore(2, move || {
            let (tally, event) = (Tally::default(), Event::new([false, true]));
            let (handle, task) = waiting(&tally, &event);
            let runner = in_a_thread(move || {
                if ready_then {
                    event.set(0);
                }
                task.wake();
                run_all();
            });
            turn();
            let cancels = handle.ask_to_stop(true) != Asked::Nothing;
            drop(handle);
            runner.join().unwrap();
            run_all();
            assert!(cancels || ready_then);
            assert_eq!(
                end(),
                if cancels { Outcome::Cancelled(Cause::Asked) } else { Outcome::Returned }
            );
            let (futures, outputs) = tally.seen();
            assert_eq!(futures, 1);
            assert!(cancels || outputs == 1, "its output is dropped too");
        });
    }
}

/// Caught: `begin_poll` or `wake` with Relaxed; a `wake` that changes nothing where `SCHEDULED` is set; an `end_poll` that
/// ignores `SCHEDULED`.
#[test]
fn a_wake_beside_a_poll_brings_another() {
    for by_ref in [false, true] {
        explore(3, move || {
            let (tally, event) = (Tally::default(), Event::new([false, true]));
            let (handle, task) = waiting(&tally, &event);
            task.wake_by_ref();
            let runner = in_a_thread(|| _ = run_all());
            turn();
            event.set(0);
            if by_ref {
                task.wake_by_ref()
            } else {
                task.clone().wake()
            }
            runner.join().unwrap();
            run_all();
            assert_eq!(end(), Outcome::Returned);
            assert!(handle.join().is_ok());
            assert_eq!(tally.seen(), (1, 1));
            assert!(tally.polls.load(Ordering::Relaxed) <= 3);
            drop(task);
        });
    }
}

/// Caught: as above; and a `wake` that makes a job although there is one.
#[test]
fn two_concurrent_wakes_are_one_job() {
    explore(3, || {
        let (tally, event) = (Tally::default(), Event::new([false, false]));
        let (handle, task) = waiting(&tally, &event);
        let (other, first) = (task.clone(), event.clone());
        let wakes = in_a_thread(move || {
            first.set(0);
            other.wake();
            run_all();
        });
        turn();
        event.set(1);
        task.wake_by_ref();
        run_all();
        wakes.join().unwrap();
        run_all();
        assert_eq!(end(), Outcome::Returned);
        assert!(tally.polls.load(Ordering::Relaxed) <= 3);
        assert!(handle.join().is_ok());
        assert_eq!(tally.seen(), (1, 1));
        drop(task);
    });
}

/// Caught: a claim without a reference, or with Relaxed; a `begin_poll` of a future that is being polled; a stale job that cancels its
/// future, or does not drop its reference.
#[test]
fn a_polling_handle_has_the_future_alone() {
    for (is_polled, sweeps) in [(false, false), (false, true), (true, false), (true, true)] {
        explore(3, move || {
            let (tally, event) = (Tally::default(), Event::new([false, true]));
            let (handle, task, job) = match is_polled {
                true => {
                    let (handle, task) = waiting(&tally, &event);
                    task.wake_by_ref();
                    let job = QUEUE.lock().jobs.pop().unwrap();
                    (handle, Some(task), job)
                }
                false => {
                    let Spawned { job, handle } = spawned(&tally, &event, Binding);
                    (handle, None, job)
                }
            };
            let runner = in_a_thread(move || {
                let job = if sweeps { job.drop_if_stale().err() } else { Some(job) };
                job.into_iter().for_each(|job| _ = job.run());
            });
            turn();
            let claimed = handle.settle_if_unclaimed(None);
            assert!(claimed.is_none_or(|outcome| outcome == Outcome::Polled));
            event.set(0);
            task.into_iter().for_each(TaskRef::wake);
            _ = handle.settle_if_unclaimed(None);
            runner.join().unwrap();
            // One whose first poll was pending has been woken by nobody yet.
            let waits = QUEUE.lock().waiting.first().cloned();
            waits.into_iter().for_each(TaskRef::wake);
            while let Some(job) = { QUEUE.lock().jobs.pop() } {
                job.run();
            }
            assert_eq!(end(), Outcome::Returned);
            assert!(handle.join().is_ok());
            assert_eq!(tally.seen(), (1, 1));
        });
    }
}

/// Caught: `State::finish` without Release; `is_done` with Relaxed.
#[test]
fn a_waiter_sees_a_whole_outcome_and_no_future() {
    explore(3, || {
        let tally = Tally::default();
        let Spawned { job, mut handle } = spawned(&tally, &Event::new([true; 2]), Binding);
        let runner = in_a_thread(move || _ = job.run());
        turn();
        while !handle.is_finished() {
            thread::yield_now();
        }
        assert_eq!(tally.seen(), (1, 0));
        assert!(matches!(handle.try_join(), Some(Ok(_))));
        drop(handle);
        runner.join().unwrap();
        assert_eq!((end(), tally.seen()), (Outcome::Returned, (1, 1)));
    });
}

/// Caught: a `Lifecycle::finish` that is the last whatever the count, or never; a `wake` that is never the last; a `wake` of
/// a future that has ended that makes a job; a `drop_reference` or a `Lifecycle::finish` with Relaxed.
#[test]
fn late_wakers_beside_the_end_free_the_cell_last() {
    for (is_kept, is_woken) in [(true, true), (false, true), (false, false)] {
        explore(3, move || {
            let (tally, event) = (Tally::default(), Event::new([true, false]));
            let (handle, task) = waiting(&tally, &event);
            if !is_kept {
                let kept = std::mem::take(&mut QUEUE.lock().waiting);
                drop(kept);
            }
            event.set(1);
            task.wake_by_ref();
            let runner = in_a_thread(|| {
                run_all();
                turn();
            });
            let late = in_a_thread(move || {
                let other = Waker::from(task.clone());
                drop(task);
                turn();
                if is_woken { other.wake() } else { drop(other) }
            });
            turn();
            drop(handle);
            runner.join().unwrap();
            late.join().unwrap();
            assert!(!run_all());
            assert_eq!((end(), tally.seen()), (Outcome::Returned, (1, 1)));
        });
    }
}

/// Caught: a dropped job that does not end its future; a `claim_or_wake` that claims no future that is queued, or does
/// not wake one that is polled, or with Relaxed.
#[test]
fn the_end_beside_a_poll_drops_the_future_once() {
    for is_polled in [false, true] {
        explore(3, move || {
            let (tally, event) = (Tally::default(), Event::new([false; 2]));
            let (mut handle, task) = waiting(&tally, &event);
            let late = task.clone();
            if is_polled {
                late.wake_by_ref();
            }
            let other = in_a_thread(move || match is_polled {
                false => late.wake(),
                true => _ = run_all(),
            });
            turn();
            let queued = {
                let mut queue = QUEUE.lock();
                queue.is_over = true;
                std::mem::take(&mut queue.jobs)
            };
            drop(queued);
            task.end();
            other.join().unwrap();
            assert_eq!((end(), tally.seen()), (Outcome::Cancelled(Cause::Ended), (1, 0)));
            assert!(matches!(handle.try_join(), Some(Err(JoinError::Cancelled(Cause::Ended)))));
            drop(handle);
            task.wake();
        });
    }
}

/// Caught: a `drop_reference` that drops the last reference of an idle future; one in two steps, a subtraction and then a
/// look.
#[test]
fn the_last_waker_beside_a_cancel_leaves_one_job() {
    for cancels in [false, true] {
        explore(3, move || {
            let (tally, event) = (Tally::default(), Event::new([false; 2]));
            let slot = Arc::new(Mutex::new(Vec::new()));
            let (inner, captured) = (slot.clone(), Aligned(Counted(tally.futures.clone())));
            let future = poll_fn(move |context| {
                let _captured = &captured; // all of it, with its alignment
                let wakers = [context.waker().clone(), context.waker().clone()];
                inner.lock().extend(wakers);
                if event.is_set() { Poll::Ready(()) } else { Poll::Pending }
            });
            let Spawned { job, handle } = Spawned::new(future, (), Unbinding);
            job.run();
            let mut wakers = std::mem::take(&mut *slot.lock());
            let waker = wakers.pop().unwrap();
            let other = if cancels { None } else { wakers.pop() };
            drop(wakers);
            let drops = in_a_thread(move || {
                drop(waker);
                run_all();
            });
            turn();
            drop(other);
            if cancels {
                _ = handle.ask_to_stop(true);
                run_all();
                // While the other thread may still run it.
                drop(handle);
                drops.join().unwrap();
                run_all();
            } else {
                run_all();
                drops.join().unwrap();
                run_all();
                assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
            }
            assert!(matches!(end(), Outcome::Cancelled(Cause::Asked | Cause::Ended)));
            assert_eq!(tally.seen(), (1, 0));
        });
    }
}
