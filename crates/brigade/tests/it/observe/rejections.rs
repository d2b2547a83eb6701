//! What a pool does not accept is counted, observed or not.

use crate::support::full::busy;
use brigade::{Pool, TaskSet, WhenFull};
use brigade_testkit::test;

#[test(observed in [false, true])]
fn each_returned_job_is_counted_once(observed: bool) {
    let builder = || if observed { Pool::builder().observe_jobs() } else { Pool::builder() };
    let pool = builder().threads(1).build().unwrap();
    assert_eq!(pool.metrics().rejected, 0);
    pool.close();
    let soon = std::time::Duration::from_millis(1);
    assert!(pool.try_execute(|| ()).is_err());
    assert!(pool.handle().try_execute(|| ()).is_err());
    assert!(pool.try_submit(|| ()).is_err());
    assert!(pool.try_spawn(async {}).is_err());
    assert!(pool.job().name("n").submit(|| ()).is_err());
    assert_eq!(pool.metrics().rejected, 5);
    assert!(pool.job().execute_batch((0..3).map(|_| || ())).is_err());
    assert!(pool.job().after(soon).execute(|| ()).is_err());
    assert!(pool.job().every(soon).execute(|| ()).is_err());
    assert!(pool.job().on_worker(0).execute(|| ()).is_err());
    let mut set = TaskSet::new(&pool);
    assert!(set.try_submit(|| ()).is_err());
    assert!(set.try_spawn(async {}).is_err());
    let most = if observed { 5 + 1 + 5 } else { 5 + 3 + 5 };
    assert_eq!(pool.metrics().rejected, most);
    assert_eq!(pool.metrics().accepted, 0);
    // By a full pool.
    let (pool, gate) = busy(builder(), 1, WhenFull::Reject);
    pool.execute(|| ());
    assert!(pool.try_execute(|| ()).is_err());
    assert!(pool.try_submit(|| ()).is_err());
    assert!(pool.try_spawn(async {}).is_err());
    assert_eq!(pool.metrics().rejected, 3);
    gate.open();
    pool.wait_idle();
    assert_eq!((pool.metrics().accepted, pool.metrics().returned), (2, 2));
}
