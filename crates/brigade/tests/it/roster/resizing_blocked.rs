//! A pool that is made smaller and larger again while its threads are blocked.

use brigade::{Pool, blocking};
use brigade_testkit::{Gate, Watchdog, eventually};

use crate::support::crowd::workers;

#[test]
fn no_number_of_resizes_lets_a_pool_have_more_threads_than_its_largest_size_and_the_spare_ones() {
    let _dog = Watchdog::start(60);
    let pool = Pool::builder().threads(1..=2).spare_threads(2).build().unwrap();
    let gate = Gate::closed();
    for _ in 0..200 {
        let gate = gate.clone();
        pool.execute(move || blocking(|| gate.wait()));
    }
    eventually("all threads that there may be are blocked", || workers(&pool) == 4);
    for _ in 0..20 {
        pool.resize(1..=1).unwrap();
        pool.resize(1..=2).unwrap();
        // A thread that may be started is started by now, or by this.
        pool.execute(|| ());
        assert!(workers(&pool) <= 4, "{} workers", workers(&pool));
    }
    gate.open();
    assert!(pool.wait_idle());
}
