//! A wait polls its futures once its thread has woken them: no other thread may have time for them.

use std::time::Duration;

use brigade::{Handle, Pool, TaskSet, scope, spawn, time};
use brigade_testkit::{Gate, OnDrop, eventually, test};

const FUTURES: usize = 100;

/// Waits for a timer several times.
async fn sleeps() {
    for _ in 0..5 {
        time::sleep(Duration::from_millis(1)).await;
    }
}

fn set() -> TaskSet<()> {
    let mut set = TaskSet::new(Handle::current().unwrap());
    (0..FUTURES).for_each(|_| _ = set.spawn(sleeps()));
    set
}

fn for_all_of_a_set() {
    set().wait_all();
}

fn for_each_of_a_set() {
    assert_eq!(set().outcomes().filter(Result::is_ok).count(), FUTURES);
}

fn for_a_scope() {
    scope(|s| (0..FUTURES).for_each(|_| drop(s.spawn(sleeps()))));
}

fn for_a_scope_in_a_scope() {
    scope(|s| {
        drop(s.spawn(sleeps()));
        for_a_scope();
    });
}

fn for_a_future() {
    spawn(sleeps()).join().unwrap();
}

/// Caught: the wait of a set, or of a scope, polled only new futures. A woken future stayed queued until another thread came.
#[test((_name, wait) in [
    ("all of a set", for_all_of_a_set as fn()),
    ("each of a set", for_each_of_a_set),
    ("a scope", for_a_scope),
    ("a scope in a scope", for_a_scope_in_a_scope),
    ("a future", for_a_future),
])]
fn a_waiter_polls_the_future_it_has_woken(_name: &str, wait: fn()) {
    let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
    let end = Gate::closed();
    let _end = OnDrop(|| end.open());
    pool.execute(end.job());
    eventually("a worker computes", || pool.metrics().running == 1);
    let job = pool.submit(wait);
    eventually("the job ends beside it", || job.is_finished());
    job.join().unwrap();
}
