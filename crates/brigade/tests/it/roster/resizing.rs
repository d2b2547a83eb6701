//! `Handle::resize`: to any size, at any time, from any thread, without affecting a job.

use std::io::ErrorKind;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::crowd::{
    Crowd, a_child_runs_elsewhere, await_idle_workers, for_both_queueings, workers,
};
use crate::support::roll_call::thread_ids;
use crate::support::staging::{blocked, numbered, refused, running};
use brigade::{Builder, Idle, Pool, Queueing};
use brigade_testkit::{Gate, Halt, Meeting, eventually, spin_for, stays, test};

/// How long a job may take that would wait forever with a defect.
const LONG: Duration = Duration::from_secs(10);

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn an_invalid_size_is_an_error_without_effect() {
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

#[test(for_both_queueings)]
fn a_job_may_resize_its_own_pool(builder: Builder) {
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
}

#[test(for_both_queueings)]
fn surplus_threads_finish_and_start_no_job(builder: Builder) {
    let pool = builder.threads(3).build().unwrap();
    let ((crowd, gate), later) = (running(&pool, 3), Crowd::default());
    for _ in 0..30 {
        let later = later.clone();
        pool.execute(move || {
            let _inside = later.enter();
            spin_for(Duration::from_millis(2));
        });
    }
    pool.resize(1).unwrap();
    stays("three run, the rest is queued", || (crowd.now(), pool.metrics().queued) == (3, 30));
    gate.open();
    pool.wait_idle();
    assert_eq!((later.most(), pool.metrics().returned), (1, 33), "on a pool of one thread");
    await_idle_workers(&pool, 1);
}

/// Those that leave sleep for a moment once more, and must not be taken for those that still have to be told.
#[test]
fn surplus_idle_threads_end_at_once() {
    let spins = Idle::SpinThenPark(Duration::from_millis(1));
    for (small, large, idle) in
        [(1, 16, Idle::Park), (2, 4, Idle::Park), (2, 4, Idle::Spin), (2, 4, spins)]
    {
        println!("{small} to {large} threads, {idle:?}");
        for_both_queueings(|builder| {
            let pool = builder.threads(small).prestart(small).idle(idle).build().unwrap();
            for _ in 0..20 {
                await_idle_workers(&pool, small);
                thread_ids(&pool);
                pool.resize(large).unwrap();
                assert_eq!(pool.size(), large..=large);
                thread_ids(&pool);
                await_idle_workers(&pool, large);
                pool.resize(small).unwrap();
            }
            await_idle_workers(&pool, small);
        });
    }
}

/// The largest size is the same, so there is no surplus; `keep_alive` applies to the core size.
#[test(for_both_queueings)]
fn idle_threads_beyond_the_core_end_after_keep_alive(builder: Builder) {
    let pool = builder.threads(4).prestart(4).keep_alive(SHORT).build().unwrap();
    await_idle_workers(&pool, 4);
    pool.resize(1..=4).unwrap();
    await_idle_workers(&pool, 1);
}

#[test]
fn a_larger_size_starts_queued_jobs_at_once() {
    for (threads, jobs) in [(2..=2, 2), (4..=4, 4), (1..=4, 4)] {
        for_both_queueings(|builder| {
            let pool = builder.threads(1).build().unwrap();
            let meeting = Meeting::of(jobs);
            let met: Vec<_> = (0..jobs).map(|_| pool.submit(meeting.job())).collect();
            assert_eq!(workers(&pool), 1);
            pool.resize(threads.clone()).unwrap();
            assert!(met.into_iter().all(|job| job.join().unwrap()), "{threads:?}");
        });
    }
}

/// They do not count while they are blocked, and they do afterwards.
#[test(for_both_queueings)]
fn a_shrunk_pool_of_blocked_threads_runs_jobs(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for blocked in 1..=4 {
        let job = crowd.job(&gate);
        pool.execute(move || brigade::blocking(job));
        // A worker that has not parked again would count as busy at the next job, and another would be started.
        eventually("it is blocked, and the others are idle", || {
            crowd.now() == blocked && workers(&pool) == blocked + pool.metrics().idle_threads
        });
    }
    assert_eq!(workers(&pool), 4);
    pool.resize(1).unwrap();
    let opens = gate.clone();
    let mut freeing = pool.submit(move || opens.open());
    assert!(freeing.join_timeout(LONG).is_some(), "no thread frees them: {:?}", pool.metrics());
    pool.wait_idle();
    await_idle_workers(&pool, 1);
}

/// Whose leaving was asked for and not needed any more when the pool became larger again.
#[test(for_both_queueings)]
fn a_resize_undoes_an_earlier_surplus(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    for _ in 0..20 {
        let (_, gate) = running(&pool, 4);
        pool.resize(1).unwrap();
        pool.resize(4).unwrap();
        gate.open();
        pool.wait_idle();
        assert_eq!(workers(&pool), 4);
    }
}

#[test(120)]
fn racing_resizes_keep_children_running() {
    let pool = Pool::new(2);
    for round in 0..1500 {
        let begin = Barrier::new(8);
        thread::scope(|scope| {
            for number in 0..8 {
                let (begin, pool) = (&begin, &pool);
                scope.spawn(move || {
                    begin.wait();
                    pool.resize(1 + number % 2).unwrap();
                });
            }
        });
        if pool.size() != (2..=2) {
            continue;
        }
        let ran_beside = pool.submit(|| {
            // Until the monitor has given up.
            spin_for(Duration::from_millis(4));
            a_child_runs_elsewhere()
        });
        assert!(ran_beside.join().unwrap(), "round {round}: {pool:?} keeps a child to its parent");
    }
}

#[test]
fn a_shrinking_shared_queue_keeps_its_order() {
    let pool = Pool::builder().threads(2).queueing(Queueing::Shared).build().unwrap();
    let (gates, crowd) = ([Gate::closed(), Gate::closed()], Crowd::default());
    for gate in &gates {
        pool.execute(crowd.job(gate));
    }
    eventually("both are busy", || crowd.now() == 2);
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..5 {
        let order = Arc::clone(&order);
        pool.execute(move || order.lock().unwrap().push(number));
    }
    pool.resize(1).unwrap();
    gates[0].open();
    eventually("one has left", || workers(&pool) == 1);
    gates[1].open();
    pool.wait_idle();
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn no_worker_leaves_to_a_blocked_or_unstarted_one() {
    let third = Halt::default();
    let stops = third.clone();
    let spawner = numbered(move |number, thread| match number {
        0 | 1 => thread.start(),
        _ => {
            stops.here();
            refused()
        }
    });
    let pool = Pool::builder().threads(2).spawner(spawner).build().unwrap();
    let ((crowd, freed), busy) = (blocked(&pool, 1), Gate::closed());
    // Before more is submitted: a worker that blocks starts another thread for that, and a third beside one that has not parked.
    eventually("one is blocked, and others are idle", || {
        crowd.now() == 1 && workers(&pool) == 1 + pool.metrics().idle_threads
    });
    pool.execute(crowd.job(&busy));
    eventually("one is blocked and one busy", || crowd.now() == 2);
    let (handle, frees) = (pool.handle(), freed.clone());
    let submitter = thread::spawn(move || handle.try_execute(move || frees.open()).is_ok());
    third.await_thread();
    pool.resize(1).unwrap();
    busy.open();
    eventually("the busy one runs the accepted job, or leaves", || {
        crowd.now() == 0 || workers(&pool) < 3
    });
    third.release();
    assert!(submitter.join().unwrap());
    eventually("a worker runs the accepted job", || crowd.now() == 0);
}

#[test]
fn no_resizes_exceed_the_largest_size_plus_spares() {
    let pool = Pool::builder().threads(1..=2).spare_threads(2).build().unwrap();
    let gate = Gate::closed();
    for _ in 0..200 {
        let gate = gate.clone();
        pool.execute(move || brigade::blocking(|| gate.wait()));
    }
    eventually("all threads that there may be are blocked", || workers(&pool) == 4);
    for _ in 0..20 {
        pool.resize(1..=1).unwrap();
        pool.resize(1..=2).unwrap();
        // A thread that may be started is started by now, or by this.
        pool.execute(|| ());
        assert!(workers(&pool) <= 4, "{} workers", workers(&pool));
    }
    gate.open();
    assert!(pool.wait_idle());
}

/// Caught: the pool had counted on the returning worker to leave, not on the blocked one.
#[test(for_both_queueings)]
fn the_last_active_workers_exit_starts_another(builder: Builder) {
    let builder = builder.threads(0..=2).spare_threads(0).keep_alive(Duration::from_millis(1));
    let pool = builder.build().unwrap();
    let (begin, first, second) = (Gate::closed(), Gate::closed(), Gate::closed());
    let crowd = Crowd::default();
    let jobs = [&first, &second].map(|gate| {
        let (begin, blocked) = (begin.clone(), crowd.job(gate));
        pool.submit(move || {
            begin.wait();
            brigade::blocking(blocked);
        })
    });
    eventually("both run", || workers(&pool) == 2 && pool.metrics().running == 2);
    pool.resize(0..=1).unwrap();
    begin.open();
    eventually("both are blocked", || crowd.now() == 2);
    second.open();
    eventually("the other worker has left", || workers(&pool) == 1);
    let mut job = pool.submit(|| ());
    assert!(job.join_timeout(LONG).is_some(), "no thread runs it: {:?}", pool.metrics());
    first.open();
    jobs.into_iter().for_each(|job| job.join().unwrap());
}
