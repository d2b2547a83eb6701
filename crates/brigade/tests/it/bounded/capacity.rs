//! A bounded pool queues exactly as many jobs as its capacity, from inside and outside.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{at_rest, busy, fill};
use brigade::{Builder, Handle, Pool, WhenFull};
use brigade_testkit::{Bomb, Drops, Gate, Halt, test};

/// More than a worker's own queue holds, so that they are queued in several places.
#[test(for_both_queueings)]
fn queued_jobs_of_workers_count_anywhere(builder: Builder) {
    const CAPACITY: usize = 700;
    let pool = builder.threads(1).capacity(CAPACITY).when_full(WhenFull::Reject).build().unwrap();
    let halt = Halt::default();
    let stops = halt.clone();
    let accepted = pool.submit(move || {
        let here = Handle::current().unwrap();
        let accepted = (0..2 * CAPACITY).filter(|_| here.job().execute(|| ()).is_ok()).count();
        stops.here();
        accepted
    });
    halt.await_thread();
    assert_eq!(fill(&pool), 0);
    halt.release();
    assert_eq!(accepted.join().unwrap(), CAPACITY);
    let jobs = CAPACITY as u64 + 1;
    assert_eq!(at_rest(&pool), [jobs, jobs, 0, 0, 0]);
}

/// Each has as many jobs as there is room for, or a quarter of them: no submission is rejected because of another one that does not get the
/// room.
#[test(jobs in [25, 100], for_both_queueings)]
fn four_submitters_fill_it_exactly(builder: Builder, jobs: usize) {
    let pool = builder.threads(1).capacity(100).when_full(WhenFull::Reject).build().unwrap();
    for _ in 0..200 {
        let (gate, start) = (Gate::closed(), Barrier::new(4));
        occupy(&pool, &gate);
        let submit = || {
            start.wait();
            (0..jobs).filter(|_| pool.try_execute(|| ()).is_ok()).count()
        };
        let accepted = thread::scope(|scope| {
            [(); 4].map(|()| scope.spawn(submit)).map(|accepted| accepted.join().unwrap())
        });
        assert_eq!((accepted.iter().sum(), fill(&pool)), (100, 0));
        gate.open();
        pool.wait_idle();
    }
}

#[test(for_both_queueings)]
fn a_job_releases_its_permit_before_it_runs(builder: Builder) {
    let (pool, gate) = busy(builder, 1, WhenFull::Reject);
    let own = pool.handle();
    let next = pool.try_submit(move || own.try_execute(|| ()).map_err(|full| full.reason()));
    assert_eq!(fill(&pool), 0);
    gate.open();
    assert_eq!(next.unwrap().join().unwrap(), Ok(()));
}

#[test(for_both_queueings)]
fn a_job_run_by_join_releases_its_permit(builder: Builder) {
    let pool = builder.threads(1).capacity(1).when_full(WhenFull::Reject).build().unwrap();
    let parent = pool.submit(|| {
        let here = Handle::current().unwrap();
        let child = here.submit(move || here.try_execute(|| ()).is_ok());
        assert!(here.try_execute(|| ()).is_err(), "the child is queued");
        child.join().unwrap()
    });
    assert!(parent.join().unwrap());
}

#[test(for_both_queueings)]
fn panics_of_jobs_and_captures_release_permits(builder: Builder) {
    let (pool, gate) = busy(builder, 3, WhenFull::Reject);
    pool.execute(|| panic!("expected: body"));
    let bomb = Bomb;
    pool.job().deadline(Instant::now()).execute(move || drop(bomb)).unwrap();
    let bomb = Bomb;
    assert!(pool.submit(move || drop(bomb)).cancel());
    assert_eq!(fill(&pool), 1);
    gate.open();
    assert_eq!(at_rest(&pool), [5, 2, 1, 2, 0]);
    let gate = Gate::closed();
    occupy(&pool, &gate);
    assert_eq!(fill(&pool), 3);
    gate.open();
}

#[test]
fn build_refuses_only_a_pool_without_any_room() {
    let refused = Pool::builder().threads(1).capacity(0).build().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    let pool = Pool::builder()
        .threads(1)
        .capacity(usize::MAX)
        .when_full(WhenFull::Reject)
        .build()
        .unwrap();
    (0..1000).for_each(|_| pool.execute(|| ()));
    assert_eq!(at_rest(&pool)[0], 1000);
}

#[test]
fn a_pool_without_a_capacity_is_never_full() {
    let pool = Pool::builder().threads(1).when_full(WhenFull::DropNewest).build().unwrap();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    for _ in 0..2000 {
        pool.execute(|| ());
    }
    pool.submit(|| ());
    pool.job().when_full(WhenFull::BlockFor(Duration::ZERO)).execute(|| ()).unwrap();
    brigade::block_on(pool.job().reserve()).unwrap().execute(|| ()).unwrap();
    gate.open();
    assert_eq!(at_rest(&pool), [2004, 2004, 0, 0, 0]);
}

#[test(for_both_queueings)]
fn a_cancelled_job_releases_its_permit_at_once(builder: Builder) {
    let (pool, gate) = busy(builder, 3, WhenFull::Reject);
    let drops = Drops::default();
    for by_cancel_handle in [false, true] {
        for is_future in [false, true] {
            let jobs: Vec<_> = (0..3)
                .map(|_| {
                    let token = drops.token();
                    match is_future {
                        true => pool.try_spawn(async move { drop(token) }).unwrap(),
                        false => pool.try_submit(move || drop(token)).unwrap(),
                    }
                })
                .collect();
            assert_eq!(fill(&pool), 0);
            let dropped = drops.count();
            for job in jobs {
                assert!(match by_cancel_handle {
                    true => job.cancel_handle().cancel(),
                    false => job.cancel(),
                });
                assert!(job.is_finished());
            }
            assert_eq!(drops.count(), dropped + 3, "here, as no thread of the pool is free");
        }
    }
    assert_eq!(fill(&pool), 3, "and no permit is given back twice");
    gate.open();
    assert_eq!(at_rest(&pool), [16, 4, 0, 12, 0]);
}
