//! A high job runs next on a worker, wherever this takes its other jobs from.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::support::busy::occupy;
use brigade::{Builder, Order, Pool, Priority, Queueing, current_priority};
use brigade_testkit::{Gate, spin_for, test};

/// Fewer jobs than high ones may run in a row.
const JOBS: usize = 15;

/// A job that submits a high one while it runs; both tell their class.
fn job(ran: &Sender<Priority>) -> impl Fn() + Send + Clone + use<> {
    let ran = ran.clone();
    move || {
        let (high, here) = (ran.clone(), current_priority());
        let tell = move || high.send(current_priority()).unwrap();
        brigade::job().priority(Priority::High).execute(tell).unwrap();
        ran.send(here).unwrap();
    }
}

/// Pools that look elsewhere before each job, as one does whose jobs take 50 µs or more.
fn pools(threads: usize) -> impl Iterator<Item = (String, Builder)> {
    let of = move |queueing, order| {
        let pool = Pool::builder().threads(threads).queueing(queueing).order(order);
        let pool = pool.fairness(1).spare_threads(0);
        (format!("{queueing:?}, {order:?}"), pool)
    };
    let queueings = [Queueing::Stealing, Queueing::Shared].into_iter();
    queueings.flat_map(move |queueing| [Order::Fifo, Order::Lifo].map(|order| of(queueing, order)))
}

#[test((kind, pool) in pools(1))]
fn a_high_job_is_its_workers_next_job(pool: Builder) {
    let (pool, gate) = (pool.build().unwrap(), Gate::closed());
    let (ran, order) = mpsc::channel();
    occupy(&pool, &gate);
    for number in 0..JOBS {
        let (job, child) = (job(&ran), job(&ran));
        match number % 5 {
            0 => pool.job().priority(Priority::Low).execute(job).unwrap(),
            1 => drop(pool.job().on_worker(0).submit(job).unwrap()),
            // Each leaves one on the queue of the worker.
            2 => pool.execute(move || {
                brigade::execute(child);
                job();
            }),
            _ => pool.execute(job),
        }
    }
    // Then low jobs are due by their age.
    thread::sleep(Duration::from_millis(100));
    gate.open();
    drop((pool, ran));
    let order: Vec<_> = order.iter().collect();
    assert_eq!(order.len(), 2 * (JOBS + JOBS / 5));
    let mut pairs = order.chunks(2);
    let is_pair = |pair: &[Priority]| pair[0] < Priority::High && pair[1] == Priority::High;
    assert!(pairs.all(is_pair), "{order:?}");
}

/// A job that tells how many high jobs it submits, which tell 0.
fn row(count: usize, ran: &Sender<usize>) -> impl Fn() + Send + Clone + use<> {
    let ran = ran.clone();
    move || {
        ran.send(count).unwrap();
        for _ in 0..count {
            let high = ran.clone();
            let tell = move || high.send(0).unwrap();
            brigade::job().priority(Priority::High).execute(tell).unwrap();
        }
    }
}

#[test((kind, pool) in pools(1))]
fn one_other_job_ends_a_row_of_high_jobs(pool: Builder) {
    let (pool, gate) = (pool.build().unwrap(), Gate::closed());
    let (ran, order) = mpsc::channel();
    occupy(&pool, &gate);
    for _ in 0..10 {
        // As many as may run in a row, in a look; and one for the job that the turn has after it.
        let (longest, own) = (row(JOBS + 1, &ran), row(1, &ran));
        pool.execute(move || {
            brigade::execute(own.clone());
            brigade::execute(own);
            longest();
        });
    }
    gate.open();
    drop((pool, ran));
    let order: Vec<_> = order.iter().collect();
    let mut jobs = order.iter();
    while let Some(&count) = jobs.next() {
        let high = jobs.by_ref().take(count);
        assert!(count > 0 && high.sum::<usize>() == 0, "{order:?}");
    }
}

#[test((kind, pool) in pools(2))]
fn a_high_job_precedes_more_stolen_scope_jobs(pool: Builder) {
    let pool = pool.fairness(61).build().unwrap();
    let (ran, order) = mpsc::channel();
    let order = pool.scope(move |s| {
        (0..JOBS).for_each(|_| s.execute(job(&ran)));
        // The worker of the body runs nothing meanwhile.
        order.iter().take(2 * JOBS).collect::<Vec<_>>()
    });
    let order = order.unwrap();
    let expected = [Priority::Normal, Priority::High].into_iter().cycle();
    assert!(order.iter().copied().eq(expected.take(2 * JOBS)), "{order:?}");
}

/// The jobs that each thread has started.
#[derive(Default)]
struct Started(Mutex<Vec<(ThreadId, usize)>>);

impl Started {
    fn count(&self) {
        let (this, mut all) = (thread::current().id(), self.0.lock().unwrap());
        match all.iter_mut().find(|(thread, _)| *thread == this) {
            Some((_, count)) => *count += 1,
            None => all.push((this, 1)),
        }
    }

    fn read(&self) -> Vec<(ThreadId, usize)> {
        self.0.lock().unwrap().clone()
    }

    fn of(all: &[(ThreadId, usize)], thread: ThreadId) -> usize {
        all.iter().find(|(other, _)| *other == thread).map_or(0, |(_, count)| *count)
    }
}

/// Only of the thread that runs the high job: another may start some between the start of that job and its look at the counts.
#[test(120, (kind, pool) in pools(2))]
fn a_thread_starts_a_single_job_before_a_high_one(pool: Builder) {
    let (pool, started, stop) =
        (pool.build().unwrap(), Arc::new(Started::default()), Gate::closed());
    // Half of the jobs come from outside, and half from the queue of their worker.
    thread::scope(|outside| {
        for _ in 0..4 {
            let counts = started.clone();
            let step = move || {
                counts.count();
                spin_for(Duration::from_micros(100));
            };
            let (until, inside, pool) = (stop.clone(), step.clone(), &pool);
            pool.execute(move || super::waits::go_on(&until, inside));
            let until = stop.clone();
            outside.spawn(move || {
                while !until.is_open() {
                    pool.submit(step.clone()).join().unwrap();
                }
            });
        }
        let mut most = 0;
        for _ in 0..60 {
            let counts = started.clone();
            let high = pool.job().priority(Priority::High);
            let high = high.submit(move || (thread::current().id(), counts.read())).unwrap();
            let before = started.read();
            let (thread, then) = high.join().unwrap();
            let more = Started::of(&then, thread).saturating_sub(Started::of(&before, thread));
            most = most.max(more);
        }
        stop.open();
        assert!(most <= 1, "{most} jobs started on one thread");
    });
}
