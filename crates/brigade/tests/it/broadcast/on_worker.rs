//! Jobs for one worker.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::verbs::all_work_comes_back;
use brigade::{
    Builder, Cause, JoinError, Pool, Reason, Shutdown, current_job_name, current_worker_index,
};
use brigade_testkit::{Gate, test};

#[test(threads in [1, 2, 8], for_both_queueings)]
fn each_job_runs_on_its_worker_in_senders_order(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    let (told, tells) = mpsc::channel();
    for number in 0..100 {
        let told = told.clone();
        let tell = move || told.send((current_worker_index(), number)).unwrap();
        pool.job().on_worker(number % threads).execute(tell).unwrap();
    }
    drop(told);
    let ran: Vec<_> = tells.iter().collect();
    assert_eq!(ran.len(), 100);
    for index in 0..threads {
        let of_it = ran.iter().filter(|(ran_on, _)| *ran_on == Some(index));
        assert!(of_it.map(|&(_, number)| number).eq((index..100).step_by(threads)));
    }
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 100);
}

#[test]
fn a_job_waits_for_its_worker_beside_an_idle_peer() {
    let (pool, gate) = (Pool::builder().threads(2).prestart(2).build().unwrap(), Gate::closed());
    let wait = gate.clone();
    let busy = pool.job().on_worker(0).submit(move || wait.wait()).unwrap();
    let mut job = pool.job().on_worker(0).submit(current_worker_index).unwrap();
    assert_eq!(pool.job().on_worker(1).submit(|| 1).unwrap().join().unwrap(), 1);
    assert!(job.try_join().is_none());
    gate.open();
    busy.join().unwrap();
    assert_eq!(job.join().unwrap(), Some(0));
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn a_job_joins_on_its_own_and_another_worker(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).spare_threads(0).build().unwrap();
    let handle = pool.handle();
    let job = move || {
        let jobs = (0..threads).map(|index| handle.job().on_worker(index));
        let jobs: Vec<_> = jobs.map(|job| job.submit(current_worker_index).unwrap()).collect();
        jobs.into_iter().map(|job| job.join().unwrap().unwrap()).collect::<Vec<_>>()
    };
    assert!(pool.submit(job).join().unwrap().into_iter().eq(0..threads));
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn a_missing_worker_returns_the_closure(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    let sent = String::from("sent");
    let rejected = pool.job().on_worker(threads).submit(move || sent).unwrap_err();
    assert_eq!(rejected.reason(), Reason::NoSuchWorker);
    assert_eq!(rejected.into_inner()(), "sent");
    let named = pool.job().name("x").on_worker(usize::MAX).execute(|| ()).unwrap_err();
    assert_eq!(named.reason(), Reason::NoSuchWorker);
    pool.close();
    all_work_comes_back(pool.handle(), Reason::Closed);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 0);
}

#[test]
fn a_name_and_a_deadline_apply() {
    let pool = Pool::new(2);
    let job = pool.job().name("reload").on_worker(1).submit(current_job_name).unwrap();
    assert_eq!(job.join().unwrap().as_deref(), Some("reload"));
    let late = pool.job().deadline(Instant::now()).on_worker(1).submit(|| ()).unwrap();
    assert!(matches!(late.join(), Err(JoinError::Cancelled(Cause::Deadline))));
    let soon = Instant::now() + Duration::from_secs(600);
    pool.job().deadline(soon).on_worker(0).submit(|| ()).unwrap().join().unwrap();
}

/// Each ends once, whatever ends the pool.
#[test(
    (how, cancelled) in [(Shutdown::Drain, 0), (Shutdown::Finish, 0), (Shutdown::Discard, 10)]
)]
fn an_ending_pool_runs_or_cancels_them(how: Shutdown, cancelled: u64) {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let jobs: Vec<_> = (0..10).map(|_| pool.job().on_worker(0).submit(|| ()).unwrap()).collect();
    let report = pool.shutdown(how.timeout(Duration::ZERO));
    assert_eq!(report.still_running, 11 - cancelled);
    gate.open();
    let ended = jobs.into_iter().map(|job| job.join().is_err());
    assert_eq!(ended.filter(|is_cancelled| *is_cancelled).count() as u64, cancelled);
}
