//! A job that its submitter runs for lack of room: by policy, or because a worker must not wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brigade::{Handle, OnPanic, Pool, Reason, Shutdown, WhenFull, block_on};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest, fill, full};
use brigade_testkit::panics;
use brigade_testkit::{Gate, Seed, Watchdog, eventually, spin_for};

/// The policies by which a worker runs the job itself.
const RUN_INSIDE: [WhenFull; 3] =
    [WhenFull::Block, WhenFull::BlockFor(Duration::MAX), WhenFull::RunInCaller];

#[test]
fn a_job_that_would_wait_for_its_own_pool_runs_the_new_one_itself() {
    let _dog = Watchdog::start(20);
    for policy in RUN_INSIDE {
        for_both_queueings(|builder| {
            let builder = builder.threads(1).capacity(1).when_full(policy);
            let pool = builder.build().unwrap();
            let parent = pool.submit(|| {
                let (here, ran) = (Handle::current().unwrap(), Arc::new(AtomicUsize::new(0)));
                here.execute(|| ());
                for _ in 0..10 {
                    let ran = ran.clone();
                    here.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
                }
                assert_eq!(ran.load(Ordering::Relaxed), 10, "each right where it was submitted");
                let place = || (thread::current().id(), Handle::current());
                let child = here.submit(place);
                assert!(child.is_finished());
                assert_eq!(child.join().unwrap(), place());
            });
            parent.join().unwrap();
            assert_eq!(at_rest(&pool), [13, 13, 0, 0, 0], "{policy:?}");
        });
    }
}

#[test]
fn what_waits_for_a_while_or_without_a_thread_runs_inside_too_whatever_the_policy() {
    let _dog = Watchdog::start(20);
    for policy in POLICIES {
        let builder = Pool::builder().threads(1).capacity(1).when_full(policy);
        let pool = builder.build().unwrap();
        let parent = pool.submit(|| {
            let here = Handle::current().unwrap();
            here.execute(|| ());
            let nap = Duration::from_nanos(1);
            let ran = Arc::new(AtomicUsize::new(0));
            let job = || {
                let ran = ran.clone();
                move || _ = ran.fetch_add(1, Ordering::Relaxed)
            };
            here.job().when_full(WhenFull::BlockFor(nap)).execute(job()).unwrap();
            assert!(
                here.job()
                    .when_full(WhenFull::BlockFor(Duration::MAX))
                    .submit(job())
                    .unwrap()
                    .is_finished()
            );
            let room = || block_on(here.job().reserve()).unwrap();
            room().execute(job()).unwrap();
            assert!(room().submit(job()).unwrap().is_finished());
            assert_eq!(ran.load(Ordering::Relaxed), 4);
            let now_or_never = here
                .job()
                .when_full(WhenFull::BlockFor(Duration::ZERO))
                .execute(job())
                .unwrap_err();
            now_or_never.reason()
        });
        assert_eq!(parent.join().unwrap(), Reason::Full, "{policy:?}");
        assert_eq!(at_rest(&pool), [6, 6, 0, 0, 0]);
    }
}

#[test]
fn with_run_in_caller_a_full_pool_makes_the_submitter_work() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = full(builder, 2, WhenFull::RunInCaller);
        // What the job spawns belongs to its pool.
        let here = (thread::current().id(), Some(pool.handle()));
        let place = || (thread::current().id(), Handle::current());
        let handle = pool.submit(place);
        assert!(handle.is_finished());
        assert_eq!(handle.join().unwrap(), here);
        assert_eq!(pool.handle().submit(place).join().unwrap(), here);
        let (sender, ran) = mpsc::channel();
        pool.job()
            .execute_batch((0..5).map(|number| {
                let sender = sender.clone();
                move || sender.send(number).unwrap()
            }))
            .unwrap();
        assert!(ran.try_iter().eq(0..5));
        let other = Pool::new(1);
        let (inner, reached) = (other.handle(), Arc::new(AtomicUsize::new(0)));
        let reaches = reached.clone();
        // The job that runs here may submit elsewhere, and here again.
        let again = pool.handle();
        pool.execute(move || {
            again.execute(move || _ = reaches.fetch_add(1, Ordering::Relaxed));
            inner.execute(|| ());
        });
        assert_eq!(reached.load(Ordering::Relaxed), 1);
        gate.open();
        assert_eq!(at_rest(&pool), [12, 12, 0, 0, 0]);
        assert_eq!(at_rest(&other)[1], 1);
    });
}

#[test]
fn a_job_that_the_submitter_runs_counts_as_running_meanwhile() {
    let _dog = Watchdog::start(20);
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let pool = Arc::new(pool);
    let inside = pool.clone();
    let seen = pool.submit(move || inside.metrics());
    let seen = seen.join().unwrap();
    assert_eq!((seen.accepted, seen.running, seen.queued, seen.returned), (3, 2, 1, 0));
    gate.open();
    assert_eq!(at_rest(&pool), [3, 3, 0, 0, 0]);
}

#[test]
fn a_job_that_a_worker_runs_for_want_of_room_counts_at_once() {
    let _dog = Watchdog::start(20);
    for policy in RUN_INSIDE {
        let builder = Pool::builder().threads(1).capacity(1).when_full(policy);
        let pool = Arc::new(builder.build().unwrap());
        let inside = pool.clone();
        let seen = pool.submit(move || {
            (0..11).for_each(|_| inside.execute(|| ()));
            let again = inside.clone();
            inside.submit(move || again.metrics()).join().unwrap()
        });
        let seen = seen.join().unwrap();
        assert_eq!((seen.accepted, seen.running, seen.queued, seen.returned), (13, 2, 1, 10));
        assert_eq!(at_rest(&pool), [13, 13, 0, 0, 0], "{policy:?}");
    }
}

#[test]
fn a_panic_of_a_job_that_its_submitter_runs_is_the_jobs() {
    let _dog = Watchdog::start(20);
    panics::silence_expected();
    for policy in RUN_INSIDE {
        let heard = Arc::new(AtomicUsize::new(0));
        let hears = heard.clone();
        let callback = OnPanic::Call(Arc::new(move |_| {
            hears.fetch_add(1, Ordering::Relaxed);
            panic!("expected: the callback's own");
        }));
        let builder = Pool::builder().threads(1).capacity(1).when_full(policy).on_panic(callback);
        let pool = builder.build().unwrap();
        let panics = |here: Handle| {
            here.execute(|| panic!("expected: detached"));
            let joined = here.submit(|| panic!("expected: joined"));
            let joined: Result<(), _> = joined.join();
            assert_eq!(joined.unwrap_err().panic_message(), Some("expected: joined"));
        };
        let parent = pool.submit(move || {
            let here = Handle::current().unwrap();
            here.execute(|| ());
            panics(here);
        });
        parent.join().unwrap();
        pool.wait_idle();
        let mut expected = 1;
        if policy == WhenFull::RunInCaller {
            let gate = Gate::closed();
            occupy(&pool, &gate);
            assert_eq!(fill(&pool), 1);
            panics(pool.handle());
            gate.open();
            expected = 2;
            assert_eq!(at_rest(&pool), [8, 4, 4, 0, 0]);
        } else {
            assert_eq!(at_rest(&pool), [4, 2, 2, 0, 0]);
        }
        assert_eq!(heard.load(Ordering::Relaxed), expected, "{policy:?}");
    }
}

#[test]
fn with_run_in_caller_nothing_runs_in_the_caller_once_the_pool_is_closed() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = full(builder, 1, WhenFull::RunInCaller);
        let handle = pool.handle();
        let closing = thread::spawn(move || pool.shutdown(Shutdown::Drain));
        eventually("the pool closes", || handle.metrics().is_closed);
        for _ in 0..100 {
            assert_eq!(
                handle.job().execute(|| unreachable!()).unwrap_err().reason(),
                Reason::Closed
            );
        }
        gate.open();
        assert_eq!(closing.join().unwrap().ran, 2);
    });
}

/// A job that its submitter runs until the gate opens; whether it has ended, and the submitter.
fn runs_in_its_submitter(pool: &Pool, gate: &Gate) -> (Arc<AtomicBool>, JoinHandle<()>) {
    let (handle, begun, held) = (pool.handle(), Gate::closed(), gate.clone());
    let ended = Arc::new(AtomicBool::new(false));
    let (begins, ends) = (begun.clone(), ended.clone());
    let submits = thread::spawn(move || {
        let job = move || {
            begins.open();
            held.wait();
            ends.store(true, Ordering::SeqCst);
        };
        handle.execute(job);
    });
    begun.wait();
    (ended, submits)
}

#[test]
fn a_wait_waits_for_a_job_that_its_submitter_runs() {
    let _dog = Watchdog::start(20);
    let (pool, busy) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let gate = Gate::closed();
    let (ended, submits) = runs_in_its_submitter(&pool, &gate);
    busy.open();
    thread::scope(|scope| {
        scope.spawn(|| {
            eventually("nothing else runs", || pool.metrics().idle_threads == 1);
            assert!(!pool.wait_idle_timeout(Duration::ZERO));
            gate.open();
        });
        assert!(pool.wait_idle());
        assert!(ended.load(Ordering::SeqCst), "the wait has come back too early");
    });
    submits.join().unwrap();
}

#[test]
fn a_shutdown_waits_for_a_job_that_its_submitter_runs() {
    let _dog = Watchdog::start(20);
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let (pool, busy) = full(Pool::builder(), 1, WhenFull::RunInCaller);
        let (gate, handle) = (Gate::closed(), pool.handle());
        let (ended, submits) = runs_in_its_submitter(&pool, &gate);
        busy.open();
        let opens = thread::spawn(move || {
            eventually("the pool is being shut down", || handle.metrics().is_closed);
            gate.open();
        });
        let report = pool.shutdown(how);
        assert_eq!((report.still_running, ended.load(Ordering::SeqCst)), (0, true), "{how:?}");
        opens.join().unwrap();
        submits.join().unwrap();
    }
}

/// Its submitter may have been told to run it, and not have begun, when the pool ends.
#[test]
fn no_job_runs_in_its_submitter_after_the_pool_has_been_dropped() {
    let _dog = Watchdog::start(120);
    let mut seed = Seed::printed();
    for _ in 0..300 {
        let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
        let (handle, is_over) = (pool.handle(), Arc::new(AtomicBool::new(false)));
        let (over, delay) = (is_over.clone(), seed.micros(30));
        let submits = thread::spawn(move || {
            spin_for(delay);
            let mut late = false;
            let (told, tells) = mpsc::channel();
            let job = move || told.send(over.load(Ordering::SeqCst)).unwrap();
            if handle.job().execute(job).is_ok() {
                late = tells.recv().unwrap();
            }
            late
        });
        gate.open();
        spin_for(seed.micros(30));
        drop(pool);
        is_over.store(true, Ordering::SeqCst);
        assert!(!submits.join().unwrap(), "it ran after the pool had ended");
    }
}
