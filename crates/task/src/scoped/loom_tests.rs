//! Models of latches, forks, scopes and parcels; `ci/loom.sh` runs them.
//!
//! The pool is a lock around a list: it orders more than a deque, so each model has what a fork shares in cells that loom tracks.
//! An owner that leaves writes to its latch's slot first, as the next frame there would: loom fails a model in which the other
//! side still reads it.

#![allow(clippy::disallowed_types, reason = "counters outside the model")]

use core::future::{Future, pending};
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use core::task::{Context, Poll, Waker};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Wake;

use brigade_sync::OwnerEnd;
use brigade_sync::cell::UnsafeCell;
use brigade_sync::model::{check, turn};
use brigade_sync::{Mutex, Parker};
use loom::thread;

use super::latch::Latch;
use super::*;
use crate::error::JoinError;
use crate::{Cause, Job, JoinHandle, Outcome};

mod tickets;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A number that jobs write and the thread that waits for them reads, without a lock.
struct Place(UnsafeCell<u32>);

// SAFETY: loom fails a model in which two threads access it at once.
unsafe impl Sync for Place {}
// SAFETY: as above.
unsafe impl Send for Place {}

impl Place {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self, number: u32) -> u32 {
        // SAFETY: checked by loom.
        self.0.with_mut(|place| unsafe {
            *place += number;
            *place
        })
    }
}

/// Wakes a thread, and can be told from another waker.
#[derive(Default)]
struct Parked {
    parker: Parker,
    wakes: core::sync::atomic::AtomicUsize,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Relaxed);
        self.parker.unpark();
    }
}

impl Parked {
    fn waker(self: &Arc<Self>) -> Waker {
        self.clone().into()
    }
}

/// A latch on a stack that its owner leaves.
struct Owned(*mut Latch);

// SAFETY: the models move it to the thread that sets it.
unsafe impl Send for Owned {}

impl Owned {
    /// Creates a latch, the owner's reference to it, and the setter's.
    fn pair() -> (Self, Self) {
        let latch = Box::into_raw(Box::new(Latch::new()));
        (Self(latch), Self(latch))
    }

    fn latch(&self) -> &Latch {
        // SAFETY: the owner has not left.
        unsafe { &*self.0 }
    }

    fn set(self, done: bool) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            let this = self;
            turn();
            // SAFETY: Latch rule: the owner waits for this.
            unsafe { Latch::set(this.0, done) };
        })
    }

    /// Leaves the stack.
    fn leave(self) {
        self.latch().overwrite();
        // SAFETY: it came from a box, and nothing uses it any more: that is what the models show.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

fn wait_parked(latch: &Latch, parked: &Arc<Parked>) {
    while !latch.is_set() {
        parked.parker.park(None);
    }
}

/// Caught: the last state before the waker is taken; a waker that is left; any ordering of `set` or `register` with Relaxed.
#[test]
fn a_registering_owner_is_woken_and_leaves() {
    check(4, || {
        let (owner, setter) = Owned::pair();
        let setter = setter.set(true);
        let parked = Arc::new(Parked::default());
        turn();
        if owner.latch().register(parked.waker()) {
            wait_parked(owner.latch(), &parked);
        }
        assert!(owner.latch().is_set() && !owner.latch().has_returned_work());
        owner.leave();
        setter.join().unwrap();
        assert_eq!(Arc::strong_count(&parked), 1, "the waker is dropped once");
    });
}

/// Caught: an owner that does not wait while its waker is taken.
#[test]
fn the_last_waker_wakes_an_owner_registered_twice() {
    check(4, || {
        let (owner, setter) = Owned::pair();
        let setter = setter.set(false);
        let parked = [(); 2].map(|()| Arc::new(Parked::default()));
        turn();
        let registered = parked.iter().all(|parked| {
            turn();
            owner.latch().register(parked.waker())
        });
        if registered {
            wait_parked(owner.latch(), &parked[1]);
        }
        assert!(owner.latch().has_returned_work());
        owner.leave();
        setter.join().unwrap();
        assert_eq!(parked.map(|parked| Arc::strong_count(&parked)), [1, 1]);
    });
}

/// Caught: `is_set` with Relaxed; the last store with Relaxed.
#[test]
fn a_looking_owner_leaves_at_the_end() {
    check(4, || {
        let (owner, setter) = Owned::pair();
        let setter = setter.set(true);
        let parked = Arc::new(Parked::default());
        turn();
        let _ = owner.latch().register(parked.waker());
        while !owner.latch().is_set() {
            brigade_sync::hint::spin_loop();
        }
        owner.leave();
        setter.join().unwrap();
    });
}

/// A pool whose threads are the models'.
struct Pool {
    parts: Mutex<Vec<Part>>,
    futures: Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// The outcomes that have been counted.
    ended: AtomicUsize,
}

impl Pool {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            parts: Mutex::new(Vec::new()),
            futures: Mutex::new(Vec::new()),
            ended: AtomicUsize::new(0),
        })
    }

    /// Takes the oldest part.
    fn steal(&self) -> Option<Part> {
        turn();
        let mut parts = self.parts.lock();
        (!parts.is_empty()).then(|| parts.remove(0))
    }

    /// A thread that takes parts and does that with them.
    fn thief(self: &Arc<Self>, most: usize, act: fn(Part)) -> thread::JoinHandle<()> {
        let pool = self.clone();
        thread::spawn(move || {
            for _ in 0..most {
                pool.steal().into_iter().for_each(act);
            }
        })
    }

    fn sleep(wait: Wait<'_>) {
        let parked = Arc::new(Parked::default());
        if wait.register(parked.waker()) {
            parked.parker.park(None);
        }
    }
}

fn run(part: Part) {
    part.into_job().run();
}

// SAFETY: a forgotten part is no longer in the vector.
unsafe impl OwnerEnd<Part> for Pool {
    unsafe fn forget_newest_if(&self, is: impl FnOnce(&Part) -> bool) -> bool {
        turn();
        let mut parts = self.parts.lock();
        let newest = if parts.last().is_some_and(is) { parts.pop() } else { None };
        newest.map(core::mem::forget).is_some()
    }
}

impl Forks for Arc<Pool> {
    type Deque = Pool;

    fn push(&self, part: Part) {
        turn();
        self.parts.lock().push(part);
    }

    fn deque(&self) -> &Pool {
        self
    }

    fn take_back(&self) -> Option<Part> {
        turn();
        self.parts.lock().pop()
    }

    fn wait(&self, wait: Wait<'_>) {
        Pool::sleep(wait);
    }
}

impl Scopes for Pool {
    fn execute(&self, part: Part) {
        turn();
        self.parts.lock().push(part);
    }

    fn spawn(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send>>,
        _: &mut dyn FnMut(Job) -> Part,
    ) -> Option<JoinHandle<()>> {
        turn();
        self.futures.lock().push(future);
        None
    }

    fn wait(&self, wait: Wait<'_>) {
        // The waiting thread runs what is left, and sleeps if there is nothing.
        match self.steal() {
            Some(part) => self.count(part.into_job().run()),
            None => Self::sleep(wait),
        }
    }

    fn run_here(&self, run: &mut dyn FnMut() -> Option<Outcome>) {
        run().into_iter().for_each(|outcome| self.count(outcome));
    }
}

impl Pool {
    fn count(&self, outcome: Outcome) {
        self.ended.fetch_add(usize::from(outcome != Outcome::Stale), Relaxed);
    }
}

/// A join beside a thief that does `act` with the fork.
fn join_beside(act: fn(Part)) {
    check(4, move || {
        let pool = Pool::new();
        let thief = pool.thief(1, act);
        let (ours, theirs) = (Place::new(), Place::new());
        let both = join(&pool, || ours.add(1), || theirs.add(2));
        assert_eq!((both, ours.add(1), theirs.add(2)), ((1, 2), 2, 4));
        drop((ours, theirs));
        thief.join().unwrap();
        assert!(pool.parts.lock().is_empty());
    });
}

/// Caught: an owner that takes the work of a part that it did not find.
#[test]
fn a_fork_runs_once_on_owner_or_thief() {
    join_beside(run);
}

/// Caught: a part that is dropped as if it was run.
#[test]
fn the_owner_runs_a_fork_dropped_by_a_thief() {
    join_beside(drop);
}

/// Both sides nest: a thief of the outer fork meets the inner one.
#[test]
fn nested_forks_are_run_once_each() {
    check(2, || {
        let pool = Pool::new();
        let thief = pool.thief(2, run);
        let place = [(); 3].map(|()| Place::new());
        let ([a, b], c) = {
            let inner = || {
                let (a, b) = join(&pool, || place[0].add(1), || place[1].add(2));
                [a, b]
            };
            join(&pool, inner, || place[2].add(3))
        };
        assert_eq!([a, b, c], [1, 2, 3]);
        thief.join().unwrap();
    });
}

#[test]
fn a_panic_of_the_fork_reaches_its_owner() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, run);
        let place = Place::new();
        let fork = || {
            place.add(1);
            panic::resume_unwind(Box::new("the fork's"))
        };
        let joined =
            panic::catch_unwind(AssertUnwindSafe(|| join::<_, _, _, _, ()>(&pool, || (), fork)));
        assert_eq!(joined.unwrap_err().downcast_ref(), Some(&"the fork's"));
        assert_eq!(place.add(1), 2);
        thief.join().unwrap();
    });
}

/// A join whose first closure panics, beside a thief that does `act` with the fork.
fn unwind_beside(act: fn(Part)) {
    check(3, move || {
        let pool = Pool::new();
        let thief = pool.thief(1, act);
        let (ours, theirs) = (Place::new(), Place::new());
        let call = || {
            ours.add(1);
            panic::resume_unwind(Box::new("the caller's"))
        };
        let both = || join::<_, _, _, (), _>(&pool, call, || theirs.add(2));
        let joined = panic::catch_unwind(AssertUnwindSafe(both));
        assert_eq!(joined.unwrap_err().downcast_ref(), Some(&"the caller's"));
        assert_eq!((ours.add(1), theirs.add(2)), (2, 4));
        drop((ours, theirs));
        thief.join().unwrap();
    });
}

/// Caught: a guard that takes the fork back, but does not wait for one that has been taken.
#[test]
fn a_panic_of_the_caller_waits_for_its_fork() {
    unwind_beside(run);
}

/// Caught: the same.
#[test]
fn a_panicking_caller_runs_a_fork_dropped_by_a_thief() {
    unwind_beside(drop);
}

#[test]
fn an_installed_call_is_run_or_comes_back() {
    for act in [run as fn(Part), drop] {
        check(4, move || {
            let place = Place::new();
            let mut thief = None;
            let installed = install(
                || place.add(1),
                |job| {
                    thief = Some(thread::spawn(move || {
                        turn();
                        // SAFETY: Part rule: the job is that of a fork.
                        act(unsafe { Part::new(job) });
                    }));
                    turn();
                    Ok(())
                },
                Pool::sleep,
            );
            match installed {
                Ok(result) => assert_eq!(result, 1),
                Err(call) => assert_eq!(call(), 1),
            }
            assert_eq!(place.add(1), 2);
            drop(place);
            thief.unwrap().join().unwrap();
        });
    }
}

/// Caught: a ticket that is given up before its closure has ended, or with Relaxed.
#[test]
fn a_scope_ends_after_its_jobs() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, run);
        let places = [Place::new(), Place::new()];
        scope(&*pool, |s| places.iter().for_each(|place| s.execute(|| _ = place.add(1))));
        assert!(places.iter().all(|place| place.add(1) == 2));
        drop(places);
        thief.join().unwrap();
    });
}

/// Caught: the body's ticket given up with Relaxed.
#[test]
fn a_scope_ends_after_its_jobs_jobs() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(2, run);
        let places = [Place::new(), Place::new()];
        scope(&*pool, |s| {
            s.execute(|| {
                places[0].add(1);
                s.execute(|| _ = places[1].add(1));
            });
        });
        assert!(places.iter().all(|place| place.add(1) == 2));
        drop(places);
        thief.join().unwrap();
    });
}

#[test]
fn a_scope_ends_after_its_jobs_are_dropped() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, drop);
        let place = Place::new();
        scope(&*pool, |s| s.execute(|| _ = place.add(1)));
        let seen = place.add(0);
        assert!(seen <= 1);
        drop(place);
        thief.join().unwrap();
    });
}

/// A cancel beside the first poll of a future that is never ready.
///
/// Caught: the flag set after the wakers are taken; a waker that is not listed.
#[test]
fn a_future_beside_a_cancel_is_dropped() {
    check(3, || {
        let pool = Pool::new();
        let poller = thread::spawn({
            let pool = pool.clone();
            move || {
                turn();
                let Some(mut future) = pool.futures.lock().pop() else { return };
                let parked = Arc::new(Parked::default());
                while let Poll::Pending =
                    future.as_mut().poll(&mut Context::from_waker(&parked.waker()))
                {
                    parked.parker.park(None);
                }
            }
        });
        let place = Place::new();
        let cancelled = scope(&*pool, |s| {
            let handle = s.spawn(async {
                let _borrows = &place;
                pending::<()>().await
            });
            turn();
            s.cancel();
            turn();
            // If the poller came too early.
            drop(pool.futures.lock().pop());
            handle.join()
        });
        assert!(matches!(cancelled, Err(JoinError::Cancelled(Cause::Asked))));
        assert_eq!(place.add(1), 1);
        poller.join().unwrap();
    });
}

/// A job and its handle: the result is the handle's, wherever the closure runs.
///
/// Caught: no latch set at the end.
#[test]
fn a_joined_job_runs_once() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, run);
        let place = Place::new();
        let result = scope(&*pool, |s| s.submit(|| place.add(1)).join());
        assert!(matches!(result, Ok(1)));
        assert_eq!(place.add(1), 2);
        thief.join().unwrap();
    });
}

/// The outcome is counted by the job, or by the handle, which runs the closure beside the end of its job.
///
/// Caught: a handle that counts none; a job that counts its own end.
#[test]
fn a_joined_jobs_outcome_is_counted_once() {
    check(3, || {
        let pool = Pool::new();
        let beside = pool.clone();
        let thief = thread::spawn(move || {
            let count = |part: Part| beside.count(part.into_job().run());
            beside.steal().into_iter().for_each(count);
        });
        assert_eq!(scope(&*pool, |s| s.submit(|| 1).join()).unwrap(), 1);
        thief.join().unwrap();
        assert_eq!(pool.ended.load(Relaxed), 1);
    });
}

/// Caught: a runner that is dropped and delivers nothing.
#[test]
fn a_joined_job_runs_or_its_drop_cancels_it() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, drop);
        let place = Place::new();
        let result = scope(&*pool, |s| s.submit(|| place.add(1)).join());
        match result {
            Ok(1) => assert_eq!(place.add(1), 2),
            Err(JoinError::Cancelled(Cause::Ended)) => assert_eq!(place.add(1), 1),
            other => panic!("{other:?}"),
        }
        thief.join().unwrap();
    });
}

/// A handle that is dropped beside the end of its job: one side drops the result.
#[test]
fn a_handleless_jobs_result_drops_once() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, run);
        let result = Arc::new(());
        scope(&*pool, |s| {
            let handle = s.submit(|| result.clone());
            turn();
            drop(handle);
        });
        assert_eq!(Arc::strong_count(&result), 1);
        thief.join().unwrap();
    });
}

/// A cancel of the scope beside the start of a job.
#[test]
fn a_cancelled_job_runs_or_is_dropped() {
    check(3, || {
        let pool = Pool::new();
        let thief = pool.thief(1, run);
        let place = Place::new();
        let result = scope(&*pool, |s| {
            let handle = s.submit(|| place.add(1));
            turn();
            s.cancel();
            handle.join()
        });
        assert_eq!(place.add(1), if result.is_ok() { 2 } else { 1 });
        thief.join().unwrap();
    });
}
