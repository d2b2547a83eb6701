//! The ids of a set's jobs: each cancels its job, and comes back with its outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::busy::occupy;
use brigade::{Handle, Pool, Shutdown, TaskSet};
use brigade_testkit::{Gate, test};

#[test(limit in [1, 2, 100])]
fn each_outcome_has_its_jobs_id(limit: usize) {
    let pool = Pool::new(2);
    let mut set = TaskSet::new(&pool).limit(limit);
    let mut asked: BTreeMap<_, _> = (0..50).map(|n| (set.submit(move || n), n)).collect();
    asked.extend((50..100).map(|n| (set.spawn(async move { n }), n)));
    assert!(asked.keys().copied().eq(0..100));
    while let Some((id, outcome)) = set.join_next_with_id() {
        assert_eq!(asked.remove(&id), Some(outcome.unwrap()));
    }
    assert!(asked.is_empty(), "{asked:?}");
}

#[test(limit in [1, 3, 100])]
fn an_id_cancels_its_job_alone_anywhere(limit: usize) {
    let (pool, gate, witness) = (Pool::new(1), Gate::closed(), Arc::new(()));
    occupy(&pool, &gate);
    let mut set = TaskSet::new(&pool).limit(limit);
    let ids: Vec<_> = (0..10)
        .map(|n| {
            let witness = witness.clone();
            set.submit(move || (n, drop(witness)).0)
        })
        .collect();
    // With a limit, the first are on the pool and the others in line.
    for (number, id) in [0, 4, 9, 5].into_iter().enumerate() {
        assert!(set.cancel(ids[id]), "{id}");
        assert_eq!(Arc::strong_count(&witness), 10 - number, "its captures are dropped at once");
        assert!(!set.cancel(ids[id]), "{id}, again");
    }
    assert!(!set.cancel(ids[9] + 1) && !set.cancel(usize::MAX), "there is no such job");
    gate.open();
    let mut outcomes = BTreeMap::new();
    while let Some((id, outcome)) = set.join_next_with_id() {
        assert!(outcomes.insert(id, outcome.ok()).is_none());
    }
    let expected = (0..10).map(|n| (n, Some(n).filter(|n| ![0, 4, 5, 9].contains(n))));
    assert!(outcomes.into_iter().eq(expected), "limit {limit}");
    assert!(!set.cancel(ids[1]), "its outcome has been taken");
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!((report.ran, report.discarded), (7, 4), "limit {limit}");
}

#[test]
fn a_default_set_is_on_the_current_pool() {
    let pool = Pool::new(1);
    let sum = pool.enter(|| {
        let mut set = TaskSet::default();
        set.submit(|| Handle::current().into_iter().count());
        set.spawn(async { 41 });
        set.outcomes().map(Result::unwrap).sum::<usize>()
    });
    assert_eq!((sum, pool.metrics().accepted), (42, 2));
}
