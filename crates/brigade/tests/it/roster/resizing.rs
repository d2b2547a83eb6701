//! `Handle::resize`: to any size, at any time, from any thread, without affecting a job.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::reports::counts;
use crate::support::roll_call::thread_ids;
use brigade::{Idle, Pool, Queueing, Shutdown};
use brigade_testkit::{Gate, Meeting, Watchdog, eventually};

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn sizes_that_no_pool_can_have_are_refused_with_a_reason_and_change_nothing() {
    let _dog = Watchdog::start(20);
    let pool = Pool::builder().threads(1..=3).build().unwrap();
    #[expect(clippy::reversed_empty_ranges, reason = "one of those refused")]
    for bad in [0..=0, 3..=2, 0..=4097, 4097..=4097, 1..=usize::MAX] {
        let refusal = pool.resize(bad.clone()).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::InvalidInput, "{bad:?}");
        let text = refusal.to_string();
        assert!(text.contains(&bad.end().to_string()), "{bad:?}: {text}");
        assert_eq!((pool.size(), *pool.size().end()), (1..=3, 3), "{bad:?}");
        assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    }
}

#[test]
fn a_pool_may_become_far_larger_than_it_was_built() {
    let _dog = Watchdog::start(30);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).build().unwrap();
        thread_ids(&pool);
        pool.resize(16).unwrap();
        assert_eq!((pool.size(), *pool.size().end()), (16..=16, 16));
        thread_ids(&pool);
        assert_eq!(workers(&pool), 16);
        pool.resize(1).unwrap();
        await_idle_workers(&pool, 1);
        assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    });
}

#[test]
fn no_job_is_lost_while_the_size_goes_up_and_down_under_load() {
    let _dog = Watchdog::start(120);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).build().unwrap();
        let (ran, stop) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for n in 0..3000 {
                        let ran = Arc::clone(&ran);
                        pool.execute(move || {
                            let child = Arc::clone(&ran);
                            brigade::execute(move || _ = child.fetch_add(1, Ordering::Relaxed));
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                        if n % 100 == 0 {
                            thread::sleep(Duration::from_millis(1));
                        }
                    }
                    stop.fetch_add(1, Ordering::SeqCst);
                });
            }
            while stop.load(Ordering::SeqCst) < 3 {
                for threads in [16, 1, 5, 2, 1] {
                    pool.resize(threads).unwrap();
                    thread::sleep(Duration::from_micros(500));
                }
            }
        });
        pool.wait_idle();
        assert_eq!((ran.load(Ordering::Relaxed), pool.metrics().queued), (18_000, 0));
        await_idle_workers(&pool, 1);
        let ran = 18_000;
        assert_eq!(counts(pool.shutdown(Shutdown::Drain)), (ran, 0, 0));
    });
}

/// Several at a time, on a pool that shrinks by itself too.
#[test]
fn resizes_from_several_threads_leave_a_pool_that_works() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(2).keep_alive(Duration::ZERO).build().unwrap();
        thread::scope(|scope| {
            for first in 1..=3 {
                let pool = &pool;
                scope.spawn(move || {
                    for n in 0..200 {
                        pool.resize(1..=first + n % 4).unwrap();
                        assert_eq!(pool.submit(move || n).join().unwrap(), n);
                    }
                });
            }
        });
        pool.resize(1..=2).unwrap();
        await_idle_workers(&pool, 1);
        assert_eq!((pool.metrics().returned, pool.size()), (600, 1..=2));
    });
}

#[test]
fn a_job_may_resize_its_own_pool() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = Arc::new(builder.threads(2).build().unwrap());
        for threads in [5, 1, 3, 1] {
            let own = Arc::clone(&pool);
            pool.submit(move || own.resize(threads).unwrap()).join().unwrap();
            assert_eq!(*pool.size().end(), threads);
            thread_ids(&pool);
            await_idle_workers(&pool, threads);
        }
        // A job that has just ended may still own it for a moment, and then it would end the pool.
        eventually("the jobs have let it go", || Arc::strong_count(&pool) == 1);
    });
}

#[test]
fn running_jobs_finish_although_their_thread_is_one_too_many() {
    let _dog = Watchdog::start(30);
    for_both_queueings(|builder| {
        let pool = builder.threads(4).build().unwrap();
        let (gate, crowd) = (Gate::closed(), Crowd::default());
        (0..4).for_each(|_| pool.execute(crowd.job(&gate)));
        eventually("all have started", || crowd.now() == 4);
        (0..6).for_each(|_| pool.execute(|| ()));
        pool.resize(1).unwrap();
        thread::sleep(Duration::from_millis(20));
        assert_eq!((crowd.now(), pool.metrics().queued), (4, 6));
        gate.open();
        pool.wait_idle();
        assert_eq!(pool.metrics().returned, 10);
        await_idle_workers(&pool, 1);
    });
}

#[test]
fn idle_threads_that_are_too_many_end_at_once_however_they_wait() {
    let _dog = Watchdog::start(60);
    for idle in [Idle::Park, Idle::Spin] {
        for_both_queueings(|builder| {
            let pool = builder.threads(4).prestart().idle(idle).build().unwrap();
            await_idle_workers(&pool, 4);
            pool.resize(2).unwrap();
            await_idle_workers(&pool, 2);
            thread_ids(&pool);
        });
    }
}

/// Those that leave sleep for a moment once more, and must not be taken for those that still have to be told.
#[test]
fn each_of_many_idle_threads_that_are_too_many_is_told() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(16).prestart().build().unwrap();
        for _ in 0..20 {
            await_idle_workers(&pool, 16);
            pool.resize(1).unwrap();
            await_idle_workers(&pool, 1);
            pool.resize(16).unwrap();
            thread_ids(&pool);
        }
    });
}

#[test]
fn idle_threads_that_are_too_many_end_at_once_although_one_looks_out() {
    let _dog = Watchdog::start(60);
    let idle = Idle::SpinThenPark(Duration::from_millis(1));
    for _ in 0..20 {
        let pool = Pool::builder().threads(2).prestart().idle(idle).build().unwrap();
        await_idle_workers(&pool, 2);
        pool.resize(1).unwrap();
        await_idle_workers(&pool, 1);
    }
}

/// The largest size is the same, so there is no surplus; `keep_alive` applies to the core size.
#[test]
fn idle_threads_beyond_a_smaller_core_size_end_after_keep_alive() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(4).prestart().keep_alive(SHORT).build().unwrap();
        await_idle_workers(&pool, 4);
        pool.resize(1..=4).unwrap();
        await_idle_workers(&pool, 1);
    });
}

#[test]
fn a_larger_size_lets_queued_work_start_at_once() {
    let _dog = Watchdog::start(60);
    for threads in [4..=4, 1..=4] {
        for_both_queueings(|builder| {
            println!("{threads:?}");
            let pool = builder.threads(1).build().unwrap();
            let meeting = Meeting::of(4);
            let jobs = [(); 4].map(|()| pool.submit(meeting.job()));
            assert_eq!(workers(&pool), 1);
            pool.resize(threads.clone()).unwrap();
            let met = jobs.map(|job| job.join().unwrap());
            assert_eq!(met, [true; 4], "jobs wait although there may be threads for them");
        });
    }
}

#[test]
fn a_larger_size_by_one_lets_a_queued_job_start_at_once() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).build().unwrap();
        let meeting = Meeting::of(2);
        let jobs = [(); 2].map(|()| pool.submit(meeting.job()));
        pool.resize(2).unwrap();
        assert_eq!(jobs.map(|job| job.join().unwrap()), [true; 2]);
    });
}

/// A surplus thread starts no further job, however many wait.
#[test]
fn threads_that_are_too_many_end_between_two_jobs() {
    let _dog = Watchdog::start(60);
    for queueing in [Queueing::Stealing, Queueing::Shared] {
        println!("{queueing:?}");
        let pool = Pool::builder().threads(3).queueing(queueing).build().unwrap();
        let (gate, crowd, later) = (Gate::closed(), Crowd::default(), Crowd::default());
        (0..3).for_each(|_| pool.execute(crowd.job(&gate)));
        eventually("all have started", || crowd.now() == 3);
        for _ in 0..30 {
            let later = later.clone();
            pool.execute(move || {
                let _inside = later.enter();
                thread::sleep(Duration::from_millis(2));
            });
        }
        pool.resize(1).unwrap();
        gate.open();
        pool.wait_idle();
        assert_eq!(later.most(), 1, "{queueing:?}: jobs run at once on a pool of one thread");
    }
}

/// They do not count while they are blocked, and they do afterwards.
#[test]
fn threads_that_were_blocked_when_the_pool_became_smaller_end_too() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(3).build().unwrap();
        let (gate, crowd) = (Gate::closed(), Crowd::default());
        for _ in 0..3 {
            let job = crowd.job(&gate);
            pool.execute(move || brigade::blocking(job));
        }
        eventually("all are blocked", || crowd.now() == 3);
        pool.resize(1).unwrap();
        gate.open();
        pool.wait_idle();
        await_idle_workers(&pool, 1);
    });
}

/// Whose leaving was asked for and not needed any more when the pool became larger again.
#[test]
fn a_resize_takes_back_what_an_earlier_one_asked_for() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(4).build().unwrap();
        for _ in 0..20 {
            let (gate, crowd) = (Gate::closed(), Crowd::default());
            (0..4).for_each(|_| pool.execute(crowd.job(&gate)));
            eventually("all have started", || crowd.now() == 4);
            pool.resize(1).unwrap();
            pool.resize(4).unwrap();
            gate.open();
            pool.wait_idle();
            assert_eq!(workers(&pool), 4);
        }
    });
}
