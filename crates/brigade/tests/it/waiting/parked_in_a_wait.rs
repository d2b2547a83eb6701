//! A worker that is parked inside a wait of a job, a job of a pool whose waits run anything: the pool is neither idle nor at its end.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use brigade::{NewThread, Pool, Shutdown, Thread};
use brigade_testkit::{Gate, eventually, test};

/// A pool of one thread whose worker parks in a wait: its job waits for a call on the other pool, which waits for the gate.
fn parked(gate: &Gate) -> (Pool, Pool) {
    let builder = || Pool::builder().threads(1).spare_threads(0).waits_run_anything();
    let (pool, other) = (builder().build().unwrap(), builder().build().unwrap());
    let (gate, handle) = (gate.clone(), other.handle());
    pool.execute(move || handle.install(|| gate.wait()).unwrap());
    eventually("the other pool runs the call", || other.metrics().running == 1);
    // It has looked for work before it parks, or it still does.
    let parks = || pool.metrics().workers.iter().map(|worker| worker.parks).sum::<u64>();
    eventually("the worker parks", || parks() > 0);
    (pool, other)
}

#[test]
fn a_worker_parked_in_a_wait_runs_new_jobs() {
    let gate = Gate::closed();
    let (pool, _other) = parked(&gate);
    for n in 0..100 {
        assert_eq!(pool.submit(move || n).join().unwrap(), n);
        assert_eq!(pool.install(|| n).unwrap(), n);
    }
    let shares = pool.broadcast(|index| index);
    assert!(shares.into_iter().map(|share| share.join().unwrap()).eq([0]));
    gate.open();
    assert!(pool.wait_idle());
}

#[test]
fn a_pool_parked_in_a_wait_is_not_idle() {
    let gate = Gate::closed();
    let (pool, _other) = parked(&gate);
    assert!(!pool.wait_idle_timeout(Duration::from_millis(20)));
    gate.open();
    assert!(pool.wait_idle());
}

#[test(how in [Shutdown::Drain, Shutdown::Finish, Shutdown::Discard])]
fn a_pool_parked_in_a_wait_does_not_end(how: Shutdown) {
    let gate = Gate::closed();
    let (pool, _other) = parked(&gate);
    let report = pool.shutdown(how.timeout(Duration::from_millis(20)));
    assert_eq!((report.ran, report.still_running), (0, 1));
    gate.open();
    assert_eq!(pool.shutdown(how).ran, 1);
}

/// Caught: of a stack of unknown size, 64 waits are all that a thread nests, and the spawner starts no other thread.
#[test]
fn waits_that_run_anything_nest_without_another_thread() {
    fn hop(pools: &[Pool; 2], hops: usize) -> usize {
        if hops == 0 { 0 } else { 1 + pools[hops % 2].install(|| hop(pools, hops - 1)).unwrap() }
    }
    let pools = [(); 2].map(|()| {
        let is_started = AtomicBool::new(false);
        let spawner = move |thread: NewThread| match is_started.swap(true, Ordering::SeqCst) {
            true => Err(io::Error::other("a single thread")),
            false => {
                // An unoptimized level takes some 15 kB.
                let builder = thread::Builder::new().stack_size(8 << 20);
                builder.spawn(|| thread.run()).map(|_| Thread::not_joined())
            }
        };
        Pool::builder().threads(1).spawner(spawner).waits_run_anything().build().unwrap()
    });
    assert_eq!(hop(&pools, 200), 200);
}
