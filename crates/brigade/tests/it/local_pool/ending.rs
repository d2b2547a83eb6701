//! The end of the pool.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use super::{Log, local_pool};
use brigade::{Reason, Shutdown, block_on, time};
use brigade_testkit::{Drops, test};

#[test]
fn drop_runs_jobs_and_cancels_pending_futures() {
    let _never_run = local_pool();
    let (pool, log, drops) = (local_pool(), Log::default(), Drops::default());
    let handle = pool.handle();
    for number in 0..100 {
        let (log, token) = (log.clone(), drops.token());
        handle.execute(move || {
            drop(token);
            handle.execute(log.job(number));
        });
    }
    let waits = handle.spawn(time::sleep(Duration::from_secs(3600)));
    let later = handle.job().after(Duration::from_secs(3600)).submit(|| ()).unwrap();
    drop(pool);
    assert!(log.take().into_iter().eq(0..100) && drops.count() == 100);
    assert!(waits.join().unwrap_err().is_cancelled());
    drop(later);
    assert_eq!(handle.try_execute(|| ()).unwrap_err().reason(), Reason::Closed);
}

#[test]
fn local_futures_are_dropped_by_its_drop() {
    let (pool, drops) = (local_pool(), Drops::default());
    pool.run_until(async {
        for _ in 0..10 {
            let captured = Rc::new(drops.token());
            drop(brigade::spawn_local(async move {
                let _captured = captured;
                std::future::pending::<()>().await;
            }));
        }
        brigade::yield_now().await;
    });
    assert_eq!(drops.count(), 0);
    drop(pool);
    assert_eq!(drops.count(), 10);
}

#[test(how in [Shutdown::Drain, Shutdown::Finish, Shutdown::Discard])]
fn a_foreign_shutdown_ends_after_the_owners_run(how: Shutdown) {
    let pool = local_pool();
    let handle = pool.handle();
    (0..10).for_each(|_| handle.execute(|| ()));
    let other = thread::spawn(move || handle.shutdown(how));
    while !pool.handle().metrics().is_closed {
        thread::yield_now();
    }
    pool.run_until_idle();
    // Without jobs: there is no pool any more.
    assert_eq!(pool.run_until(async { 42 }), 42);
    drop(pool);
    let report = other.join().unwrap();
    assert_eq!((report.ran + report.discarded, report.still_running), (10, 0));
    assert_eq!(report.discarded > 0, how == Shutdown::Discard);
}

/// Caught: a pool that terminated in a call of its owner kept its pending futures until it was dropped, and a wait for them never
/// ended.
#[test(waits_before in [true, false], waits_after in [true, false])]
fn a_jobs_close_cancels_pending_futures_before_drop(waits_before: bool, waits_after: bool) {
    let pool = local_pool();
    let handle = pool.handle();
    let pending =
        || [handle.spawn(std::future::pending::<()>()), pool.spawn_local(std::future::pending())];
    let (joined, awaited) = (pending(), pending());
    pool.run_until_idle();
    let wait = |waits: bool| waits.then(|| block_on(time::sleep(Duration::from_micros(50))));
    let closes = handle.submit(move || {
        wait(waits_before);
        handle.close();
        wait(waits_after);
    });
    closes.join().unwrap();
    for job in joined {
        assert!(job.join().unwrap_err().is_cancelled());
    }
    for job in awaited {
        assert!(pool.run_until(job).unwrap_err().is_cancelled());
    }
}
