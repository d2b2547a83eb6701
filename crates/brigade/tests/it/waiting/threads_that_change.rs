//! `wait_idle` while threads block, leave, are started or fail to start, and while a full pool drops jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, thread};

use crate::support::crowd::{await_idle_workers, for_both_queueings, workers};
use crate::support::trees::Trees;
use brigade::{Builder, NewThread, Pool, TaskSet, Thread};
use brigade_testkit::{Gate, eventually, test};

/// Where a job waits, and whether it has arrived there.
#[derive(Clone, Default)]
struct Stop {
    began: Gate,
    gate: Gate,
}

impl Stop {
    fn here(&self) {
        self.began.open();
        self.gate.wait();
    }

    /// A job that waits there, on the pool by the time this returns.
    fn hold_a_thread(&self, pool: &Pool) {
        let stop = self.clone();
        pool.execute(move || stop.here());
        self.began.wait();
    }
}

#[test(for_both_queueings)]
fn a_wait_ends_before_a_leaving_workers_hook(builder: Builder) {
    let (held, stopping) = (Stop::default(), Stop::default());
    let stop = stopping.clone();
    let pool = builder.threads(2).on_stop(move |_| stop.here()).build().unwrap();
    held.hold_a_thread(&pool);
    let other = Stop::default();
    other.hold_a_thread(&pool);
    pool.resize(1).unwrap();
    other.gate.open();
    stopping.began.wait();
    held.gate.open();
    assert!(pool.wait_idle());
    stopping.gate.open();
}

/// Review finding: a wait took as long as the start hook of a thread that was started for a job another one ran.
#[test(for_both_queueings)]
fn a_wait_does_not_wait_for_a_start_hook(builder: Builder) {
    let (held, hook) = (Stop::default(), Stop::default());
    let stop = hook.clone();
    let on_start = move |index| {
        if index == 1 {
            stop.here();
        }
    };
    let pool = builder.threads(1..=2).on_start(on_start).build().unwrap();
    held.hold_a_thread(&pool);
    pool.execute(|| ());
    hook.began.wait();
    held.gate.open();
    assert!(pool.wait_idle());
    hook.gate.open();
}

/// A spawner that starts one thread, and each other when the gate has opened.
fn slow_after_the_first(stop: &Stop) -> impl Fn(NewThread) -> io::Result<Thread> + 'static {
    let (stop, asked) = (stop.clone(), AtomicUsize::new(0));
    move |thread: NewThread| {
        if asked.fetch_add(1, Ordering::SeqCst) > 0 {
            stop.here();
        }
        thread.start()
    }
}

#[test(for_both_queueings)]
fn a_wait_ignores_a_starting_thread(builder: Builder) {
    let (held, starting) = (Stop::default(), Stop::default());
    let spawner = slow_after_the_first(&starting);
    let pool = builder.threads(1..=2).spawner(spawner).build().unwrap();
    await_idle_workers(&pool, 1);
    held.hold_a_thread(&pool);
    let handle = pool.handle();
    thread::scope(|scope| {
        scope.spawn(move || handle.execute(|| ()));
        starting.began.wait();
        held.gate.open();
        assert!(pool.wait_idle());
        starting.gate.open();
    });
    assert!(pool.wait_idle());
}

#[test(for_both_queueings)]
fn a_wait_includes_a_sets_jobs_beyond_its_limit(builder: Builder) {
    let (pool, trees) = (builder.threads(2).build().unwrap(), Trees::default());
    for _ in 0..100 {
        let mut set = TaskSet::new(pool.handle()).limit(1);
        (0..5).for_each(|_| _ = set.submit(trees.job(1)));
        assert!(pool.wait_idle());
        assert_eq!(trees.unfinished(), 0);
    }
}

#[test(for_both_queueings)]
fn a_threadless_pool_is_idle_and_stays_so(builder: Builder) {
    let pool = builder.threads(0..=2).keep_alive(Duration::ZERO).build().unwrap();
    for _ in 0..10 {
        assert!(pool.wait_idle() && pool.wait_idle_timeout(Duration::ZERO));
        assert_eq!(workers(&pool), 0);
        pool.execute(|| ());
        assert!(pool.wait_idle());
        eventually("its thread leaves", || workers(&pool) == 0);
    }
}

#[test(for_both_queueings)]
fn a_timed_out_wait_leaves_other_waits(builder: Builder) {
    let (pool, held) = (builder.threads(1).build().unwrap(), Stop::default());
    held.hold_a_thread(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        let gives_up = || pool.wait_idle_timeout(Duration::from_millis(20));
        let waits = [(); 3].map(|()| scope.spawn(gives_up));
        let stays = [(); 3].map(|()| {
            let counted = Arc::clone(&ran);
            pool.execute(move || _ = counted.fetch_add(1, Ordering::Relaxed));
            scope.spawn(|| pool.wait_idle())
        });
        assert!(waits.into_iter().all(|wait| !wait.join().unwrap()));
        held.gate.open();
        assert!(stays.into_iter().all(|wait| wait.join().unwrap()));
        assert_eq!(ran.load(Ordering::Relaxed), 3);
    });
}
