//! When a pool gets threads: up to its core size with each submission, beyond it as its growth says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::soak::soak_time;
use crate::support::staging::running;
use brigade::{Builder, Growth, Pool, Reason};
use brigade_testkit::{Gate, Meeting, Watchdog, eventually, test};

const SHORT: Duration = Duration::from_millis(20);

/// With how many threads a pool begins, and how many it has after each of some jobs, before which all are idle.
#[test]
fn each_job_starts_a_thread_up_to_the_core() {
    let all = Some(usize::MAX);
    for (threads, prestart, expected) in [
        (1..=1, None, [1, 1, 1].as_slice()),
        (3..=3, None, &[1, 2, 3, 3]),
        (4..=6, None, &[1, 2, 3, 4, 4, 4]),
        (1..=3, None, &[1; 20]),
        (0..=4, None, &[0, 1, 1]),
        (2..=3, Some(0), &[0, 1, 2, 2]),
        (3..=3, all, &[3, 3]),
        (2..=5, all, &[2, 2]),
        (0..=2, all, &[0, 1]),
    ] {
        for_both_queueings(|builder| {
            let started = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&started);
            let builder = builder.threads(threads.clone()).spawner(move |thread| {
                counted.fetch_add(1, Ordering::SeqCst);
                thread.start()
            });
            let pool = prestart.into_iter().fold(builder, Builder::prestart).build().unwrap();
            let have = || (workers(&pool), started.load(Ordering::SeqCst));
            for (jobs, &count) in expected.iter().enumerate() {
                if jobs > 0 {
                    pool.submit(|| ()).join().unwrap();
                }
                assert_eq!(have(), (count, count), "{threads:?}, {prestart:?}, {jobs} jobs");
                await_idle_workers(&pool, count);
            }
            drop(pool);
            let started = started.load(Ordering::SeqCst);
            assert_eq!(Some(&started), expected.last(), "{threads:?}: an end starts no thread");
        });
    }
}

#[test]
fn a_lazy_pool_waits_for_a_job_or_a_prestart() {
    let lazy = || Pool::builder().threads(3..=5).prestart(0).build().unwrap();
    drop(lazy());
    let pool = lazy();
    assert!(pool.wait_idle());
    assert_eq!(workers(&pool), 0);
    pool.prestart().unwrap();
    assert_eq!(workers(&pool), 3);
    let handle = pool.handle();
    handle.prestart().unwrap();
    assert_eq!(workers(&pool), 3, "there are none left to start");
    assert!(pool.submit(move || handle.prestart().is_ok()).join().unwrap());
    drop(pool);
    let error = handle.prestart().unwrap_err();
    let reason = error.get_ref().and_then(|error| error.downcast_ref::<Reason>());
    assert_eq!(reason, Some(&Reason::Closed));
}

/// What a worker submits counts as much as what comes from outside.
#[test(for_both_queueings)]
fn a_jobs_submission_starts_a_core_thread(builder: Builder) {
    let pool = builder.threads(3).build().unwrap();
    await_idle_workers(&pool, 1);
    // One for the job from outside, one for its child.
    pool.submit(|| brigade::submit(|| ()).join().unwrap()).join().unwrap();
    assert_eq!(workers(&pool), 3);
}

#[test(for_both_queueings)]
fn a_burst_of_blocking_jobs_has_all_threads(builder: Builder) {
    let pool = builder.threads(1..=4).keep_alive(SHORT).build().unwrap();
    for burst in 1..=5 {
        let (crowd, gate) = running(&pool, 4);
        (0..5).for_each(|_| pool.execute(crowd.job(&gate)));
        let metrics = pool.metrics();
        assert_eq!((metrics.threads, metrics.idle_threads), (4, 0));
        assert_eq!((metrics.queued, metrics.running), (5, 4));
        gate.open();
        pool.wait_idle();
        assert_eq!((crowd.most(), pool.metrics().returned), (4, burst * 9));
        await_idle_workers(&pool, 1);
    }
}

#[test(for_both_queueings)]
fn the_thread_limit_bounds_running_jobs(builder: Builder) {
    let pool = builder.threads(1..=3).keep_alive(Duration::ZERO).build().unwrap();
    let crowd = Crowd::default();
    for _ in 0..300 {
        for _ in 0..10 {
            let crowd = crowd.clone();
            pool.execute(move || drop(crowd.enter()));
        }
        assert!(workers(&pool) <= 3);
    }
    pool.wait_idle();
    assert!(crowd.most() <= 3, "{} at once", crowd.most());
    assert_eq!(pool.metrics().returned, 3000);
}

#[test(for_both_queueings)]
fn growth_when_queued_follows_the_queue_length(builder: Builder) {
    let pool = builder.threads(1..=2).growth(Growth::WhenQueued(5)).build().unwrap();
    let (crowd, gate) = running(&pool, 1);
    for queued in 1..5 {
        pool.execute(crowd.job(&gate));
        let metrics = pool.metrics();
        assert_eq!((metrics.threads, metrics.queued), (1, queued));
    }
    pool.execute(crowd.job(&gate));
    assert_eq!(workers(&pool), 2, "the fifth that waits");
    eventually("the second thread works", || crowd.now() == 2);
    gate.open();
    pool.wait_idle();
    assert_eq!((crowd.most(), pool.metrics().returned), (2, 6));
}

#[test(for_both_queueings)]
fn growth_when_blocked_only_replaces_threads(builder: Builder) {
    let pool = builder.threads(1..=4).growth(Growth::WhenBlocked).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for _ in 0..50 {
        pool.execute(crowd.job(&gate));
    }
    eventually("the first has started", || crowd.now() == 1);
    assert_eq!(workers(&pool), 1);
    gate.open();
    pool.wait_idle();
    assert_eq!((crowd.most(), workers(&pool)), (1, 1));
    let meeting = Meeting::of(2);
    let attend = meeting.job();
    let blocked = pool.submit(move || brigade::blocking(attend));
    assert!(pool.submit(meeting.job()).join().unwrap());
    assert!(blocked.join().unwrap());
    assert_eq!(workers(&pool), 2);
}

/// Each of them finds no thread, and starts one.
#[test(unwatched)]
fn first_jobs_of_two_threads_run_at_once() {
    let time = soak_time(Duration::from_secs(2));
    let _dog = Watchdog::start(120 + time.as_secs());
    let end = Instant::now() + time;
    for round in 0.. {
        if Instant::now() > end {
            break;
        }
        let pool = Pool::builder().threads(0..=2).build().unwrap();
        let (begin, meeting) = (Barrier::new(2), Meeting::of(2));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    begin.wait();
                    let met = pool.submit(meeting.job()).join().unwrap();
                    assert!(met, "round {round}");
                });
            }
        });
    }
}
