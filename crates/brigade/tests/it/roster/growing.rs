//! When a pool gets threads: up to its core size with each submission, beyond it as its growth says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::soak::soak_time;
use brigade::{Builder, Growth, Pool, Reason};
use brigade_testkit::{Gate, Meeting, Watchdog, eventually, test};

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn build_starts_one_thread_of_a_core_size_and_none_of_zero() {
    for (threads, first) in [(3..=3, 1), (2..=5, 1), (1..=1, 1), (0..=2, 0)] {
        let started = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&started);
        let builder = Pool::builder().threads(threads.clone()).spawner(move |thread| {
            counted.fetch_add(1, Ordering::SeqCst);
            thread.start()
        });
        let pool = builder.build().unwrap();
        assert_eq!((workers(&pool), started.load(Ordering::SeqCst)), (first, first), "{threads:?}");
        drop(pool);
        assert_eq!(started.load(Ordering::SeqCst), first, "{threads:?}: an end starts no thread");
    }
}

#[test]
fn a_lazy_pool_has_no_thread_before_its_first_job_or_a_prestart() {
    let lazy = || Pool::builder().threads(2).prestart(0).build().unwrap();
    drop(lazy());
    let pool = lazy();
    assert!(pool.wait_idle());
    assert_eq!(workers(&pool), 0);
    pool.prestart().unwrap();
    assert_eq!(workers(&pool), 2);
}

#[test]
fn a_handle_prestarts_its_pool_as_long_as_that_exists() {
    let pool = Pool::builder().threads(3..=5).prestart(0).build().unwrap();
    let handle = pool.handle();
    handle.prestart().unwrap();
    assert_eq!(workers(&pool), 3);
    handle.prestart().unwrap();
    assert_eq!(workers(&pool), 3, "there are none left to start");
    assert!(pool.submit(move || handle.prestart().is_ok()).join().unwrap());
    drop(pool);
    let error = handle.prestart().unwrap_err();
    let reason = error.get_ref().and_then(|error| error.downcast_ref::<Reason>());
    assert_eq!(reason, Some(&Reason::Closed));
}

#[test]
fn prestart_starts_the_core_size_and_no_more() {
    for (threads, first) in [(3..=3, 3), (2..=5, 2), (0..=2, 0)] {
        let pool = Pool::builder().threads(threads.clone()).prestart(usize::MAX).build().unwrap();
        assert_eq!(workers(&pool), first, "{threads:?}");
        await_idle_workers(&pool, first);
    }
}

#[test]
fn each_submission_up_to_the_core_size_starts_a_thread_although_others_are_idle() {
    for (threads, is_lazy, workers_after) in [
        (4..=6, false, vec![2, 3, 4, 4, 4]),
        (2..=3, true, vec![1, 2, 2]),
        (0..=4, false, vec![1, 1]),
    ] {
        for_both_queueings(|builder| {
            let builder = builder.threads(threads.clone());
            let builder = if is_lazy { builder.prestart(0) } else { builder };
            let pool = builder.build().unwrap();
            assert!(pool.wait_idle());
            for after in &workers_after {
                pool.submit(|| ()).join().unwrap();
                assert_eq!(workers(&pool), *after, "{threads:?}");
                await_idle_workers(&pool, *after);
            }
        });
    }
}

/// What a worker submits counts as much as what comes from outside.
#[test(for_both_queueings)]
fn a_submission_from_a_job_starts_a_thread_of_the_core_size_too(builder: Builder) {
    let pool = builder.threads(3).build().unwrap();
    await_idle_workers(&pool, 1);
    // One for the job from outside, one for its child.
    pool.submit(|| brigade::submit(|| ()).join().unwrap()).join().unwrap();
    assert_eq!(workers(&pool), 3);
}

#[test(for_both_queueings)]
fn beyond_the_core_size_a_thread_is_started_only_if_no_worker_is_idle(builder: Builder) {
    let pool = builder.threads(1..=3).build().unwrap();
    for _ in 0..20 {
        await_idle_workers(&pool, 1);
        pool.submit(|| ()).join().unwrap();
    }
    await_idle_workers(&pool, 1);
}

#[test(for_both_queueings)]
fn a_pool_of_core_size_zero_runs_jobs(builder: Builder) {
    let pool = builder.threads(0..=2).build().unwrap();
    let jobs: Vec<_> = (0..100).map(|n| pool.submit(move || n * 2)).collect();
    for (n, job) in jobs.into_iter().enumerate() {
        assert_eq!(job.join().unwrap(), n * 2);
    }
    assert!((1..=2).contains(&workers(&pool)));
    pool.job().execute_batch((0..10).map(|_| || ())).unwrap();
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 110);
}

#[test(for_both_queueings)]
fn a_burst_of_more_blocking_jobs_than_threads_has_all_threads_and_leaves_the_core(
    builder: Builder,
) {
    let pool = builder.threads(1..=4).keep_alive(SHORT).build().unwrap();
    for burst in 1..=5 {
        let (gate, crowd) = (Gate::closed(), Crowd::default());
        // One by one: each finds no idle thread.
        for busy in 1..=4 {
            pool.execute(crowd.job(&gate));
            eventually("the job has started", || crowd.now() == busy);
        }
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
fn never_more_jobs_run_at_once_than_there_may_be_threads(builder: Builder) {
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
fn with_growth_when_queued_a_thread_starts_when_so_many_jobs_are_queued(builder: Builder) {
    let pool = builder.threads(1..=2).growth(Growth::WhenQueued(5)).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    pool.execute(crowd.job(&gate));
    eventually("the first has started", || crowd.now() == 1);
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
fn with_growth_when_blocked_only_a_blocked_thread_is_replaced(builder: Builder) {
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

/// Indices are used again: bursts don't make the numbers grow.
#[test(for_both_queueings)]
fn the_indices_of_ended_threads_are_used_again(builder: Builder) {
    let (running, indices) = (Crowd::default(), Arc::new(Mutex::new(Vec::new())));
    let (started, seen) = (running.clone(), Arc::clone(&indices));
    let inside = Arc::new(Mutex::new(Vec::new()));
    let left = Arc::clone(&inside);
    let builder = builder.threads(1..=3).keep_alive(Duration::ZERO);
    let builder = builder.on_start(move |index| {
        seen.lock().unwrap().push(index);
        inside.lock().unwrap().push(started.enter());
    });
    let pool = builder.on_stop(move |_| drop(left.lock().unwrap().pop())).build().unwrap();
    await_idle_workers(&pool, 1);
    for round in 1..=30 {
        let (gate, crowd) = (Gate::closed(), Crowd::default());
        for busy in 1..=3 {
            pool.execute(crowd.job(&gate));
            eventually("the job has started", || crowd.now() == busy);
        }
        gate.open();
        await_idle_workers(&pool, 1);
        eventually("their threads have stopped", || running.now() == 1);
        assert_eq!(indices.lock().unwrap().len(), 1 + round * 2);
    }
    // An index is free a moment after the stop hook, so occasionally one more is used.
    let largest = indices.lock().unwrap().iter().copied().max();
    assert!(largest.is_some_and(|largest| largest < 6), "{largest:?}");
}

/// Each of them finds no thread, and starts one.
#[test(unwatched)]
fn two_first_jobs_of_two_threads_run_at_once() {
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
