//! Waits of jobs that unwind: the jobs that they wait for do not see it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use crate::support::busy::held;
use brigade::{Handle, Pool, TaskSet};
use brigade_testkit::{Gate, OnDrop, eventually, test};

/// Jobs that ran, and those of them that saw a panic.
#[derive(Default)]
struct Ran {
    all: AtomicUsize,
    saw_panic: AtomicUsize,
}

impl Ran {
    fn run(&self) {
        self.saw_panic.fetch_add(usize::from(thread::panicking()), SeqCst);
        self.all.fetch_add(1, SeqCst);
    }
}

/// How the drop of a value waits for `JOBS` jobs.
type Waits = fn(&Arc<Ran>);

const JOBS: usize = 3;

fn job(ran: &Arc<Ran>) -> impl FnOnce() + Send + 'static {
    let ran = ran.clone();
    move || ran.run()
}

const WAITS: [(&str, Waits); 6] = [
    ("handles", |ran| {
        let handles: Vec<_> = (0..JOBS).map(|_| brigade::submit(job(ran))).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    }),
    ("a set", |ran| {
        let mut set = TaskSet::new(Handle::current().unwrap());
        (0..JOBS).for_each(|_| _ = set.submit(job(ran)));
        set.wait_all();
    }),
    ("a set, one by one", |ran| {
        let mut set = TaskSet::new(Handle::current().unwrap());
        (0..JOBS).for_each(|_| _ = set.submit(job(ran)));
        while let Some(outcome) = set.join_next() {
            outcome.unwrap();
        }
    }),
    ("a limited set", |ran| {
        let mut set = TaskSet::new(Handle::current().unwrap()).limit(1);
        (0..JOBS).for_each(|_| _ = set.submit(job(ran)));
        set.wait_all();
    }),
    ("a scope", |ran| brigade::scope(|s| (0..JOBS).for_each(|_| s.execute(|| ran.run())))),
    ("scoped handles", |ran| {
        brigade::scope(|s| {
            let handles: Vec<_> = (0..JOBS).map(|_| s.submit(|| ran.run())).collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
    }),
];

/// Several jobs that panic, and wait meanwhile; returns what the awaited ones saw.
fn unwind(pool: &Pool, jobs: usize, waits: Waits) -> (usize, usize) {
    let ran = Arc::new(Ran::default());
    for _ in 0..jobs {
        let ran = ran.clone();
        pool.execute(move || {
            let _waits = OnDrop(|| waits(&ran));
            panic!("expected");
        });
    }
    assert!(pool.wait_idle());
    (ran.all.load(SeqCst), ran.saw_panic.load(SeqCst))
}

/// With more jobs at once than the pool has threads, the spare ones included, and with one.
#[test((what, waits) in WAITS, jobs in [1, 6])]
fn a_job_awaited_while_unwinding_sees_no_panic(jobs: usize, waits: Waits) {
    let pool = Pool::builder().threads(1).spare_threads(1).build().unwrap();
    assert_eq!(unwind(&pool, jobs, waits), (jobs * JOBS, 0));
}

#[test((what, waits) in WAITS)]
fn the_only_thread_runs_its_jobs_while_unwinding(waits: Waits) {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    assert_eq!(unwind(&pool, 2, waits), (2 * JOBS, 2 * JOBS));
}

/// Another worker is busy, so that the worker of the job that unwinds would run them, if any does.
///
/// Caught: a wait that runs anything ran them while its own job unwound.
#[test]
fn an_unwinding_jobs_wait_runs_nothing_else() {
    let (pool, other) =
        (Pool::builder().threads(2).waits_run_anything().build().unwrap(), Pool::new(1));
    let (gate, ran) = (Gate::closed(), Arc::new(Ran::default()));
    let (_busy, mut awaited) = (held(&pool, &gate), Some(held(&other, &gate)));
    let runs = ran.clone();
    pool.execute(move || {
        let _waits = OnDrop(|| {
            (0..JOBS).for_each(|_| brigade::execute(job(&runs)));
            awaited.take().unwrap().join().unwrap();
        });
        panic!("expected");
    });
    eventually("another thread runs them", || ran.all.load(SeqCst) == JOBS);
    gate.open();
    assert!(pool.wait_idle());
    assert_eq!(ran.saw_panic.load(SeqCst), 0);
}
