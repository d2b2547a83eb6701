//! Futures in a set.

use std::future::pending;
use std::time::Duration;

use crate::support::busy::occupy;
use crate::support::full::at_rest;
use brigade::time::sleep;
use brigade::{Pool, Reason, TaskSet, block_on, yield_now};
use brigade_testkit::{Gate, test};

const SOON: Duration = Duration::from_millis(1);

#[test]
fn futures_and_closures_share_a_set() {
    let pool = Pool::new(2);
    let mut set = TaskSet::new(&pool).limit(3);
    for number in 0..100 {
        _ = match number % 5 {
            0 => set.submit(move || number),
            1 => set.submit(move || panic!("expected: {number}")),
            2 => set.spawn(async move { number }),
            3 => set.spawn(async move {
                sleep(SOON / 10).await;
                yield_now().await;
                number
            }),
            _ => set.spawn(async move {
                yield_now().await;
                panic!("expected: {number}")
            }),
        };
    }
    let (values, errors): (Vec<_>, Vec<_>) = set.outcomes().partition(Result::is_ok);
    let sum: i32 = values.into_iter().map(Result::unwrap).sum();
    assert_eq!(sum, (0..100).filter(|number| ![1, 4].contains(&(number % 5))).sum());
    assert_eq!(errors.len(), 40);
    assert!(errors.into_iter().all(|error| error.unwrap_err().is_panic()));
    assert_eq!(at_rest(&pool), [100, 60, 40, 0, 0]);
}

#[test]
fn a_set_at_its_limit_gets_rejected_work_back() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let mut sets = [TaskSet::new(&pool), TaskSet::new(&pool).limit(1)];
    sets.iter_mut().for_each(|set| _ = set.spawn(pending()));
    pool.close();
    for set in &mut sets {
        let rejected = set.try_spawn(async { 42 }).unwrap_err();
        assert_eq!(rejected.reason(), Reason::Closed);
        assert_eq!(block_on(rejected.into_inner()), 42);
        let rejected = set.try_submit(|| 43).unwrap_err();
        assert_eq!((rejected.reason(), rejected.into_inner()()), (Reason::Closed, 43));
        assert_eq!(set.len(), 1);
    }
    gate.open();
}
