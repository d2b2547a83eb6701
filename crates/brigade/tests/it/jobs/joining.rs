//! `JoinHandle`: waiting for a job from outside and from a worker of its own pool.

use std::pin::Pin;
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::policy::queue_kinds;
use brigade::{JoinHandle, Pool};
use brigade_testkit::{BlockedThread, Gate, Latch, eventually, test};

/// A job that returns `value` once the gate opens.
fn gated(pool: &Pool, value: u32) -> (JoinHandle<u32>, Gate) {
    let gate = Gate::closed();
    let inner = gate.clone();
    let job = pool.submit(move || {
        inner.wait();
        value
    });
    (job, gate)
}

/// A kind of job, a job, and a call that lets it go on.
type Waits = (&'static str, JoinHandle<u32>, Box<dyn Fn()>);

/// The same, and one that is a future, which waits without a thread.
fn both_kinds(pool: &Pool, value: u32) -> [Waits; 2] {
    let ((closure, gate), latch) = (gated(pool, value), Latch::default());
    let waits = latch.wait();
    let future = pool.spawn(async move {
        waits.await;
        value
    });
    [
        ("a closure", closure, Box::new(move || gate.open())),
        ("a future", future, Box::new(move || latch.open())),
    ]
}

#[test(asked in [0, 1, 20, 100].map(Duration::from_millis))]
fn join_timeout_lasts_its_time_then_has_the_value(asked: Duration) {
    let pool = Pool::new(1);
    for (kind, mut job, open) in both_kinds(&pool, 42) {
        let begun = Instant::now();
        assert!(job.join_timeout(asked).is_none(), "{kind}");
        assert!(begun.elapsed() >= asked, "{kind}: {:?} of {asked:?}", begun.elapsed());
        open();
        assert_eq!(job.join_timeout(Duration::MAX).unwrap().unwrap(), 42, "{kind}");
        assert!(job.join_timeout(Duration::ZERO).is_none(), "{kind}: it was taken");
    }
}

#[test]
fn join_timeout_returns_with_the_job() {
    let pool = Pool::new(1);
    let (mut job, gate) = gated(&pool, 42);
    let joiner = BlockedThread::default();
    let blocked = joiner.clone();
    let joins = thread::spawn(move || {
        joiner.is_this();
        job.join_timeout(Duration::from_secs(3600))
    });
    blocked.wait_until_blocked();
    gate.open();
    assert_eq!(joins.join().unwrap().unwrap().unwrap(), 42);
}

#[test]
fn try_join_gives_the_value_once() {
    for (kind, mut job, open) in both_kinds(&Pool::new(1), 42) {
        assert!(job.try_join().is_none() && !job.is_finished(), "{kind}");
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut job).poll(&mut context).is_pending(), "{kind}");
        open();
        eventually("the job finishes", || job.is_finished());
        assert_eq!(job.try_join().unwrap().unwrap(), 42, "{kind}");
        assert!(job.try_join().is_none(), "{kind}");
        assert!(job.is_finished(), "{kind}: taken is finished");
    }
}

/// There is no third answer between "not finished" and "taken".
#[test]
fn a_finished_job_has_a_value() {
    let pool = Pool::new(2);
    for n in 0..5000 {
        let mut job = pool.submit(move || Box::new(n));
        while !job.is_finished() {
            std::hint::spin_loop();
        }
        assert_eq!(*job.try_join().expect("finished").unwrap(), n);
    }
}

#[test]
fn an_untaken_result_drops_once() {
    let (pool, witness) = (Pool::new(2), Arc::new(()));
    for round in 0..1000 {
        let result = Arc::clone(&witness);
        let job = pool.submit(move || result);
        match round % 3 {
            0 => drop(job),
            1 => eventually("the job finishes", || job.is_finished()),
            _ => drop(job.join().unwrap()),
        }
    }
    pool.wait_idle();
    assert_eq!(Arc::strong_count(&witness), 1);
}

/// Oldest, newest and middle: wherever the joined job is in the queue.
#[test((kind, pool) in queue_kinds(1))]
fn the_only_worker_joins_children_in_any_order(pool: Pool) {
    for step in [1, 3, 7, 399] {
        let parent = pool.submit(move || {
            let here = thread::current().id();
            let child = move |n| {
                assert_eq!(thread::current().id(), here, "it is run by the joiner");
                n
            };
            let submit = |n| Some(brigade::submit(move || child(n)));
            let mut children: Vec<Option<JoinHandle<usize>>> = (0..400).map(submit).collect();
            // Each step has no factor in common with 400, so that this visits all.
            let order = (0..400).map(|n| n * step % 400);
            order.map(|n| (n, children[n].take().unwrap().join().unwrap())).collect()
        });
        let pairs: Vec<(usize, usize)> = parent.join().unwrap();
        assert!(pairs.into_iter().all(|(child, value)| child == value));
    }
    pool.wait_idle();
    let sums = pool.metrics();
    assert_eq!((sums.returned, sums.workers[0].run), (4 * 401, 4 * 401));
}

/// Each of N running jobs waits for one more: without help all workers would sleep.
#[test(threads in [1, 2, 4], (kind, pool) in queue_kinds(threads))]
fn as_many_waiting_jobs_as_workers_finish(threads: usize, pool: Pool) {
    for _ in 0..50 {
        let all_there = Arc::new(Barrier::new(threads));
        let parents: Vec<_> = (0..threads)
            .map(|_| {
                let all_there = Arc::clone(&all_there);
                pool.submit(move || {
                    all_there.wait();
                    brigade::submit(|| 21).join().unwrap() * 2
                })
            })
            .collect();
        let answers = parents.into_iter().map(|parent| parent.join().unwrap());
        assert!(answers.eq(std::iter::repeat_n(42, threads)));
    }
}

#[test((kind, pool) in queue_kinds(2))]
fn a_running_job_wakes_its_waiting_worker(pool: Pool) {
    for _ in 0..50 {
        let (running, gate) = gated(&pool, 42);
        eventually("it runs", || pool.metrics().running == 1);
        let worker = BlockedThread::default();
        let joiner = worker.clone();
        let joins = pool.submit(move || {
            joiner.is_this();
            running.join().unwrap()
        });
        worker.wait_until_blocked();
        gate.open();
        assert_eq!(joins.join().unwrap(), 42);
    }
}

/// While one worker waits inside `join`, its queue is still the other's to take from.
#[test((kind, pool) in queue_kinds(2))]
fn jobs_of_a_waiting_worker_run_elsewhere(pool: Pool) {
    for _ in 0..100 {
        let ((opens, opened), (begun, begins)) = (mpsc::channel(), mpsc::channel());
        // Ends when the other worker's child has run, and that worker waits for this job.
        let running = pool.submit(move || {
            begun.send(()).unwrap();
            brigade::submit(|| ()).join().unwrap();
            opened
        });
        begins.recv().unwrap();
        let parent = pool.submit(move || {
            brigade::execute(move || opens.send(42).unwrap());
            running.join().unwrap()
        });
        assert_eq!(parent.join().unwrap().recv().unwrap(), 42);
    }
}
