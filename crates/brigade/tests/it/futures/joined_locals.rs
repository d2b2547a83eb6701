//! A job that joins a future whose local future is on the same thread.

use brigade::{Pool, WhenFull, spawn_local, yield_now};
use brigade_testkit::test;

/// In a full pool the future is queued beyond the capacity, on the worker of the job that joins it.
#[test(when_full in [WhenFull::Block, WhenFull::RunInCaller], threads in [1, 2, 4])]
fn a_full_pool_joins_futures_of_local_futures(when_full: WhenFull, threads: usize) {
    let builder = Pool::builder().threads(threads).capacity(1).when_full(when_full);
    let pool = builder.build().unwrap();
    let here = pool.handle();
    let job = pool.submit(move || {
        while here.try_execute(|| ()).is_ok() {}
        let future = async {
            let local = spawn_local(async {
                yield_now().await;
                1
            });
            local.await.unwrap()
        };
        here.spawn(future).join().unwrap()
    });
    assert_eq!(job.join().unwrap(), 1);
}
