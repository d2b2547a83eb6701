//! Metrics: they add up at every moment, and are exact when nothing moves.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest};
use crate::support::policy::queue_kinds;
use crate::support::roll_call::on_every_worker;
use brigade::{Builder, Metrics, Pool, Shutdown, WhenFull};
use brigade_testkit::{Gate, Latch, Meeting, eventually, spin_for, test};

fn finished(sums: &Metrics) -> [u64; 3] {
    [sums.returned, sums.panicked, sums.cancelled]
}

#[track_caller]
fn assert_adds_up(sums: &Metrics) {
    let parts = finished(sums).iter().sum::<u64>() + sums.queued + sums.running;
    assert_eq!(sums.accepted, parts, "{sums:?}");
}

/// Keeps all workers busy until the gate opens, and queues ten jobs.
type Queue = fn(&Pool, &Gate);
const PLACES: [(&str, usize, Queue); 2] = [
    ("from outside", 2, |pool, gate| {
        occupy(pool, gate);
        (0..10).for_each(|_| pool.execute(|| ()));
    }),
    ("by a worker that is still busy", 1, |pool, gate| {
        let (inner, queued) = (gate.clone(), Gate::closed());
        let tells = queued.clone();
        pool.execute(move || {
            (0..10).for_each(|_| brigade::execute(|| ()));
            tells.open();
            inner.wait();
        });
        queued.wait();
    }),
];

#[test((place, threads, queue) in PLACES, (kind, pool) in queue_kinds(threads))]
fn counters_are_exact_at_rest(threads: usize, queue: Queue, pool: Pool) {
    let (gate, busy) = (Gate::closed(), threads as u64);
    queue(&pool, &gate);
    let sums = pool.metrics();
    assert_adds_up(&sums);
    assert_eq!([sums.accepted, sums.queued, sums.running], [10 + busy, 10, busy], "{sums:?}");
    assert!(sums.workers[0].queued <= 10, "{sums:?}");
    gate.open();
    pool.wait_idle();
    let sums = pool.metrics();
    assert_eq!([sums.returned, sums.queued, sums.running], [10 + busy, 0, 0], "{sums:?}");
}

#[test((kind, pool) in queue_kinds(4))]
fn a_pending_future_leaves_its_thread_idle(pool: Pool) {
    let busy = || pool.metrics().busy_threads;
    let (gate, latch) = (Gate::closed(), Latch::default());
    assert_eq!(busy(), 0, "none has had a job");
    let wait = gate.clone();
    let blocked = pool.submit(move || brigade::blocking(|| wait.wait()));
    let pending = pool.spawn(latch.wait());
    eventually("the future waits", || latch.waiting() == 1);
    eventually("only the blocked thread is busy", || busy() == 1);
    assert_eq!(pool.metrics().running, 2);
    gate.open();
    blocked.join().unwrap();
    eventually("none is busy", || busy() == 0);
    latch.open();
    pending.join().unwrap();
    pool.wait_idle();
    assert_eq!(busy(), 0, "the pool is idle");
    pool.shutdown(Shutdown::Drain);
    assert_eq!(busy(), 0, "the pool has ended");
}

#[test]
fn each_workers_counters_count_its_own_events() {
    let pool = Pool::new(4);
    on_every_worker(&pool, || ());
    // A handle resolves a moment before its job is counted.
    pool.wait_idle();
    let sums = pool.metrics();
    assert!(sums.workers.iter().all(|worker| worker.run == 1), "{sums:?}");
    eventually("all four park", || pool.metrics().workers.iter().all(|worker| worker.parks > 0));
    let wakes = |pool: &Pool| pool.metrics().workers.iter().map(|worker| worker.wakes).sum::<u64>();
    let before = wakes(&pool);
    on_every_worker(&pool, || ());
    assert!(wakes(&pool) > before, "no worker was woken: {:?}", pool.metrics());
    // Spawned on one worker and run on all: the others stole.
    let meeting = Meeting::of(4);
    let children = pool.submit(move || {
        let children = [(); 3].map(|()| brigade::submit(meeting.job()));
        (meeting.attend(), children)
    });
    let (met, children) = children.join().unwrap();
    assert!(met && children.into_iter().all(|child| child.join().unwrap()));
    pool.wait_idle();
    let sums = pool.metrics();
    assert!(sums.workers.iter().map(|worker| worker.stolen).sum::<u64>() > 0, "{sums:?}");
    assert_eq!(sums.workers.iter().map(|worker| worker.run).sum::<u64>(), sums.returned);
}

#[test]
fn only_a_running_worker_is_busy() {
    let pool = Pool::builder().threads(1).observe_jobs().build().unwrap();
    let gate = Gate::closed();
    let busy = || pool.metrics().workers[0].busy.expect("it is observed");
    // While it is awake, the clock is in each reading.
    let sleeps = || eventually("it sleeps", || busy() == busy());
    sleeps();
    let (begun, before) = (Instant::now(), busy());
    occupy(&pool, &gate);
    let during = busy();
    assert!(during > before, "the present job counts");
    // Between the two readings.
    let from = Instant::now();
    spin_for(Duration::from_millis(5));
    let ran = from.elapsed();
    let more = busy() - during;
    gate.open();
    sleeps();
    assert!(more >= ran, "{more:?} of {ran:?}");
    let sum = busy();
    assert!(
        sum >= before + more && sum <= before + begun.elapsed(),
        "{before:?}, {more:?}, {sum:?}"
    );

    let unobserved = Pool::new(1);
    unobserved.submit(|| ()).join().unwrap();
    assert_eq!(unobserved.metrics().workers[0].busy, None);
}

#[test(bounded in [false, true], for_both_queueings)]
fn running_jobs_show_beside_cancelled_entries(builder: Builder, bounded: bool) {
    let builder = if bounded { builder.capacity(1000) } else { builder };
    let pool = builder.threads(1).build().unwrap();
    for cancelled in [0, 3, 63, 64, 100] {
        let (gate, before) = (Gate::closed(), pool.metrics());
        occupy(&pool, &gate);
        for number in 0..cancelled {
            assert!(match number % 2 {
                0 => pool.submit(|| ()).cancel(),
                _ => pool.spawn(async {}).cancel(),
            });
        }
        pool.execute(|| ());
        let sums = pool.metrics();
        assert_adds_up(&sums);
        let cancels = sums.cancelled - before.cancelled;
        assert_eq!((cancels, sums.queued, sums.running), (cancelled, 1, 1), "{sums:?}");
        gate.open();
        pool.wait_idle();
    }
}

/// As programs do that ask for one number after the other.
#[test]
fn a_started_job_shows_as_running_until_its_end() {
    for _ in 0..200 {
        let (pool, gate) = (Pool::new(4), Gate::closed());
        let inside = gate.clone();
        pool.execute(move || inside.wait());
        while pool.metrics().queued > 0 {}
        let shown: Vec<_> = (0..20).map(|_| pool.metrics().running).collect();
        gate.open();
        assert_eq!(shown, [1; 20]);
    }
}

/// Checks every snapshot of the metrics while a thread submits; `submitted` is never less than the jobs that it has submitted.
#[track_caller]
fn watch_while(pool: &Pool, submit: impl FnOnce(&AtomicU64) + Send) {
    let (submitted, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            submit(&submitted);
            stop.store(true, Ordering::SeqCst);
        });
        let mut before = pool.metrics();
        while !stop.load(Ordering::SeqCst) {
            let sums = pool.metrics();
            assert_adds_up(&sums);
            assert!(sums.accepted <= submitted.load(Ordering::SeqCst), "{sums:?}");
            assert!(sums.accepted >= before.accepted, "accepted went back: {before:?} {sums:?}");
            let mut kept = finished(&sums).into_iter().zip(finished(&before));
            assert!(kept.all(|(now, before)| now >= before), "it went back: {before:?} {sums:?}");
            assert!(sums.evicted <= sums.cancelled, "{sums:?}");
            assert!(sums.idle_threads <= sums.threads, "{sums:?}");
            before = sums;
            thread::yield_now();
        }
    });
}

#[test((kind, pool) in queue_kinds(2))]
fn metrics_add_up_and_never_overstate(pool: Pool) {
    watch_while(&pool, |submitted| {
        for n in 0..10_000 {
            submitted.fetch_add(1, Ordering::SeqCst);
            pool.execute(move || assert!(n % 100 != 0, "expected"));
        }
        pool.wait_idle();
    });
    assert_eq!(finished(&pool.metrics()), [9_900, 100, 0]);
}

#[test(policy in POLICIES, for_both_queueings)]
fn metrics_of_a_full_pool_add_up(builder: Builder, policy: WhenFull) {
    let pool = builder.threads(2).capacity(3).when_full(policy).build().unwrap();
    let handle = pool.handle();
    watch_while(&pool, |submitted| {
        for _ in 0..3000 {
            submitted.fetch_add(2, Ordering::SeqCst);
            let _ = handle.job().execute(move || _ = handle.job().execute(|| ()));
        }
    });
    at_rest(&pool);
}

#[test(for_both_queueings)]
fn metrics_add_up_while_threads_come_and_go(builder: Builder) {
    let pool = builder.threads(1..=3).keep_alive(Duration::from_micros(50)).build().unwrap();
    watch_while(&pool, |submitted| {
        for n in 0..3000 {
            submitted.fetch_add(2, Ordering::SeqCst);
            pool.execute(move || {
                brigade::execute(move || {
                    brigade::blocking(|| assert!(n % 10 != 0, "expected"));
                });
            });
            if n % 300 == 0 {
                pool.resize(1..=2 + n / 300 % 2).unwrap();
                _ = pool.wait_idle_timeout(Duration::from_micros(200));
            }
            assert!((1..=6).contains(&pool.metrics().threads));
        }
        pool.wait_idle();
    });
    let sums = pool.metrics();
    assert_eq!((sums.accepted, sums.returned, sums.panicked), (6000, 5700, 300));
    // The jobs of threads that have ended still count.
    assert_eq!(sums.workers.iter().map(|worker| worker.run).sum::<u64>(), 6000);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 6000);
}

#[test]
fn metrics_add_up_while_futures_are_woken() {
    let pool = Pool::new(2);
    watch_while(&pool, |submitted| {
        for _ in 0..2000 {
            submitted.fetch_add(1, Ordering::SeqCst);
            pool.spawn(brigade::yield_now()).join().unwrap();
        }
    });
}
