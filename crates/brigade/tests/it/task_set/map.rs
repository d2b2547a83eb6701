//! A map returns a result for each item, takes few items ahead, and loses none.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade::{Builder, Handle, MapError, Pool, Reason, WhenFull};
use brigade_testkit::{Gate, test};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;

#[test(for_both_queueings)]
fn results_have_the_order_of_the_items(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    for (length, window) in [(0, 1), (1, 0), (100, 0), (100, 1), (100, 3), (100, 1000)] {
        let results = pool.map(0..length, window, |index| index * 2);
        assert_eq!(results.size_hint(), (length, Some(length)));
        assert!(results.map(Result::unwrap).eq((0..length).map(|index| index * 2)));
        let mut all: Vec<_> =
            pool.map_unordered(0..length, window, |index| index).map(Result::unwrap).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..length));
    }
}

/// The iterator is not `Send`, and has no end.
#[test(for_both_queueings)]
fn a_map_takes_no_more_items_than_the_window(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let taken = Rc::new(Cell::new(0));
    let items = |taken: &Rc<Cell<usize>>| {
        let taken = taken.clone();
        (0..).inspect(move |_| taken.set(taken.get() + 1))
    };
    let mut results = pool.map(items(&taken), 5, |index| index);
    assert_eq!(taken.get(), 0, "lazy");
    for index in 0..10 {
        assert_eq!(results.next().unwrap().unwrap(), index);
        assert_eq!(taken.get(), 5 + index);
    }
    taken.set(0);
    let mut results = pool.map_unordered(items(&taken), 5, |index: usize| index);
    results.by_ref().take(10).for_each(|result| assert!(result.unwrap() < 14));
    assert_eq!(taken.get(), 14);
}

#[test(for_both_queueings)]
fn a_slow_item_holds_up_no_unordered_result(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let gate = Arc::new(Gate::closed());
    let held = gate.clone();
    let call = move |index| {
        if index == 0 {
            held.wait();
        }
        index
    };
    let mut results = pool.map_unordered(0..50, 2, call);
    let first: Vec<i32> = results.by_ref().take(49).map(Result::unwrap).collect();
    assert!(first.into_iter().eq(1..50));
    gate.open();
    assert_eq!(results.next().unwrap().unwrap(), 0);
    assert!(results.next().is_none());
}

#[test(for_both_queueings)]
fn a_panic_is_the_error_of_its_item(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let call = |index: u32| {
        assert!(index % 10 != 3, "{index} panics");
        index
    };
    let ended: Vec<_> = pool.map(0..30, 4, call).collect();
    for (index, result) in ended.iter().enumerate() {
        match result {
            Ok(number) => assert_eq!(*number as usize, index),
            Err(MapError::Job(error)) => {
                assert!(error.to_string().contains(&format!("{index} panics")))
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(ended.iter().filter(|result| result.is_err()).count(), 3);
    assert_eq!(pool.map_unordered(0..30, 4, call).filter(Result::is_err).count(), 3);
}

#[test(for_both_queueings)]
fn a_panic_of_the_items_unwinds_in_next(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let items = (0..10).inspect(|index| assert!(*index != 4, "4 is no item"));
    let mut results = pool.map(items, 3, |index| index);
    let mut seen = Vec::new();
    let mut panics = 0;
    loop {
        match panic::catch_unwind(AssertUnwindSafe(|| results.next())) {
            Ok(Some(result)) => seen.push(result.unwrap()),
            Ok(None) => break,
            Err(_) => panics += 1,
        }
    }
    assert_eq!((seen, panics), (vec![0, 1, 2, 3, 5, 6, 7, 8, 9], 1));
}

#[test(for_both_queueings)]
fn a_dropped_map_cancels_jobs_that_have_not_begun(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let (gate, ran) = (Arc::new(Gate::closed()), Arc::new(AtomicUsize::new(0)));
    let call = {
        let (gate, ran) = (gate.clone(), ran.clone());
        move |index| {
            ran.fetch_add(1, Ordering::Relaxed);
            if index > 0 {
                gate.wait();
            }
        }
    };
    let mut ordered = pool.map(0..100, 10, call.clone());
    ordered.next().unwrap().unwrap();
    drop(ordered);
    gate.open();
    pool.wait_idle();
    assert!(ran.load(Ordering::Relaxed) <= 2, "the rest was queued");
    assert_eq!(Arc::strong_count(&gate), 2, "the calls are dropped, but for this one");
    drop(call);
}

#[test(for_both_queueings)]
fn a_closed_pool_gives_each_call_back(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    pool.close();
    let here = |result: Option<Result<u32, MapError<u32>>>| match result {
        Some(Err(MapError::Rejected(rejected))) => {
            assert_eq!(rejected.reason(), Reason::Closed);
            rejected.into_inner()()
        }
        other => panic!("{other:?}"),
    };
    let mut ordered = pool.map(1_u32..=2, 8, |index| index * 10);
    assert_eq!((here(ordered.next()), here(ordered.next())), (10, 20));
    assert!(ordered.next().is_none());
    let mut unordered = pool.map_unordered(1_u32..=2, 8, |index| index * 10);
    assert_eq!((here(unordered.next()), here(unordered.next())), (10, 20));
    assert!(unordered.next().is_none());
}

/// The only thread waits for the results of a map that is nested in another one.
#[test(for_both_queueings)]
fn a_job_of_the_pool_may_map_on_it(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let sum =
        |pool: Handle, n: u64| pool.map(0..n, 4, |index| index).map(Result::unwrap).sum::<u64>();
    let here = pool.handle();
    let sums = pool.map(0..10_u64, 4, move |n| sum(here, n)).map(Result::unwrap);
    assert!(sums.eq((0..10_u64).map(|n| n * n.saturating_sub(1) / 2)));
}

#[test(when_full in [WhenFull::Block, WhenFull::Reject])]
fn a_full_pool_takes_its_time_or_gives_the_call_back(when_full: WhenFull) {
    let pool = Pool::builder().threads(1).capacity(1).when_full(when_full).build().unwrap();
    let unordered = pool.map_unordered(0..100, 10, |index| index).map(Result::unwrap);
    assert_eq!(unordered.count(), 100, "never rejected");
    if when_full == WhenFull::Block {
        assert!(pool.map(0..100, 10, |index| index).map(Result::unwrap).eq(0..100));
        return;
    }
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let results = pool.map(0..2, 2, |index| index).map(|result| match result {
        Ok(index) => index,
        Err(MapError::Rejected(rejected)) => {
            assert_eq!(rejected.reason(), Reason::Full);
            gate.open();
            rejected.into_inner()() + 10
        }
        Err(other) => panic!("{other:?}"),
    });
    let waits = pool.try_submit(|| ()).unwrap();
    assert_eq!(results.collect::<Vec<_>>(), [10, 11], "the queue was full");
    waits.join().unwrap();
}
