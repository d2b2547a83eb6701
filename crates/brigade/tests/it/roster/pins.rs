//! The CPUs that threads are pinned to.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use crate::support::crowd::threads_named;
use crate::support::nice::nice_here;
use brigade::{Cpus, Handle, Pool, blocking, current_worker_index};
use brigade_sync::affinity::ThreadRef;
use brigade_testkit::{Meeting, eventually, test};

/// The CPUs that the calling thread may run on.
fn mine() -> Vec<usize> {
    ThreadRef::current().affinity().expect("Linux tells").cpus().collect()
}

/// The CPUs of each worker by its index, when as many jobs run at once.
fn of_each(pool: &Pool, threads: usize) -> Vec<Vec<usize>> {
    let meeting = Arc::new(Meeting::of(threads));
    let jobs = (0..threads).map(|_| {
        let meeting = meeting.job();
        pool.submit(move || {
            assert!(meeting(), "all are there");
            (current_worker_index().expect("a worker"), mine())
        })
    });
    let jobs: Vec<_> = jobs.collect();
    let mut seen: Vec<_> = jobs.into_iter().map(|job| job.join().unwrap()).collect();
    seen.sort();
    assert!(seen.iter().map(|(index, _)| *index).eq(0..threads), "{seen:?}");
    seen.into_iter().map(|(_, cpus)| cpus).collect()
}

#[test]
fn each_thread_and_its_replacement_run_on_its_cpu() {
    let all = mine();
    let (first, last) = (all[0], all[all.len() - 1]);
    let pool = Pool::builder().name("pins").threads(3).pin([last, first]).build().unwrap();
    let expected = [vec![last], vec![first], all];
    assert_eq!(of_each(&pool, 3), expected);
    pool.resize(1).unwrap();
    // Until a thread has ended, no other one has its index.
    eventually("two threads end", || threads_named("pins-") == 1);
    pool.resize(3).unwrap();
    assert_eq!(of_each(&pool, 3), expected, "new threads, the same pins");
}

#[test]
fn a_spare_thread_shares_the_cpus_of_all() {
    let all = mine();
    let one = vec![all[0]];
    let others = all[1..].iter().copied();
    let pins = [
        (Cpus::each(one.clone()), all.clone()),
        (Cpus::among(one.clone()), one.clone()),
        (Cpus::except(others), one.clone()),
    ];
    for (pin, expected) in pins {
        let pool = Pool::builder().threads(1).spare_threads(1).pin(pin).build().unwrap();
        let seen = pool.submit(|| {
            let here = mine();
            let pool = Handle::current().expect("a worker");
            let (sender, receiver) = std::sync::mpsc::channel();
            pool.execute(move || sender.send(mine()).unwrap());
            (here, blocking(|| receiver.recv().unwrap()))
        });
        assert_eq!(seen.join().unwrap(), (one.clone(), expected));
    }
}

#[test]
fn all_threads_run_on_any_of_several_cpus() {
    let all = mine();
    let pool = Pool::builder().threads(2).pin(Cpus::among(all.clone())).build().unwrap();
    assert_eq!(of_each(&pool, 2), [all.clone(), all.clone()]);
    let Some((first, rest)) = all.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return;
    };
    let pool = Pool::builder().threads(2).pin(Cpus::except([*first])).build().unwrap();
    assert_eq!(of_each(&pool, 2), [rest, rest]);
}

#[test]
fn a_missing_cpu_fails_the_build() {
    let builder = Pool::builder().threads(1).pin([usize::MAX]);
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let pool = Pool::builder().threads(1).pin([usize::MAX]).pin(Cpus::cores()).build().unwrap();
    assert_eq!(of_each(&pool, 1)[0].len(), 1);
}

#[test]
fn an_impossible_cpu_or_nice_value_fails_the_build() {
    let told = |builder: brigade::Builder| {
        let error = builder.threads(1).build().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        error.to_string()
    };
    for cpus in [Cpus::each([]), Cpus::among([]), Cpus::mask(0), Vec::new().into(), (3..3).into()] {
        let reason = told(Pool::builder().pin(cpus));
        assert!(reason.contains("name one, or build the pool without `pin`"), "{reason}");
    }
    for nice in [-21, 20, 99, i32::MIN, i32::MAX] {
        let reason = told(Pool::builder().nice(nice));
        assert_eq!(reason, format!("a nice value is -20 to 19, not {nice}"));
    }
    let pool = Pool::builder().threads(1).nice(99).pin([]).nice(19).pin(mine());
    assert_eq!(pool.build().unwrap().submit(nice_here).join().unwrap(), 19, "the last one holds");
}

#[test]
fn every_thread_has_the_nice_value() {
    let mine = nice_here();
    let pool = Pool::builder().threads(2).nice(mine + 3).build().unwrap();
    let seen = pool.broadcast(move |_| nice_here());
    assert!(seen.into_iter().all(|share| share.join().unwrap() == mine + 3));
    assert_eq!(nice_here(), mine, "not that of the thread that builds the pool");
    let preferred = Pool::builder().threads(1).nice(mine - 5).build();
    match preferred.map_err(|error| error.kind()) {
        Ok(pool) => assert_eq!(pool.submit(nice_here).join().unwrap(), mine - 5),
        Err(kind) => {
            assert!(kind == std::io::ErrorKind::PermissionDenied, "{kind}");
        }
    }
}
