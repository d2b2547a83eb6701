//! A library function that takes a pool from its caller.
//!
//! Typed, like the crate `executors`: `fn sum_of_squares<E: Executor>(executor: &E, n: u64)`.

use std::sync::mpsc;

use brigade::{Handle, Pool};

fn sum_of_squares(executor: impl Into<Handle>, n: u64) -> u64 {
    let executor = executor.into();
    let (sender, receiver) = mpsc::channel();
    for i in 1..=n {
        let sender = sender.clone();
        executor.execute(move || sender.send(i * i).unwrap());
    }
    drop(sender);
    receiver.iter().sum()
}

#[test]
#[allow(clippy::needless_borrows_for_generic_args, reason = "a reference to a handle, as typed")]
fn a_pool_and_its_handle_are_taken() {
    let pool = Pool::new(2);
    assert_eq!(sum_of_squares(&pool, 10), 385);
    assert_eq!(sum_of_squares(pool.handle(), 10), 385);
    assert_eq!(sum_of_squares(&pool.handle(), 10), 385);
}
