//! A job that waits for another pool counts as blocked.

use std::sync::Arc;

use brigade::{Pool, Shutdown};
use brigade_testkit::test;

/// What waits for a pool and all of its jobs.
const WAITS: [fn(Pool); 4] = [
    |other| assert!(other.wait_idle()),
    drop,
    |other| _ = other.shutdown(Shutdown::Drain),
    |other| drop(Arc::new(other)),
];

#[test(wait in WAITS)]
fn a_wait_for_another_pool_gets_another_thread(wait: fn(Pool)) {
    let pool = Pool::new(1);
    let here = pool.handle();
    let job = pool.submit(move || {
        let other = Pool::new(1);
        other.execute(move || assert_eq!(here.submit(|| 1).join().unwrap(), 1));
        wait(other);
    });
    job.join().unwrap();
}
