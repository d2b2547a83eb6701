//! Threads that start, sleep and end all the time: the pool never relies on one that can't take a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::{await_idle_workers, for_both_queueings, workers};
use brigade::{Builder, Idle, JoinHandle, Pool, Queueing};
use brigade_testkit::{Gate, Meeting, Seed, eventually, spin_for, test};

/// Fault 27: the first thread is delayed before it can begin with any job, and does not count as idle.
#[test(for_both_queueings)]
fn a_job_does_not_wait_for_a_starting_thread(builder: Builder) {
    let (gate, held) = (Gate::closed(), Arc::new(AtomicBool::new(false)));
    let (until, first) = (gate.clone(), Arc::clone(&held));
    let builder = builder.threads(1..=3).on_start(move |_| {
        if !first.swap(true, Ordering::SeqCst) {
            until.wait();
        }
    });
    let pool = builder.build().unwrap();
    // Opened before the pool is waited for, if this fails.
    let gate = gate;
    eventually("the first thread is held up", || held.load(Ordering::SeqCst));
    for n in 0..50 {
        let mut job = pool.submit(move || n);
        let outcome = job.join_timeout(Duration::from_secs(10));
        let outcome = outcome.unwrap_or_else(|| panic!("job {n} waits: {:?}", pool.metrics()));
        assert_eq!(outcome.unwrap(), n);
    }
    assert!(workers(&pool) > 1);
    gate.open();
}

/// Fault 28, the shape of tokio#8056: a job that is left alone keeps all of its pool from ending.
#[test(120)]
fn barriers_meet_on_512_changing_pools() {
    let pools = |first: u64| {
        for number in (first..512).step_by(4) {
            let queueing = if number % 2 == 0 { Queueing::Stealing } else { Queueing::Shared };
            let keep_alive = Duration::from_micros(number % 100);
            let builder = Pool::builder().threads(1..=3).keep_alive(keep_alive);
            let pool = builder.queueing(queueing).build().unwrap();
            for _ in 0..20 {
                pool.execute(|| brigade::execute(thread::yield_now));
            }
            // One by one: each is long-lived, and finds the others busy or about to leave.
            let meeting = Meeting::of(3);
            let jobs = [(); 3].map(|()| {
                let attend = meeting.job();
                let (begun, begins) = std::sync::mpsc::channel();
                let job = pool.submit(move || {
                    begun.send(()).unwrap();
                    attend()
                });
                let waited = begins.recv_timeout(Duration::from_secs(10));
                assert!(waited.is_ok(), "left alone on pool {number}: {:?}", pool.metrics());
                job
            });
            assert_eq!(jobs.map(|job| job.join().unwrap()), [true; 3], "pool {number}");
        }
    };
    thread::scope(|scope| (0..4).for_each(|first| _ = scope.spawn(move || pools(first))));
}

/// Fault 29: a count that slips by one a cycle has to show after as many cycles as its field has values.
#[test(120)]
fn counts_return_after_70_000_parks() {
    let pool = Pool::builder().threads(4).prestart(4).build().unwrap();
    await_idle_workers(&pool, 4);
    let parks = || pool.metrics().workers.iter().map(|worker| worker.parks).sum::<u64>();
    while parks() < 70_000 {
        for _ in 0..1000 {
            pool.job().execute_batch([|| (); 4]).unwrap();
            pool.wait_idle();
        }
    }
    await_idle_workers(&pool, 4);
    let meeting = Meeting::of(4);
    let met = [(); 4].map(|()| pool.submit(meeting.job()));
    assert_eq!(met.map(|job| job.join().unwrap()), [true; 4]);
    await_idle_workers(&pool, 4);
}

/// S10: `rusty_pool` left 3 of 7,200 jobs on a queue that no thread looked at any more.
#[test]
fn a_job_beside_a_worker_going_idle_runs() {
    let mut seed = Seed::printed();
    for queueing in [Queueing::Stealing, Queueing::Shared] {
        for idle in [Idle::Park, Idle::SpinThenPark(Duration::from_micros(20))] {
            for threads in [1, 2] {
                let builder = Pool::builder().threads(threads).queueing(queueing).idle(idle);
                rounds_of_add_and_wait(&builder.build().unwrap(), 1500, &mut seed);
            }
        }
    }
}

/// Every other job comes from a worker, just before that worker goes idle.
pub(super) fn rounds_of_add_and_wait(pool: &Pool, rounds: u32, seed: &mut Seed) {
    for round in 0..rounds {
        spin_for(seed.micros(60));
        if round % 2 == 0 {
            outcome_of(pool.submit(|| ()), round);
        } else {
            let child = outcome_of(pool.submit(|| brigade::submit(|| ())), round);
            outcome_of(child, round);
        }
    }
}

fn outcome_of<T>(mut job: JoinHandle<T>, round: u32) -> T {
    let outcome = job.join_timeout(Duration::from_secs(5));
    outcome.unwrap_or_else(|| panic!("the job of round {round} is stranded")).unwrap()
}
