//! The calls that other crates name differently: each works by their name, with a warning that names it here.

use std::time::Duration;

use brigade::{Pool, TaskSet};
use brigade_testkit::{eventually, test};

#[test]
#[expect(deprecated)]
fn the_names_of_other_crates_do_the_same() {
    let named = Pool::builder().num_threads(4).worker_threads(2).thread_name("cook").queue_size(9);
    let pool = named.build().unwrap();
    assert_eq!(pool.num_threads(), 2);
    let name = || std::thread::current().name().unwrap().starts_with("cook");
    assert!(pool.spawn_blocking(name).join().unwrap() && pool.evaluate(name).join().unwrap());
    assert!(pool.wait());
    let later = pool.job().delay(Duration::from_secs(3600)).submit(|| ()).unwrap();
    assert!(later.abort());
    assert!(later.join().is_err_and(|error| error.is_cancelled()));
    let mut set = TaskSet::new(&pool);
    set.submit(|| 1);
    set.wait_all();
    set.spawn(std::future::pending());
    set.abort_all();
    let outcomes = set.join_all();
    assert_eq!(outcomes[0].as_ref().unwrap(), &1);
    assert!(outcomes[1].as_ref().is_err_and(|error| error.is_cancelled()));
    eventually("it does nothing", || (pool.active_count(), pool.queued_count()) == (0, 0));
    assert_eq!(pool.shutdown_timeout(Duration::from_secs(10)).still_running, 0);
    assert!(pool.metrics().is_closed);
}
