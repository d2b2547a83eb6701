//! What is stolen from a worker's deque, and what threads that wait may take.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use brigade::Pool;
use brigade_testkit::{Gate, test};

/// A pool of two threads that starts no other.
fn pair() -> Pool {
    Pool::builder().threads(2).spare_threads(0).build().unwrap()
}

/// A thief of several jobs of a scope leaves a fork behind them where it is: it would lie behind a job that waits for its owner.
#[test]
fn a_fork_is_not_stolen_without_being_run() {
    let (busy, idle) = (Gate::closed(), Gate::closed());
    let (waits, is_joined) = (AtomicBool::new(false), AtomicBool::new(false));
    let fork = |a: &(dyn Fn() + Sync)| _ = brigade::join(a, || ());
    pair()
        .scope(|s| {
            // Keeps the other worker from a steal until all is queued.
            s.execute(|| {
                busy.open();
                idle.wait();
            });
            busy.wait();
            s.execute(|| {
                waits.store(true, SeqCst);
                while !is_joined.load(SeqCst) {
                    thread::yield_now();
                }
            });
            s.execute(|| ());
            let steal = || {
                idle.open();
                while !waits.load(SeqCst) {
                    thread::yield_now();
                }
            };
            // Five are queued, of which a thief claims three.
            fork(&|| fork(&|| fork(&steal)));
            is_joined.store(true, SeqCst);
        })
        .unwrap();
}

/// Its job lies on the deque of the very thread that waits for it.
#[test]
fn a_cancelled_scoped_job_is_joined_in_its_queue() {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let error = pool.scope(|s| {
        s.cancel();
        s.submit(|| ()).join().unwrap_err()
    });
    assert!(error.unwrap().is_cancelled());
}
