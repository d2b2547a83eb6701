//! `close`: rejects work from outside at once, and changes nothing else.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::policy::queue_kinds;
use crate::support::verbs::all_work_comes_back;
use brigade::time::interval;
use brigade::{Pool, Reason, Shutdown, TaskSet, spawn_local};
use brigade_testkit::panics::text;
use brigade_testkit::{Gate, eventually, test};

const LONG: Duration = Duration::from_secs(10);

#[test((kind, pool) in queue_kinds(2))]
fn a_closed_pool_returns_outside_jobs(pool: Pool) {
    let (gate, handle) = (Gate::closed(), pool.handle());
    occupy(&pool, &gate);
    let queued: Vec<_> = (0..100).map(|n| pool.submit(move || n)).collect();
    pool.close();
    assert!(handle.metrics().is_closed);
    all_work_comes_back(handle, Reason::Closed);
    gate.open();
    let sum: i32 = queued.into_iter().map(|job| job.join().unwrap()).sum();
    assert_eq!(sum, 4950);
    assert_eq!(pool.shutdown(Shutdown::Discard).ran, 102);
    drop(pool);
    all_work_comes_back(handle, Reason::Closed);
}

#[test]
fn an_impossible_call_panics_with_the_reason() {
    let (pool, closed) = (Pool::new(1), Pool::builder().threads(0..=1).build().unwrap());
    closed.close();
    let with_deadline = || pool.job().deadline(Instant::now());
    let calls: [(&str, &dyn Fn()); 13] = [
        ("the pool is closed", &|| closed.execute(|| ())),
        ("the pool is closed", &|| drop(closed.submit(|| ()))),
        ("the pool is closed", &|| drop(closed.spawn(async {}))),
        ("the pool is closed", &|| closed.enter(|| drop(brigade::spawn(async {})))),
        ("the pool is closed", &|| drop(closed.enter(|| brigade::execute_after(LONG, || ())))),
        ("deadline", &|| drop(with_deadline().after(LONG))),
        ("deadline", &|| drop(with_deadline().at(Instant::now()))),
        ("deadline", &|| drop(with_deadline().every(LONG))),
        ("the period must be greater than zero", &|| drop(pool.job().every(Duration::ZERO))),
        ("the period must be greater than zero", &|| drop(interval(Duration::ZERO))),
        ("limit", &|| drop(TaskSet::<()>::new(&pool).limit(0))),
        ("4096", &|| drop(Pool::new(4097))),
        ("worker", &|| drop(spawn_local(async {}))),
    ];
    for (reason, call) in calls {
        let payload = panic::catch_unwind(AssertUnwindSafe(call)).expect_err(reason);
        let said = text(&*payload).unwrap();
        assert!(said.contains(reason), "{reason}: {said}");
    }
}

#[test((kind, pool) in queue_kinds(2))]
fn jobs_of_a_closed_pool_may_submit_to_it(pool: Pool) {
    let (pool, gate) = (Arc::new(pool), Gate::closed());
    let (owner, inner) = (Arc::downgrade(&pool), gate.clone());
    let (told, tells) = mpsc::channel();
    pool.execute(move || {
        inner.wait();
        let (by_handle, by_owner) = (told.clone(), told.clone());
        brigade::execute(move || by_handle.send("handle").unwrap());
        owner.upgrade().unwrap().execute(move || by_owner.send("owner").unwrap());
    });
    pool.close();
    gate.open();
    let mut told: Vec<_> = (0..2).map(|_| tells.recv_timeout(LONG).unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, ["handle", "owner"]);
}

#[test]
fn a_pool_may_be_closed_by_several_threads() {
    for _ in 0..100 {
        let (pool, ran) = (Arc::new(Pool::new(2)), Arc::new(AtomicUsize::new(0)));
        let (together, handle) = (Barrier::new(6), pool.handle());
        let accepted: usize = thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    together.wait();
                    pool.close();
                    pool.close();
                    assert!(handle.try_execute(|| ()).is_err(), "it was closed by ourselves");
                });
            }
            let submit = || {
                together.wait();
                let job = || {
                    let ran = Arc::clone(&ran);
                    move || _ = ran.fetch_add(1, Ordering::Relaxed)
                };
                // Until the first rejected one; none after it may be accepted.
                let accepted =
                    (0..1_000_000).take_while(|_| handle.try_execute(job()).is_ok()).count();
                assert!(handle.try_execute(job()).is_err());
                accepted
            };
            let submitters = [(); 3].map(|()| scope.spawn(submit));
            submitters.map(|thread| thread.join().unwrap()).iter().sum()
        });
        let report = Arc::into_inner(pool).unwrap().shutdown(Shutdown::Drain);
        assert_eq!((report.ran, report.still_running), (accepted as u64, 0));
        assert_eq!(ran.load(Ordering::Relaxed), accepted);
    }
}

#[test]
fn a_closed_pools_threads_end_after_its_work() {
    let (pool, gate) = (Pool::new(4), Gate::closed());
    occupy(&pool, &gate);
    pool.close();
    assert!(!pool.wait_idle_timeout(Duration::ZERO));
    gate.open();
    assert!(pool.wait_idle());
    eventually("they leave", || pool.metrics().threads == 0);
    // All other calls still work.
    pool.close();
    assert!(pool.wait_idle() && pool.resize(1..=8).is_ok());
    assert_eq!(pool.metrics().threads, 0, "no thread is needed");
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 4);
}
