//! Latches, forks, scopes and parcels on one thread, with pools that do odd things.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use core::cell::{Cell, RefCell};
use core::future::{Future, pending};
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::task::{Context, Poll, Waker};
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::task::Wake;

use brigade_testkit::this_program;

use super::latch::Latch;
use super::*;
use crate::error::JoinError;
use crate::{Cause, Job, JoinHandle, Outcome};

/// Counts its wakes, and panics in them if told to.
#[derive(Default)]
struct Counter {
    wakes: AtomicUsize,
    panics: bool,
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, SeqCst);
        assert!(!self.panics, "a waker's panic");
    }
}

fn counter(panics: bool) -> (Arc<Counter>, Waker) {
    let counter = Arc::new(Counter { panics, ..Counter::default() });
    (counter.clone(), counter.into())
}

fn set(latch: &Latch, done: bool) {
    // SAFETY: it is alive, and the tests set it once.
    unsafe { Latch::set(latch, done) };
}

fn caught<R>(call: impl FnOnce() -> R) -> Option<&'static str> {
    let payload = panic::catch_unwind(AssertUnwindSafe(call)).err()?;
    Some(payload.downcast_ref::<&str>().unwrap())
}

#[test]
fn a_latch_wakes_only_the_last_waker() {
    let (latch, (first, one), (second, two)) = (Latch::new(), counter(false), counter(false));
    assert!(latch.register(one) && latch.register(two));
    assert_eq!(Arc::strong_count(&first), 1);
    assert!(!latch.is_set());
    set(&latch, true);
    assert!(latch.is_set() && !latch.has_returned_work());
    assert_eq!((first.wakes.load(SeqCst), second.wakes.load(SeqCst)), (0, 1));
    assert_eq!(Arc::strong_count(&second), 1);
}

#[test]
fn a_set_latch_takes_no_waker() {
    let (latch, (counter, waker)) = (Latch::new(), counter(false));
    set(&latch, false);
    assert!(latch.is_set() && latch.has_returned_work());
    assert!(!latch.register(waker));
    assert_eq!((Arc::strong_count(&counter), counter.wakes.load(SeqCst)), (1, 0));
}

#[test]
fn a_wakers_panic_does_not_reach_the_setter() {
    let (latch, (counter, waker)) = (Latch::new(), counter(true));
    assert!(latch.register(waker));
    set(&latch, true);
    assert_eq!((latch.is_set(), counter.wakes.load(SeqCst)), (true, 1));
}

/// A deque of parts; what becomes of a new one is up to the test.
#[derive(Default)]
struct Deque {
    parts: RefCell<Vec<Part>>,
    /// What is done with a part in place of queueing it.
    thief: Cell<Option<fn(Part)>>,
}

impl Deque {
    fn of(thief: fn(Part)) -> Self {
        Self { thief: Cell::new(Some(thief)), ..Self::default() }
    }
}

impl Forks for Deque {
    type Deque = RefCell<Vec<Part>>;

    fn push(&self, part: Part) {
        match self.thief.take() {
            Some(thief) => thief(part),
            None => self.parts.borrow_mut().push(part),
        }
    }

    fn deque(&self) -> &Self::Deque {
        &self.parts
    }

    fn take_back(&self) -> Option<Part> {
        self.parts.borrow_mut().pop()
    }

    fn wait(&self, _: Wait<'_>) {
        unreachable!("there is one thread");
    }
}

fn run(part: Part) {
    assert!(part.is_fork());
    // It is a part of the job that forked it.
    assert_eq!(part.into_job().run(), Outcome::Stale);
}

#[test]
fn a_fork_ends_with_any_end_of_its_part() {
    for deque in [Deque::default(), Deque::of(run), Deque::of(drop)] {
        let ran = AtomicUsize::new(0);
        let both = join(&deque, || "a", || ran.fetch_add(1, SeqCst));
        assert_eq!((both, ran.into_inner()), (("a", 0), 1));
        assert!(deque.parts.borrow().is_empty());
    }
}

#[test]
fn parts_of_others_stay_in_their_order() {
    let (deque, pool) = (Deque::default(), List::default());
    let ran = Mutex::new(Vec::new());
    scope(&pool, |s| {
        let both = join(
            &deque,
            || {
                for number in 0..3 {
                    let ran = &ran;
                    s.execute(move || ran.lock().unwrap().push(number));
                }
                pool.parts.lock().unwrap().drain(..).for_each(|part| deque.push(part));
                "a"
            },
            || "b",
        );
        assert_eq!(both, ("a", "b"));
        while let Some(part) = deque.take_back() {
            assert_eq!(part.into_job().run(), Outcome::Returned);
        }
    });
    assert_eq!(*ran.lock().unwrap(), [2, 1, 0]);
}

#[test]
fn both_sides_run_if_either_panics() {
    for thief in [None, Some(run as fn(Part)), Some(drop)] {
        for (a, b, expected) in [(true, false, "a"), (false, true, "b"), (true, true, "a")] {
            let deque = Deque { thief: Cell::new(thief), ..Deque::default() };
            let ran = AtomicUsize::new(0);
            let side = |panics: bool, name: &'static str| {
                ran.fetch_add(1, SeqCst);
                if panics {
                    panic::resume_unwind(Box::new(name));
                }
            };
            let joined = caught(|| join(&deque, || side(a, "a"), || side(b, "b")));
            assert_eq!((joined, ran.load(SeqCst)), (Some(expected), 2));
        }
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic::resume_unwind(Box::new("a drop's panic"));
    }
}

#[test]
fn a_results_drop_does_not_hide_the_panic() {
    let b = || panic::resume_unwind(Box::new("b"));
    assert_eq!(caught(|| join::<_, _, _, _, ()>(&Deque::of(run), || Bomb, b)), Some("b"));
    let a = || panic::resume_unwind(Box::new("a"));
    assert_eq!(caught(|| join::<_, _, _, (), _>(&Deque::default(), a, || Bomb)), Some("a"));
}

#[test]
fn an_installed_panic_is_counted_and_resumed() {
    let mut outcome = None;
    let give = |job: Job| {
        outcome = Some(job.run());
        Ok(())
    };
    let call = || panic::resume_unwind(Box::new("the call's"));
    assert_eq!(caught(|| install::<_, ()>(call, give, |_| unreachable!())), Some("the call's"));
    assert_eq!(outcome, Some(Outcome::Panicked));
}

#[test]
fn a_refused_or_dropped_installed_call_comes_back() {
    for refuses in [false, true] {
        let give = |job| {
            if refuses {
                return Err(job);
            }
            drop(job);
            Ok(())
        };
        let Err(call) = install(|| 42, give, |_| unreachable!()) else { panic!("it ran") };
        assert_eq!(call(), 42);
    }
}

#[test]
fn a_call_returned_another_job_aborts_with_a_reason() {
    const INNER: &str = "BRIGADE_TEST_ANOTHER_JOB";
    if env::var_os(INNER).is_some() {
        _ = install(|| (), |_| Err(Job::new(|| ())), |_| unreachable!());
        return;
    }
    let name = "scoped::tests::a_call_returned_another_job_aborts_with_a_reason";
    let mut command = this_program();
    let output = command.args([name, "--exact", "--nocapture"]).env(INNER, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("another job was returned"), "{said}");
    assert!(said.contains("a panic in the middle of forking"), "{said}");
}

/// A pool that queues all, and runs it when its thread waits.
#[derive(Default)]
struct List {
    parts: Mutex<Vec<Part>>,
    futures: Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// What is done with a part.
    drops: bool,
    /// How many workers get a share of a broadcast, which asks for one share too many.
    workers: usize,
    /// Waits in place of [`List::run_next`].
    waits: Option<fn(&Self, Wait<'_>)>,
    /// How often the thread had nothing left to do.
    returns: AtomicUsize,
    /// How jobs have ended, by the jobs themselves and by their handles.
    ended: Mutex<Vec<Outcome>>,
    /// Counts the panics that have no handle and are not the first.
    lost: AtomicUsize,
}

impl List {
    fn run_one(&self) {
        let part = self.parts.lock().unwrap().pop();
        self.ended.lock().unwrap().extend(part.map(|part| part.into_job().run()));
    }

    fn run_next(&self) {
        let part = self.parts.lock().unwrap().pop();
        match part {
            Some(part) if self.drops => drop(part),
            Some(part) => _ = part.into_job().run(),
            None => {
                let poll = || self.poll(Waker::noop());
                let polled = panic::catch_unwind(AssertUnwindSafe(poll));
                // As a pool does: it is the scope's, or the handle's.
                assert!(polled.map_or_else(|payload| payload.is::<HeldPanic>(), |_| true));
            }
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        let mut future = self.futures.lock().unwrap().pop().expect("one is queued");
        let polled = future.as_mut().poll(&mut Context::from_waker(waker));
        if polled.is_pending() {
            self.futures.lock().unwrap().push(future);
        }
        polled
    }
}

impl Scopes for List {
    fn execute(&self, part: Part) {
        self.parts.lock().unwrap().push(part);
    }

    fn spawn(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send>>,
        _: &mut dyn FnMut(Job) -> Part,
    ) -> Option<JoinHandle<()>> {
        self.futures.lock().unwrap().push(future);
        None
    }

    fn broadcast(&self, make: &mut dyn FnMut() -> Part) {
        (0..self.workers).for_each(|_| self.execute(make()));
        drop(make());
    }

    fn wait(&self, wait: Wait<'_>) {
        match self.waits {
            Some(waits) => waits(self, wait),
            None => self.run_next(),
        }
    }

    fn run_here(&self, run: &mut dyn FnMut() -> Option<Outcome>) {
        let outcome = run();
        self.ended.lock().unwrap().extend(outcome);
    }

    fn count_panic(&self) {
        self.lost.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_scoped_job_has_all_its_captures() {
    let sums = Mutex::new(Vec::new());
    scope(&List::default(), |s| {
        let (one, three, eight) = (1_usize, [2_usize; 3], [3_usize; 8]);
        let add = |sum| sums.lock().unwrap().push(sum);
        s.execute(move || add(one));
        s.execute(move || add(three.iter().sum()));
        s.execute(move || add(eight.iter().sum()));
    });
    assert_eq!(*sums.lock().unwrap(), [24, 6, 1]);
}

#[test]
fn a_handle_gets_the_end_of_its_job() {
    scope(&List::default(), |s| {
        assert_eq!(s.submit(|| 42).join().unwrap(), 42);
        let panicked = s.submit(|| -> u32 { panic::resume_unwind(Box::new("the job's")) });
        assert_eq!(panicked.join().unwrap_err().panic_message(), Some("the job's"));
        assert_eq!(s.spawn(async { 43 }).join().unwrap(), 43);
    });
    let list = List { drops: true, ..List::default() };
    scope(&list, |s| {
        let handle = s.submit(|| ());
        list.parts.lock().unwrap().clear();
        assert!(handle.is_finished());
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
        let handle = s.spawn(pending::<()>());
        list.futures.lock().unwrap().clear();
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Ended))));
        // Its job is queued, and nothing else would take it.
        s.cancel();
        assert!(matches!(s.submit(|| ()).join(), Err(JoinError::Cancelled(Cause::Asked))));
    });
}

#[test]
fn the_scope_resumes_a_handleless_panic() {
    let job = || panic::resume_unwind(Box::new("the job's"));
    let list = List::default();
    assert_eq!(caught(|| scope(&list, |s| drop(s.submit(job)))), Some("the job's"));
    // It ended before its handle was dropped.
    let late = || {
        scope(&list, |s| {
            let handle = s.submit(job);
            list.run_one();
            drop(handle);
        });
    };
    assert_eq!(caught(late), Some("the job's"));
    assert_eq!(caught(|| scope(&list, |s| drop(s.spawn(async { job() })))), Some("the job's"));
}

#[test]
fn a_scope_keeps_the_wakers_of_pending_futures() {
    let list = List::default();
    scope(&list, |s| {
        let (counter, waker) = counter(false);
        for _ in 0..3 {
            drop(s.spawn(async {}));
            assert!(list.poll(&waker).is_ready());
        }
        drop(waker);
        assert_eq!(Arc::strong_count(&counter), 1);
    });
}

#[test]
fn a_cancel_wakes_the_last_polls_waker() {
    let list = List::default();
    scope(&list, |s| {
        let ((old, one), (new, two)) = (counter(false), counter(false));
        let handle = s.spawn(pending::<()>());
        assert!(list.poll(&one).is_pending() && list.poll(&two).is_pending());
        s.cancel();
        assert_eq!((old.wakes.load(SeqCst), new.wakes.load(SeqCst)), (0, 1));
        assert!(list.poll(&two).is_ready());
        assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
    });
}

#[test]
fn a_scope_of_a_named_lifetime_nests_jobs() {
    let ran = AtomicUsize::new(0);
    scope_with(&List::default(), (), |s| {
        s.execute_with(|s| {
            ran.fetch_add(1, SeqCst);
            s.execute_with(|_| _ = ran.fetch_add(1, SeqCst));
        });
    });
    assert_eq!(ran.load(SeqCst), 2);
}

#[test]
fn a_scope_sends_each_worker_a_job_with_shared_data() {
    let pool = List { workers: 3, ..List::default() };
    let (ran, shared) = (AtomicUsize::new(0), Arc::new(()));
    scope_with(&pool, 7, |s| {
        let kept = shared.clone();
        s.broadcast_with(|s| {
            ran.fetch_add(*s.value(), SeqCst);
            // The scope is that of the jobs.
            s.execute_with(|s| _ = ran.fetch_add(100 * s.value(), SeqCst));
        });
        s.broadcast_with(move |_| assert_eq!(*kept, ()));
    });
    assert_eq!(ran.into_inner(), 3 * 707);
    assert_eq!(Arc::strong_count(&shared), 1, "the closure has been dropped");
    let panicked = || {
        scope_with(&pool, (), |s| {
            s.broadcast_with(|_| panic::resume_unwind(Box::new("a share's")));
        });
    };
    assert_eq!(caught(panicked), Some("a share's"));
}

#[test]
fn a_job_with_a_handle_ends_like_its_closure() {
    let ended = |body: &dyn Fn(&List)| {
        let pool = List { waits: Some(|pool, _| pool.run_one()), ..List::default() };
        drop(panic::catch_unwind(AssertUnwindSafe(|| body(&pool))));
        let lost = pool.lost.load(SeqCst);
        (pool.ended.into_inner().unwrap(), lost)
    };
    let fails = || panic::resume_unwind(Box::new("the job's"));
    // By the pool, before its handle is asked; and the other way round.
    let early = |pool: &List| {
        scope(pool, |s| {
            let jobs = [s.submit(fails), s.submit(fails)];
            pool.run_one();
            jobs.into_iter().rev().for_each(|job| assert!(job.join().is_err()));
        });
    };
    let first_by_pool = vec![Outcome::Panicked, Outcome::Panicked, Outcome::Stale];
    assert_eq!(ended(&early), (first_by_pool, 0));
    let good = |pool: &List| scope(pool, |s| s.submit(|| 1).join().map(drop).unwrap());
    assert_eq!(ended(&good), (vec![Outcome::Returned, Outcome::Stale], 0));
    // While the handle runs the closure.
    let beside = |pool: &List| {
        scope(pool, |s| {
            let job = s.submit(|| {
                pool.run_one();
                fails()
            });
            assert!(job.join().is_err());
        });
    };
    assert_eq!(ended(&beside), (vec![Outcome::Stale, Outcome::Panicked], 0));
    // The scope has one, and drops the next, which has been counted, and then that of the body.
    let late = |pool: &List| {
        scope(pool, |s| {
            let jobs = [s.submit(fails), s.submit(fails)];
            (0..2).for_each(|_| pool.run_one());
            drop(jobs);
            fails();
        });
    };
    assert_eq!(ended(&late), (vec![Outcome::Panicked; 2], 1));
}

#[test]
fn a_scoped_futures_panic_is_held() {
    let list = List::default();
    scope(&list, |s| {
        let failed = s.spawn(async { panic::resume_unwind(Box::new("the future's")) });
        let poll = || _ = list.poll(Waker::noop());
        let payload = panic::catch_unwind(AssertUnwindSafe(poll)).unwrap_err();
        assert!(payload.is::<HeldPanic>());
        let result: Result<(), _> = failed.join();
        assert_eq!(result.unwrap_err().panic_message(), Some("the future's"));
    });
}

#[test]
fn the_second_panic_of_a_fork_is_counted() {
    struct Counting(Deque, AtomicUsize);
    impl Forks for Counting {
        type Deque = RefCell<Vec<Part>>;

        fn push(&self, part: Part) {
            self.0.push(part);
        }

        fn deque(&self) -> &Self::Deque {
            self.0.deque()
        }

        fn take_back(&self) -> Option<Part> {
            self.0.take_back()
        }

        fn wait(&self, wait: Wait<'_>) {
            self.0.wait(wait);
        }

        fn count_panic(&self) {
            self.1.fetch_add(1, SeqCst);
        }
    }
    let fails = || panic::resume_unwind(Box::new("the first's"));
    for deque in [Deque::default, || Deque::of(run)] {
        let deque = Counting(deque(), AtomicUsize::new(0));
        assert_eq!(caught(|| join(&deque, fails, || ())), Some("the first's"));
        assert_eq!(caught(|| join(&deque, || (), fails)), Some("the first's"));
        assert_eq!(deque.1.load(SeqCst), 0);
        assert_eq!(caught(|| join(&deque, fails, fails)), Some("the first's"));
        assert_eq!(deque.1.load(SeqCst), 1);
    }
}

/// Runs all jobs, and returns the tickets that its thread keeps when there is none left, as a worker does.
fn return_tickets_last(pool: &List, wait: Wait<'_>) {
    while !pool.parts.lock().unwrap().is_empty() {
        pool.run_next();
    }
    assert!(!wait.is_set(), "the thread keeps tickets of its jobs");
    assert_eq!(pool.returns.fetch_add(1, SeqCst), 0, "they were all that was left");
    assert!(wait.is_over());
}

#[test]
fn a_scope_ends_after_its_threads_kept_tickets() {
    let pool = List { waits: Some(return_tickets_last), ..List::default() };
    let ran = AtomicUsize::new(0);
    scope(&pool, |s| {
        // More than a worker takes at once, and each adds another.
        for _ in 0..100 {
            s.execute_with(|s| {
                ran.fetch_add(1, SeqCst);
                s.execute(|| _ = ran.fetch_add(1, SeqCst));
            });
        }
    });
    assert_eq!((ran.into_inner(), pool.returns.into_inner()), (200, 1));
}

/// Sleeps until other threads have run the scope.
fn sleep_until_others_have_run(pool: &List, wait: Wait<'_>) {
    let (counter, waker) = counter(false);
    assert!(wait.register(waker));
    let take = || pool.parts.lock().unwrap().pop();
    let run_all = || {
        while let Some(part) = take() {
            part.into_job().run();
        }
    };
    std::thread::scope(|t| (0..2).for_each(|_| _ = t.spawn(run_all)));
    assert!(wait.is_over());
    assert_eq!(counter.wakes.load(SeqCst), 1);
}

#[test]
fn a_scope_wakes_its_caller_once_for_all_jobs() {
    let ran = AtomicUsize::new(0);
    let pool = List { waits: Some(sleep_until_others_have_run), ..List::default() };
    scope(&pool, |s| {
        for _ in 0..20 {
            s.execute_with(|s| {
                ran.fetch_add(1, SeqCst);
                s.execute(|| _ = ran.fetch_add(1, SeqCst));
            });
        }
    });
    assert_eq!(ran.into_inner(), 40);
}
