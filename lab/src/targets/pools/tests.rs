//! The sizes of the adapters of elastic pools.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use brigade_testkit::Gate;

use super::{brigade, rusty_pool, threadpool, tokio_blocking};
#[cfg(feature = "full")]
use super::{brigade_rusty_pool, brigade_threadpool};
use crate::target::pool::{MANY, Pool, Size, Submit};

/// Time in which one job too many would be seen. If a busy machine needs longer, a defect is missed, but the
/// test passes without one.
const LOOK: Duration = Duration::from_millis(50);

/// Time in which a job must begin if the pool may have a thread for it, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(60);

/// Checks that this pool runs `most` jobs at once and no more: each is submitted when the one before it
/// runs, so that no idle thread is on its way to take it.
fn grows_to<T: Pool>(name: &str, most: usize, pool: io::Result<T>) {
    let (pool, gate, (begun, begins)) = (pool.expect("a pool"), Gate::closed(), mpsc::channel());
    let outside = pool.outside();
    let submit = || {
        let (begun, gate) = (begun.clone(), gate.clone());
        outside.submit(move || {
            begun.send(()).expect("the test waits for it");
            gate.wait();
        });
    };
    for number in 1..=most {
        submit();
        let begun = begins.recv_timeout(LIMIT);
        assert!(begun.is_ok(), "{name}: job {number} of {most} has not begun");
    }
    submit();
    assert!(begins.recv_timeout(LOOK).is_err(), "{name}: {most} jobs and one more ran at once");
    gate.open();
    assert!(begins.recv_timeout(LIMIT).is_ok(), "{name}: the last job has not begun");
    drop(outside);
    pool.shutdown();
}

#[test]
fn a_pool_of_2_to_50_threads_grows_to_50_whatever_less_is_asked_for() {
    grows_to("brigade", MANY, (brigade::ELASTIC_50.start)(1));
    grows_to("rusty_pool", MANY, (rusty_pool::ELASTIC_50.start)(1));
    #[cfg(feature = "full")]
    grows_to("brigade-rusty_pool", MANY, (brigade_rusty_pool::ELASTIC_50.start)(1));
}

#[test]
fn a_pool_of_2_to_50_threads_grows_beyond_50_when_asked_for() {
    grows_to("brigade", MANY + 3, (brigade::ELASTIC_50.start)(MANY + 3));
    grows_to("rusty_pool", MANY + 3, (rusty_pool::ELASTIC_50.start)(MANY + 3));
}

#[test]
fn an_elastic_pool_has_as_many_threads_as_are_asked_for() {
    grows_to("brigade", 3, (brigade::ELASTIC.start)(3));
    grows_to("rusty_pool", 3, (rusty_pool::ELASTIC.start)(3));
    #[cfg(feature = "full")]
    grows_to("brigade-rusty_pool", 3, (brigade_rusty_pool::ELASTIC.start)(3));
}

#[test]
fn a_target_of_elastic_grows_to_the_size_it_is_told() {
    let size = Size { core: 1, max: 3, keep_alive: Duration::from_secs(60) };
    grows_to("brigade", 3, (brigade::SIZED.start)(size));
    grows_to("rusty_pool", 3, (rusty_pool::SIZED.start)(size));
    #[cfg(feature = "full")]
    grows_to("brigade-rusty_pool", 3, (brigade_rusty_pool::SIZED.start)(size));
    grows_to("threadpool", 3, (threadpool::SIZED.start)(size));
    #[cfg(feature = "full")]
    grows_to("brigade-threadpool", 3, (brigade_threadpool::SIZED.start)(size));
    grows_to("tokio_blocking", 3, (tokio_blocking::SIZED.start)(size));
}
