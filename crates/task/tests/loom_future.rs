//! Models of a future's cell: who polls it, who wakes it, who cancels it and who has its handle; `ci/loom.sh` runs them.
//!
//! What a future waits for is a flag that orders nothing: a poll that need not see why it was woken waits on, in some
//! interleaving, and nobody wakes it again. Cells are counted by the allocator, and overwritten when they are freed, so that
//! loom stumbles over whoever looks at one then.

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
use brigade_task::{Home, Job, JoinError, JoinHandle, Ran, Spawned, TaskRef};
use loom::thread;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// What runs futures here.
#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// What waits.
    waiting: Vec<TaskRef>,
    /// Whether nobody will run any more.
    is_over: bool,
    /// How the futures ended.
    ended: Vec<Ran>,
}

loom::lazy_static! {
    static ref QUEUE: Mutex<Queue> = Mutex::new(Queue::default());
}

/// Keeps what waits, as a pool does.
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

    fn waits(self, task: TaskRef) -> u32 {
        let mut queue = QUEUE.lock();
        queue.waiting.push(task);
        1
    }

    fn ended(self, _: u32, ran: Ran, _: Option<Box<dyn Any + Send>>) {
        let mut queue = QUEUE.lock();
        queue.ended.push(ran);
        let waited = std::mem::take(&mut queue.waiting);
        drop(queue);
        drop(waited);
    }
}

/// Keeps nothing: what waits is kept by its wakers.
#[derive(Clone, Copy)]
struct Forgetful;

impl Home for Forgetful {
    fn wake(self, job: Job, again: bool) {
        Host.wake(job, again);
    }

    fn waits(self, task: TaskRef) -> u32 {
        drop(task);
        1
    }

    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        Host.ended(number, ran, unclaimed);
    }
}

/// Runs what is queued, as long as anything is; `true` if anything was.
fn run_all() -> bool {
    let mut any = false;
    while let Some(job) = { QUEUE.lock().jobs.pop() } {
        assert!(QUEUE.lock().jobs.is_empty(), "it is queued once");
        job.run();
        any = true;
    }
    any
}

/// How the one future ended.
fn end() -> Ran {
    let ended = &QUEUE.lock().ended;
    assert_eq!(ended.len(), 1, "it ends once");
    ended[0]
}

/// The alignment of the futures here, and so of their cells, and of nothing else.
const ALIGN: usize = 256;

/// Counts cells.
struct Cells;

/// Cells that have been allocated and not freed. One model runs at a time, see [`explore`].
static CELLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Cells {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == ALIGN {
            CELLS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller keeps the rules of `alloc`, which are the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if layout.align() == ALIGN {
            CELLS.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: it is as large as its layout says, and the caller's last use of it was before.
            unsafe { memory.write_bytes(0xdd, layout.size()) };
        }
        // SAFETY: the caller keeps the rules of `dealloc`; `alloc` above used the same allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Cells = Cells;

/// Explores a model, one at a time; it has to free all its cells.
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

/// What a future waits for: both, by flags that order nothing.
#[derive(Clone)]
struct Event(Arc<[AtomicBool; 2]>);

impl Event {
    /// Either has happened by now, or not.
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

/// Gives the cell its alignment.
#[repr(align(256))]
struct Aligned<T>(#[allow(dead_code, reason = "dropped")] T);

const _: () = assert!(align_of::<Aligned<u8>>() == ALIGN);

/// A future that is ready once both have happened.
fn spawned<H: Home>(tally: &Tally, event: &Event, home: H) -> Spawned<Counted> {
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

/// One that has been polled once and waits, and what wakes it.
fn waiting(tally: &Tally, event: &Event) -> (JoinHandle<Counted>, TaskRef) {
    let Spawned { job, handle } = spawned(tally, event, Host);
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

/// Caught: `finish_unless_asked` that looks before it changes the state; `abandon` whether or not the outcome is there;
/// `release_job` that frees whether or not the handle is there.
#[test]
fn a_cancel_beside_the_end_and_the_drop_of_the_handle_has_one_winner() {
    for is_kept in [false, true] {
        explore(3, move || {
            let tally = Tally::default();
            let Spawned { job, mut handle } = spawned(&tally, &Event::new([true; 2]), Host);
            let runner = in_a_thread(move || _ = job.run());
            turn();
            let cancels = handle.ask_to_stop();
            let kept = is_kept.then_some(handle);
            runner.join().unwrap();
            assert!(!run_all());
            assert_eq!(end(), if cancels { Ran::Cancelled } else { Ran::Returned });
            let outcome = kept.map(JoinHandle::join);
            assert!(outcome.is_none_or(|outcome| outcome.is_ok() != cancels));
            assert_eq!(tally.seen(), (1, tally.polls.load(Ordering::Relaxed)));
        });
    }
}

/// Caught: no look at what was asked before a poll; an `ask_to_stop` that wakes nobody; `begin` or `wake_by_ref` with Relaxed.
#[test]
fn a_cancel_beside_the_first_poll_is_heard() {
    explore(3, || {
        let tally = Tally::default();
        let Spawned { job, mut handle } = spawned(&tally, &Event::new([false; 2]), Host);
        let runner = in_a_thread(move || {
            job.run();
            run_all();
        });
        turn();
        assert!(handle.ask_to_stop());
        runner.join().unwrap();
        run_all();
        assert_eq!((end(), tally.seen()), (Ran::Cancelled, (1, 0)));
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    });
}

/// Caught: `finish_unless_asked` that looks before it changes the state.
#[test]
fn a_cancel_beside_a_wake_has_one_winner() {
    for ready_then in [false, true] {
        explore(2, move || {
            let (tally, event) = (Tally::default(), Event::new([false, true]));
            let (mut handle, task) = waiting(&tally, &event);
            let runner = in_a_thread(move || {
                if ready_then {
                    event.set(0);
                }
                task.wake();
                run_all();
            });
            turn();
            let cancels = handle.ask_to_stop();
            drop(handle);
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

/// Caught: `begin` or `wake` with Relaxed; a `wake` that changes nothing where `SCHEDULED` is set; a `pause` that forgets
/// that it was woken.
#[test]
fn a_wake_beside_a_poll_is_followed_by_another() {
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
            assert_eq!(end(), Ran::Returned);
            assert!(handle.join().is_ok());
            assert_eq!(tally.seen(), (1, 1));
            assert!(tally.polls.load(Ordering::Relaxed) <= 3);
            drop(task);
        });
    }
}

/// Caught: as above; and a `wake` that makes a job whoever else has.
#[test]
fn two_wakes_at_once_are_one_job_and_lose_nothing() {
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
        assert_eq!(end(), Ran::Returned);
        assert!(tally.polls.load(Ordering::Relaxed) <= 3);
        assert!(handle.join().is_ok());
        assert_eq!(tally.seen(), (1, 1));
        drop(task);
    });
}

/// Caught: `finish` without Release; `is_done` with Relaxed.
#[test]
fn who_waits_for_a_future_sees_a_whole_outcome_and_the_future_gone() {
    explore(3, || {
        let tally = Tally::default();
        let Spawned { job, mut handle } = spawned(&tally, &Event::new([true; 2]), Host);
        let runner = in_a_thread(move || _ = job.run());
        turn();
        handle.wait();
        assert_eq!(tally.seen(), (1, 0));
        assert!(matches!(handle.try_join(), Some(Ok(_))));
        drop(handle);
        runner.join().unwrap();
        assert_eq!((end(), tally.seen()), (Ran::Returned, (1, 1)));
    });
}

/// Caught: an `end` that is the last whatever the count, or never; a `wake` that is never the last; a `wake` of what has ended
/// that makes a job; a `release` or an `end` with Relaxed.
#[test]
fn late_wakers_beside_the_end_free_the_cell_once_and_last() {
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
            assert_eq!((end(), tally.seen()), (Ran::Returned, (1, 1)));
        });
    }
}

/// Caught: a job that is dropped without an end.
#[test]
fn a_job_that_is_dropped_beside_a_wake_drops_the_future_once() {
    explore(3, || {
        let (tally, event) = (Tally::default(), Event::new([false; 2]));
        let (mut handle, task) = waiting(&tally, &event);
        let late = task.clone();
        let wakes = in_a_thread(move || late.wake());
        turn();
        let queued = {
            let mut queue = QUEUE.lock();
            queue.is_over = true;
            std::mem::take(&mut queue.jobs)
        };
        drop(queued);
        task.wake_by_ref();
        wakes.join().unwrap();
        assert_eq!((end(), tally.seen()), (Ran::Cancelled, (1, 0)));
        assert!(matches!(handle.try_join(), Some(Err(JoinError::Cancelled))));
        drop(handle);
        task.wake();
    });
}

/// Caught: a `release` that lets the last reference go from what waits; one in two steps, a subtraction and then a look.
#[test]
fn the_last_waker_that_goes_beside_a_cancel_or_another_leaves_one_job() {
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
            let Spawned { job, mut handle } = Spawned::new(future, (), Forgetful);
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
                handle.ask_to_stop();
                run_all();
                // While the other may still be at it.
                drop(handle);
                drops.join().unwrap();
                run_all();
            } else {
                run_all();
                drops.join().unwrap();
                run_all();
                assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
            }
            assert_eq!((end(), tally.seen()), (Ran::Cancelled, (1, 0)));
        });
    }
}
