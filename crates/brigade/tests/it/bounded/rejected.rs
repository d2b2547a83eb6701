//! A job that is rejected for lack of room is returned unchanged, and may be submitted again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest, busy, full};
use crate::support::verbs::all_work_comes_back;
use brigade::{Builder, Reason, Shutdown, WhenFull};
use brigade_testkit::{eventually, test};

#[test(for_both_queueings)]
fn a_full_pool_returns_the_work_of_each_verb(builder: Builder) {
    let (pool, gate) = full(builder, 2, WhenFull::Reject);
    all_work_comes_back(pool.handle(), Reason::Full);
    gate.open();
    assert_eq!(at_rest(&pool), [3, 3, 0, 0, 0]);
}

#[test(policy in POLICIES, jobs in [0, 2], for_both_queueings)]
fn a_closed_pool_says_closed_even_if_full(builder: Builder, policy: WhenFull, jobs: u64) {
    let (pool, gate) = busy(builder, 2, policy);
    (0..jobs).for_each(|_| pool.execute(|| ()));
    let handle = pool.handle();
    let closing = thread::spawn(move || pool.shutdown(Shutdown::Drain));
    eventually("the pool closes", || handle.metrics().is_closed);
    all_work_comes_back(handle, Reason::Closed);
    gate.open();
    assert_eq!(closing.join().unwrap().ran, jobs + 1);
}

#[test(for_both_queueings)]
fn a_job_refused_a_thread_holds_no_permit(builder: Builder) {
    let builder = builder.threads(0..=1).capacity(1).when_full(WhenFull::Block);
    let pool = builder.spawner(|_| Err(std::io::Error::other("none left"))).build().unwrap();
    for _ in 0..3 {
        assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), Reason::NoThread);
    }
}

#[test(for_both_queueings)]
fn each_of_1000_resubmitted_jobs_runs_once(builder: Builder) {
    let pool = builder.threads(2).capacity(1).when_full(WhenFull::Reject).build().unwrap();
    let runs: Arc<[AtomicUsize]> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
    for number in 0..1000 {
        let counted = runs.clone();
        let mut job = move || _ = counted[number].fetch_add(1, Ordering::Relaxed);
        while let Err(rejected) = pool.try_execute(job) {
            job = rejected.into_inner();
            thread::yield_now();
        }
    }
    pool.wait_idle();
    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
}

#[test(for_both_queueings)]
fn a_batch_is_accepted_up_to_the_permits(builder: Builder) {
    let (pool, gate) = busy(builder, 3, WhenFull::Reject);
    let (sender, ran) = mpsc::channel();
    let jobs = (0..10).map(|number| {
        let sender = sender.clone();
        move || sender.send(number).unwrap()
    });
    let rejected = pool.handle().job().execute_batch(jobs).unwrap_err();
    assert_eq!(rejected.reason(), Reason::Full);
    gate.open();
    pool.wait_idle();
    assert!(ran.try_iter().eq(0..3));
    rejected.into_inner().into_iter().for_each(|job| job());
    assert!(ran.try_iter().eq(3..10));
}
