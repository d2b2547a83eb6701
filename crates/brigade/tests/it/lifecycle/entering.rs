//! Threads that have entered a pool: what they submit, and their timers and I/O, belong to it.

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use brigade::time::{Sleep, sleep};
use brigade::{Handle, Pool, Reason, Scope, TaskSet, block_on};
use brigade_testkit::test;

const SOON: Duration = Duration::from_millis(1);

fn current() -> Option<Handle> {
    Handle::current()
}

/// The pools that free functions of every kind submit to from here.
fn reached() -> Vec<Option<Handle>> {
    let (told, tells) = mpsc::channel();
    let tell = || {
        let told = told.clone();
        move || told.send(current()).unwrap()
    };
    brigade::execute(tell());
    brigade::try_execute(tell()).unwrap();
    let _at_once = brigade::execute_after(Duration::ZERO, tell());
    let mut reached: Vec<_> = (0..3).map(|_| tells.recv().unwrap()).collect();
    let every = brigade::execute_every(SOON, tell());
    reached.push(tells.recv().unwrap());
    every.cancel();
    let jobs = [
        brigade::submit(current),
        brigade::try_submit(current).unwrap(),
        brigade::spawn(async { current() }),
        brigade::try_spawn(async { current() }).unwrap(),
        brigade::submit_after(SOON, current),
        brigade::job().name("entered").submit(current).unwrap(),
    ];
    reached.extend(jobs.into_iter().map(|job| job.join().unwrap()));
    reached
}

fn assert_is_inside(pool: Handle) {
    assert_eq!(current(), Some(pool));
    assert!(reached().into_iter().all(|reached| reached == Some(pool)));
}

#[test]
fn an_entered_threads_submissions_go_to_the_pool() {
    let pool = Pool::new(2);
    assert_eq!(current(), None);
    let answer = pool.enter(|| {
        assert_is_inside(pool.handle());
        42
    });
    assert_eq!((answer, current()), (42, None));
    pool.block_on(async { assert_is_inside(pool.handle()) });
    assert_eq!(current(), None);
}

/// It has a thread only for the timer.
#[test]
fn timers_inside_belong_to_the_pool() {
    let poll = |mut far: Sleep| {
        assert!(Pin::new(&mut far).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        far
    };
    let far = Duration::from_secs(3600);
    let polls: [&dyn Fn(&Pool) -> Sleep; 2] = [&|pool| pool.enter(|| poll(sleep(far))), &|pool| {
        pool.block_on(async { (poll(sleep(far)), ()) }).0
    }];
    for poll in polls {
        let pool = Pool::builder().threads(0..=1).build().unwrap();
        assert_eq!(pool.metrics().threads, 0);
        let sleeps = poll(&pool);
        assert_eq!(pool.metrics().threads, 1, "another pool keeps the time");
        drop(sleeps);
        pool.enter(|| block_on(sleep(SOON)));
        pool.block_on(sleep(SOON));
        pool.block_on(async {
            sleep(SOON).await;
            sleep(SOON).await;
        });
    }
}

#[cfg(all(feature = "io", unix))]
#[test]
fn io_inside_belongs_to_the_pool() {
    use brigade::io::pipe;
    let (pool, other) = (Pool::new(1), Pool::new(1));
    let inside =
        |gone: &Handle| gone.enter(pipe).is_err() && gone.block_on(async { pipe().is_err() });
    let gone = other.handle();
    drop(other);
    assert!(inside(&gone), "another pool's driver was taken");
    assert!(pool.enter(pipe).is_ok() && pool.block_on(async { pipe().is_ok() }));
    let nested = gone.enter(|| (pool.enter(pipe).is_ok(), pipe().is_err()));
    assert_eq!(nested, (true, true));
}

#[test]
fn a_left_pool_restores_the_one_before() {
    let (outer, inner) = (Pool::new(1), Pool::new(1));
    outer.enter(|| {
        inner.enter(|| assert_is_inside(inner.handle()));
        assert_is_inside(outer.handle());
        let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
            inner.enter(|| panic!("expected: inside"));
        }));
        assert!(unwound.is_err());
        assert_is_inside(outer.handle());
        inner.block_on(async {
            assert_is_inside(inner.handle());
            outer.enter(|| assert_is_inside(outer.handle()));
            assert_is_inside(inner.handle());
        });
        assert_is_inside(outer.handle());
    });
    assert_eq!(current(), None);
}

#[test]
fn a_worker_inside_another_pool_stays_until_it_leaves() {
    let (pool, other) = (Pool::new(2), Pool::new(2));
    let (own, there) = (pool.handle(), other.handle());
    let job = pool.submit(move || {
        assert_is_inside(own);
        there.enter(|| assert_is_inside(there));
        assert_is_inside(own);
        there.block_on(async { assert_is_inside(there) });
        assert_is_inside(own);
    });
    job.join().unwrap();
    let future = pool.spawn(async move {
        brigade::yield_now().await;
        there.enter(|| assert_is_inside(there));
        brigade::yield_now().await;
        assert_eq!(current(), Some(own));
    });
    future.join().unwrap();
}

/// A closure runs on the stack of the job that has entered another, as that is on the only thread.
#[test]
fn a_job_run_inside_is_in_its_own_pool() {
    let (pool, other) = (Pool::new(1), Pool::new(1));
    let (own, there) = (pool.handle(), other.handle());
    let outer = pool.submit(move || {
        there.enter(|| {
            let here = thread::current().id();
            let inside = own.submit(move || {
                assert_eq!(thread::current().id(), here);
                let child = brigade::submit(current);
                (current(), child.join().unwrap())
            });
            assert_eq!(inside.join().unwrap(), (Some(own), Some(own)));
            assert_eq!(current(), Some(there));
            let mut set = TaskSet::new(own);
            set.submit(current);
            set.spawn(async { current() });
            assert!(set.outcomes().all(|pool| pool.unwrap() == Some(own)));
            assert_eq!(current(), Some(there));
            let future = own.spawn(async { current() });
            assert_eq!(future.join().unwrap(), Some(own));
            assert_eq!(current(), Some(there));
        });
    });
    outer.join().unwrap();
}

#[cfg(all(feature = "io", unix))]
#[test]
fn io_of_a_job_run_inside_is_its_own_pools() {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let (own, gone) = (pool.handle(), Pool::new(1).handle());
    let outer = pool.submit(move || {
        gone.enter(|| {
            let inside = own.submit(|| brigade::io::pipe().is_ok());
            (inside.join().unwrap(), brigade::io::pipe().is_err())
        })
    });
    assert_eq!(outer.join().unwrap(), (true, true));
}

#[test]
fn a_thread_started_inside_is_not_inside() {
    let pool = Pool::new(1);
    let outside = pool.enter(|| thread::spawn(current).join().unwrap());
    assert_eq!(outside, None);
    let job = Pool::new(1).submit(current);
    let other = pool.enter(|| job.join().unwrap());
    assert_ne!(other, Some(pool.handle()));
}

#[test]
fn a_closed_entered_pool_rejects_everything() {
    let closed = Pool::new(1);
    closed.close();
    let gone = Pool::new(1).handle();
    for pool in [closed.handle(), gone] {
        pool.enter(|| {
            assert_eq!(current(), Some(pool));
            assert_eq!(brigade::try_spawn(async {}).unwrap_err().reason(), Reason::Closed);
            assert_eq!(brigade::try_execute(|| ()).unwrap_err().reason(), Reason::Closed);
            assert_eq!(brigade::try_submit(|| ()).unwrap_err().reason(), Reason::Closed);
            let later = brigade::job().after(SOON).execute(|| ()).unwrap_err();
            assert_eq!(later.reason(), Reason::Closed);
        });
        assert_eq!(current(), None);
        assert!(pool.block_on(async { brigade::try_spawn(async {}).is_err() }));
    }
}

fn assert_jobs_are_inside<'scope>(s: &'scope Scope<'scope, '_>, pool: Handle) {
    let is_inside = move || {
        assert_eq!(current(), Some(pool));
        assert_eq!(brigade::submit(current).join().unwrap(), Some(pool));
    };
    s.execute(is_inside);
    s.submit(is_inside).join().unwrap();
    s.spawn(async move { is_inside() }).join().unwrap();
}

/// Caught: a body on the pool's own worker was inside the pool that this had entered, and so was a joined job of a scope that was
/// opened outside.
#[test]
fn borrowing_calls_are_inside_their_pool() {
    let (pool, other) = (Pool::new(2), Pool::new(2));
    let (own, there) = (pool.handle(), other.handle());
    let borrow = move || {
        let before = current();
        own.install(|| assert_is_inside(own)).unwrap();
        own.scope(|s| {
            assert_is_inside(own);
            assert_jobs_are_inside(s, own);
        })
        .unwrap();
        own.in_place_scope(|s| assert_jobs_are_inside(s, own)).unwrap();
        let joined = own.in_place_scope(|s| there.enter(|| s.submit(current).join().unwrap()));
        assert_eq!(joined, Ok(Some(own)));
        assert_eq!(current(), before);
    };
    borrow();
    there.enter(borrow);
    other.submit(borrow).join().unwrap();
    pool.submit(borrow).join().unwrap();
    pool.submit(move || there.enter(borrow)).join().unwrap();
}

/// Caught: the free `in_place_scope` was of the pool that the worker had entered.
#[test]
fn forks_inside_another_pool_go_to_their_own() {
    let (pool, other) = (Pool::builder().threads(2).name("own").build().unwrap(), Pool::new(2));
    let (own, there) = (pool.handle(), other.handle());
    let name = || thread::current().name().unwrap().to_owned();
    let job = pool.submit(move || {
        there.enter(|| {
            brigade::scope(|s| assert_jobs_are_inside(s, own));
            brigade::in_place_scope(|s| assert_jobs_are_inside(s, own));
            let (one, two) = brigade::join(name, name);
            assert!(one.starts_with("own") && two.starts_with("own"));
            assert_eq!(current(), Some(there));
        });
    });
    job.join().unwrap();
}
