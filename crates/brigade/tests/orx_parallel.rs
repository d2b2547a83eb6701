//! The parallel iterators of `orx-parallel` on pools.

use std::panic::{self, AssertUnwindSafe};

use brigade::{Handle, Pool};
use brigade_testkit::{panics, test};
use orx_parallel::*;

/// Pools of several sizes.
fn pools() -> impl Iterator<Item = Pool> {
    [1, 2, 8].into_iter().map(Pool::new)
}

fn doubled(pool: Handle) -> Vec<usize> {
    let numbers = (0..1000_usize).into_par().runner(Runner::fixed_with_pool(pool));
    numbers.map(|number| number * 2).collect()
}

#[test]
fn iterators_match_sequential_results() {
    let expected: Vec<_> = (0..1000).map(|number| number * 2).collect();
    for pool in pools() {
        let handle = pool.handle();
        assert_eq!(doubled(handle), expected);
        assert_eq!(pool.submit(move || doubled(handle)).join().unwrap(), expected, "on a worker");
        let words: Vec<_> = (0..300).map(|number| number.to_string()).collect();
        let letters = words.par().runner(Runner::adaptive_with_pool(pool));
        assert_eq!(letters.map(|word| word.len()).sum(), 10 + 2 * 90 + 3 * 200);
    }
}

#[test(pool in pools())]
fn a_panic_of_an_item_reaches_the_caller(pool: Pool) {
    let numbers = (0..100_usize).into_par().runner(Runner::fixed_with_pool(pool.handle()));
    let sum = || -> usize {
        numbers.map(|number| if number == 50 { panic!("expected: 50") } else { number }).sum()
    };
    panic::catch_unwind(AssertUnwindSafe(sum)).unwrap_err();
    assert_eq!(doubled(pool.handle()).len(), 1000);
}

#[test(pool in pools())]
fn a_closed_pool_panics(pool: Pool) {
    pool.close();
    let payload = panic::catch_unwind(|| doubled(pool.handle())).unwrap_err();
    let text = panics::text(&*payload).unwrap_or_default();
    assert!(text.starts_with("cannot run on the pool"), "{text}");
}
