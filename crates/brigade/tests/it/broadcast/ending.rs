//! The end of a pool: what was accepted runs or is cancelled, and each handle has its outcome.

use std::panic::{self, AssertUnwindSafe};

use crate::support::busy::{let_go, occupy};
use crate::support::crowd::for_both_queueings;
use crate::support::reports::counts;
use brigade::{Builder, Pool, Reason, Shutdown};
use brigade_testkit::{Drops, Gate, Halt, panics, test};

#[test(
    how in [Some(Shutdown::Drain), Some(Shutdown::Finish), None],
    threads in [1, 2, 8],
    for_both_queueings
)]
fn drain_and_drop_run_each_share(builder: Builder, how: Option<Shutdown>, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    let shares: Vec<_> = (0..20).map(|n| pool.broadcast(move |index| index + n)).collect();
    match how {
        Some(how) => assert_eq!(counts(pool.shutdown(how)), (20 * threads as u64, 0, 0)),
        None => drop(pool),
    }
    for (n, shares) in shares.into_iter().enumerate() {
        let answers = shares.into_iter().map(|share| share.join().unwrap());
        assert!(answers.eq(n..n + threads));
    }
}

/// By the thread that discards: the shares of threads that stay busy too.
#[test(threads in [1, 2, 8], for_both_queueings)]
fn discard_cancels_shares_not_yet_started(builder: Builder, threads: usize) {
    let (pool, gate, drops) =
        (builder.threads(threads).build().unwrap(), Gate::closed(), Drops::default());
    occupy(&pool, &gate);
    let token = drops.token();
    let shares = pool.broadcast(move |_| _ = &token);
    let report = pool.shutdown(Shutdown::Discard.timeout(std::time::Duration::ZERO));
    assert_eq!(counts(report), (0, threads as u64, threads as u64));
    assert_eq!(drops.count(), 1);
    for share in shares {
        assert!(share.join().unwrap_err().is_cancelled());
    }
    gate.open();
    let_go(pool);
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn a_closed_pool_rejects_foreign_broadcasts(builder: Builder, threads: usize) {
    let (pool, gate) = (builder.threads(threads).build().unwrap(), Gate::closed());
    let (handle, wait) = (pool.handle(), gate.clone());
    let inside = pool.submit(move || {
        wait.wait();
        handle.broadcast(|index| index)
    });
    pool.close();
    let drops = Drops::default();
    let token = drops.token();
    let refused = panic::catch_unwind(AssertUnwindSafe(|| pool.broadcast(move |_| _ = &token)));
    let text = panics::text(&*refused.unwrap_err()).map(str::to_owned);
    assert_eq!(text.as_deref(), Some(&*format!("the job was not accepted: {}", Reason::Closed)));
    assert_eq!(drops.count(), 1);
    gate.open();
    let shares = inside.join().unwrap();
    assert!(shares.into_iter().map(|share| share.join().unwrap()).eq(0..threads));
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1 + threads as u64);
}

#[test]
fn a_job_of_a_discarded_pool_cannot_broadcast() {
    let (pool, halt) = (Pool::new(2), Halt::default());
    let (handle, stops) = (pool.handle(), halt.clone());
    let inside = pool.submit(move || {
        stops.here();
        panic::catch_unwind(|| handle.broadcast(|index| index)).is_err()
    });
    halt.await_thread();
    pool.shutdown(Shutdown::Discard.timeout(std::time::Duration::ZERO));
    halt.release();
    assert!(inside.join().unwrap());
}
