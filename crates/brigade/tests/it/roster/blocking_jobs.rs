//! `brigade::blocking`: a blocked worker is replaced, up to a limit, and counts again afterwards.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::open_once_closed;
use crate::support::crowd::{
    Crowd, a_child_runs_elsewhere, await_idle_workers, for_both_queueings, workers,
};
use crate::support::staging::{blocked, running};
use brigade::{Builder, Pool, Shutdown};
use brigade_testkit::{Gate, Meeting, eventually, stays, test};

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn off_the_pool_the_code_just_runs() {
    assert_eq!(brigade::blocking(|| 42), 42);
    let panicked = panic::catch_unwind(|| brigade::blocking(|| panic!("expected")));
    assert!(panicked.is_err());
}

#[test(for_both_queueings)]
fn jobs_blocking_beyond_the_threads_finish(builder: Builder) {
    let pool = builder.threads(3).keep_alive(SHORT).build().unwrap();
    for round in 1..=20 {
        let meeting = Meeting::of(6);
        let jobs = [(); 6].map(|()| {
            let attend = meeting.job();
            pool.submit(move || brigade::blocking(attend))
        });
        assert_eq!(jobs.map(|job| job.join().unwrap()), [true; 6]);
        if round % 4 == 0 {
            await_idle_workers(&pool, 3);
        }
    }
}

/// The ones that wait are submitted first, and the ones that they wait for do not block.
#[test(for_both_queueings)]
fn a_blocked_thread_lets_earlier_jobs_run(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    for _ in 0..50 {
        let (gate, crowd, meeting) = (Gate::closed(), Crowd::default(), Meeting::of(4));
        let waiting = [(); 2].map(|()| {
            let (wait, attend) = (crowd.job(&gate), meeting.job());
            pool.submit(move || {
                wait();
                brigade::blocking(attend)
            })
        });
        eventually("both have started", || crowd.now() == 2);
        let others = [(); 2].map(|()| pool.submit(meeting.job()));
        gate.open();
        assert_eq!(waiting.map(|job| job.join().unwrap()), [true; 2]);
        assert_eq!(others.map(|job| job.join().unwrap()), [true; 2]);
    }
}

#[test(spare in [0, 1, 3], for_both_queueings)]
fn spare_threads_bound_the_replacements(builder: Builder, spare: usize) {
    let pool = builder.threads(2).spare_threads(spare).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for _ in 0..8 {
        let job = crowd.job(&gate);
        pool.execute(move || brigade::blocking(job));
    }
    eventually("as many as may be are blocked", || crowd.now() == 2 + spare);
    stays("no more", || (crowd.now(), workers(&pool)) == (2 + spare, 2 + spare));
    gate.open();
    pool.wait_idle();
    assert_eq!((crowd.most(), pool.metrics().returned), (2 + spare, 8));
}

/// The worker that was blocked continues with a long job, and its replacement has nothing to do.
#[test(for_both_queueings)]
fn a_replacement_ends_beside_its_busy_original(builder: Builder) {
    let pool = builder.threads(1).keep_alive(SHORT).build().unwrap();
    let (blocked, gate) = (Gate::closed(), Gate::closed());
    let (until, busy) = (blocked.clone(), gate.clone());
    pool.execute(move || {
        brigade::blocking(|| until.wait());
        busy.wait();
    });
    pool.submit(|| ()).join().unwrap();
    eventually("the replacement parks", || pool.metrics().idle_threads == 1);
    blocked.open();
    eventually("the replacement ends", || workers(&pool) == 1);
    gate.open();
}

#[test(for_both_queueings)]
fn a_panic_passes_and_the_thread_counts_again(builder: Builder) {
    let pool = builder.threads(2).spare_threads(1).keep_alive(SHORT).build().unwrap();
    for n in 0..50 {
        let job = move || {
            brigade::blocking(|| {
                if n < 100 {
                    panic!("expected: {n}")
                }
            })
        };
        match n % 2 {
            0 => assert!(pool.submit(job).join().is_err()),
            _ => pool.execute(job),
        }
    }
    pool.submit(|| {
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            brigade::blocking(|| panic!("expected: contained by the job"));
        }));
        assert!(caught.is_err());
    });
    pool.wait_idle();
    await_idle_workers(&pool, 2);
    // Three at most, as before: were one still taken for blocked, there would be four.
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for _ in 0..6 {
        let job = crowd.job(&gate);
        pool.execute(move || brigade::blocking(job));
    }
    eventually("three are blocked", || crowd.now() == 3);
    stays("no more", || (crowd.now(), workers(&pool)) == (3, 3));
    gate.open();
}

#[test(for_both_queueings)]
fn nested_blocks_count_as_one(builder: Builder) {
    let pool = builder.threads(1).keep_alive(SHORT).build().unwrap();
    let meeting = Meeting::of(2);
    let attend = meeting.job();
    let nested = pool.submit(move || {
        brigade::blocking(|| brigade::blocking(|| brigade::blocking(|| 42)) + i32::from(attend()))
    });
    assert!(pool.submit(meeting.job()).join().unwrap());
    assert_eq!(nested.join().unwrap(), 43);
    await_idle_workers(&pool, 1);
}

/// A join in a block may run the joined job right there: always, if there is no other thread to take it.
#[test(spare in [1, 0], for_both_queueings)]
fn a_block_around_a_join_may_run_a_blocking_job(builder: Builder, spare: usize) {
    let builder = builder.threads(1).spare_threads(spare).keep_alive(SHORT);
    let pool = builder.build().unwrap();
    for _ in 0..20 {
        let (answered, answers) = mpsc::channel();
        pool.execute(move || {
            let child = brigade::submit(|| brigade::blocking(|| 42));
            let answer = brigade::blocking(|| child.join());
            answered.send(answer.unwrap()).unwrap();
        });
        assert_eq!(answers.recv_timeout(Duration::from_secs(10)), Ok(42));
    }
    await_idle_workers(&pool, 1);
}

/// What the blocked thread submits itself lies on its own queue.
#[test(for_both_queueings)]
fn a_child_runs_during_its_parents_block(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    for in_block in [true, false].repeat(20) {
        let (sender, receiver) = mpsc::channel();
        let parent = pool.submit(move || {
            let submit = || brigade::execute(move || _ = sender.send(42));
            let wait = || receiver.recv_timeout(Duration::from_secs(10));
            if in_block {
                return brigade::blocking(|| {
                    submit();
                    wait()
                });
            }
            submit();
            brigade::blocking(wait)
        });
        assert_eq!(parent.join().unwrap(), Ok(42), "submitted in the block: {in_block}");
    }
}

#[test(for_both_queueings)]
fn waits_and_shutdown_include_blocked_jobs(builder: Builder) {
    let pool = builder.threads(1).spare_threads(3).build().unwrap();
    let (_, gate) = blocked(&pool, 4);
    thread::scope(|scope| {
        let waits = scope.spawn(|| pool.wait_idle());
        assert!(!pool.wait_idle_timeout(Duration::from_millis(1)) && !waits.is_finished());
        gate.open();
        assert!(waits.join().unwrap());
    });
    assert_eq!(pool.metrics().returned, 4);
    open_once_closed(&blocked(&pool, 4).1, pool.handle());
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!((report.ran, report.discarded, report.still_running), (8, 0, 0));
}

#[test(for_both_queueings)]
fn start_and_stop_hooks_may_block(builder: Builder) {
    let gate = Gate::closed();
    let (starts, stops) = (gate.clone(), gate.clone());
    let builder = builder.threads(2).on_start(move |_| brigade::blocking(|| starts.wait()));
    let pool = builder.on_stop(move |_| brigade::blocking(|| stops.wait())).build().unwrap();
    let jobs: Vec<_> = (0..10).map(|n| pool.submit(move || n)).collect();
    gate.open();
    assert!(jobs.into_iter().enumerate().all(|(n, job)| job.join().unwrap() == n));
}

#[test]
fn an_idle_replacement_ends_with_the_block() {
    const KEEP_ALIVE: Duration = Duration::from_secs(1);
    let pool = Pool::builder().threads(1).keep_alive(KEEP_ALIVE).build().unwrap();
    let (_, gate) = blocked(&pool, 1);
    pool.submit(|| ()).join().unwrap();
    eventually("the replacement is idle", || pool.metrics().idle_threads == 1);
    let idle = Instant::now();
    eventually("it has been idle for that long", || idle.elapsed() > KEEP_ALIVE);
    assert_eq!(workers(&pool), 2, "it replaces the blocked thread");
    gate.open();
    let back = Instant::now();
    eventually("the replacement ends", || workers(&pool) == 1);
    assert!(
        back.elapsed() < KEEP_ALIVE,
        "its time began when it became idle: {:?}",
        back.elapsed()
    );
}

#[test]
fn the_original_runs_its_replacements_child() {
    let pool = Pool::new(1);
    let ((crowd, freed), busy) = (blocked(&pool, 1), Gate::closed());
    let (other, wait) = (crowd.clone(), busy.clone());
    let parent = pool.submit(move || {
        let _inside = other.enter();
        wait.wait();
        a_child_runs_elsewhere()
    });
    eventually("its replacement is busy", || crowd.now() == 2);
    freed.open();
    eventually("it is idle", || pool.metrics().idle_threads == 1);
    stays("it is idle", || pool.metrics().idle_threads == 1);
    busy.open();
    assert!(parent.join().unwrap(), "one worker is idle, and a job waits");
}

#[test]
fn a_blocked_thread_beyond_the_core_is_replaced_for_one_job() {
    let builder = Pool::builder().threads(1..=2).growth(brigade::Growth::WhenQueued(2));
    let pool = builder.build().unwrap();
    let ((crowd, busy), freed) = (running(&pool, 1), Gate::closed());
    let blocked = crowd.job(&freed);
    pool.execute(|| ());
    pool.execute(move || brigade::blocking(blocked));
    eventually("the other is blocked", || crowd.now() == 2);
    let frees = freed.clone();
    let mut freeing = pool.submit(move || frees.open());
    let ran = freeing.join_timeout(Duration::from_secs(2)).is_some();
    freed.open();
    busy.open();
    assert!(ran, "there is work, and no thread in place of the blocked one");
}
