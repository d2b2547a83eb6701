//! The example on the page of executors 0.10: nothing but the dependency is another.

use brigade_testkit::test;

#[test]
#[rustfmt::skip]
#[allow(clippy::unnecessary_fold, reason = "as on the page")]
fn the_example_of_the_page() {

    use executors::*;
    use executors::crossbeam_workstealing_pool;
    use std::sync::mpsc::channel;

    let n_workers = 4;
    let n_jobs = 8;
    let pool = crossbeam_workstealing_pool::small_pool(n_workers);

    let (tx, rx) = channel();
    for _ in 0..n_jobs {
        let tx = tx.clone();
        pool.execute(move|| {
            tx.send(1).expect("channel will be there waiting for the pool");
        });
    }

    assert_eq!(rx.iter().take(n_jobs).fold(0, |a, b| a + b), 8);
}

/// The page names two functions to make a pool by.
#[cfg(feature = "thread-pinning")]
#[test]
fn the_pages_constructors_exist() {
    use executors::crossbeam_workstealing_pool::ThreadPool;
    use executors::*;

    let cores = core_affinity::get_core_ids().unwrap();
    let more = cores.len() + 1;
    for pool in [
        ThreadPool::new(more, parker::small()),
        ThreadPool::with_affinity(&cores, 1, parker::small()),
    ] {
        let meeting = brigade_testkit::Meeting::of(more + 1);
        for _ in 0..more {
            let attend = meeting.job();
            pool.execute(move || assert!(attend()));
        }
        assert!(meeting.attend(), "{more} threads");
        assert_eq!(pool.shutdown(), Ok(()));
    }
}
