//! Jobs that panic: counted, and otherwise without effect.

use std::sync::mpsc;

use brigade_testkit::{Gate, test};
use threadpool::ThreadPool;

use crate::occupy;

#[test]
fn panics_are_counted_before_join_returns() {
    for _ in 0..100 {
        let pool = ThreadPool::new(4);
        for number in 0..10 {
            pool.execute(move || assert!(number % 2 == 0, "expected"));
        }
        pool.join();
        let counts = (pool.panic_count(), pool.active_count(), pool.queued_count());
        assert_eq!(counts, (5, 0, 0));
    }
}

#[test]
fn all_threads_run_after_a_panic_each() {
    let pool = ThreadPool::new(4);
    (0..4).for_each(|_| pool.execute(|| panic!("expected")));
    pool.join();
    let gate = Gate::closed();
    occupy(&pool, 4, &gate); // Needs all of them at once.
    assert_eq!((pool.active_count(), pool.panic_count()), (4, 4));
    gate.open();
    pool.join();
    assert_eq!(pool.active_count(), 0);
}

#[test]
fn a_panicking_payloads_drop_does_no_harm() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected");
        }
    }
    let pool = ThreadPool::new(1);
    pool.execute(|| std::panic::panic_any(Bomb));
    let (told, tells) = mpsc::channel();
    pool.execute(move || told.send(42).unwrap());
    assert_eq!(tells.recv(), Ok(42));
    pool.join();
    assert_eq!(pool.panic_count(), 1);
}
