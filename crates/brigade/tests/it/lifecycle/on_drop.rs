//! How the drop of a pool ends it.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::reports::is_cancelled;
use brigade::time::sleep;
use brigade::{Pool, Shutdown, ShutdownOptions};
use brigade_testkit::{Gate, eventually, spin_for, test};

const SOON: Duration = Duration::from_millis(5);

/// The most time for a call that does not wait.
const LONG: Duration = Duration::from_secs(60);

fn pool(on_drop: impl Into<ShutdownOptions>) -> Pool {
    Pool::builder().threads(1).on_drop(on_drop).build().unwrap()
}

/// Drops a pool on another thread, and then sends on the channel.
fn dropping(pool: Pool) -> mpsc::Receiver<()> {
    let (dropped, drops) = mpsc::channel();
    thread::spawn(move || {
        drop(pool);
        let _ = dropped.send(());
    });
    drops
}

/// Keeps the one worker of a pool busy until the gate opens; whether that job has ended.
fn busy(pool: &Pool, gate: &Gate) -> Arc<AtomicBool> {
    let (ended, held, begun) = (Arc::new(AtomicBool::new(false)), gate.clone(), Gate::closed());
    let (ends, begins) = (ended.clone(), begun.clone());
    pool.execute(move || {
        begins.open();
        held.wait();
        // The drop of the pool would come first if it did not wait.
        spin_for(SOON / 10);
        ends.store(true, Ordering::SeqCst);
    });
    begun.wait();
    ended
}

#[test]
fn finish_with_a_timeout_leaves_pending_futures() {
    let pool = pool(Shutdown::Finish.timeout(SOON));
    let (gate, handle) = (Gate::closed(), pool.handle());
    let ended = busy(&pool, &gate);
    let naps = pool.spawn(sleep(SOON));
    let begun = Instant::now();
    dropping(pool).recv_timeout(LONG).expect("it does not wait for the job");
    assert!(begun.elapsed() >= SOON && !ended.load(Ordering::SeqCst));
    assert!(handle.try_execute(|| ()).is_err());
    gate.open();
    naps.join().unwrap();
    assert!(ended.load(Ordering::SeqCst));
}

#[test]
fn with_a_timeout_of_0_it_does_not_wait() {
    let pool = pool(Shutdown::Drain.timeout(Duration::ZERO));
    let gate = Gate::closed();
    let ended = busy(&pool, &gate);
    let queued = pool.submit(|| 42);
    dropping(pool).recv_timeout(LONG).expect("it does not wait");
    assert!(!ended.load(Ordering::SeqCst));
    gate.open();
    assert_eq!(queued.join().unwrap(), 42);
}

#[test]
fn a_stricter_shutdown_counts() {
    let pool = pool(Shutdown::Finish);
    let waits = pool.spawn(pending::<()>());
    pool.shutdown(Shutdown::Drain);
    assert!(is_cancelled(waits.join()));
    dropping(pool).recv_timeout(LONG).expect("it has ended");
}

#[test(
    how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard],
    timeout in [Duration::ZERO, SOON]
)]
fn drop_adds_no_wait_to_a_timed_out_shutdown(how: Shutdown, timeout: Duration) {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let ended = busy(&pool, &gate);
    assert!(pool.shutdown(how.timeout(timeout)).still_running >= 1);
    dropping(pool).recv_timeout(LONG).expect("it does not wait");
    assert!(!ended.load(Ordering::SeqCst));
    gate.open();
    eventually("the job ends", || ended.load(Ordering::SeqCst));
}

#[test]
fn drop_waits_after_a_shutdown_in_time() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let ended = busy(&pool, &gate);
    gate.open();
    assert_eq!(pool.shutdown(Shutdown::Drain.timeout(LONG)).still_running, 0);
    drop(pool);
    assert!(ended.load(Ordering::SeqCst));
}

/// The handle's call and the drop both wait.
#[test(how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard])]
fn drop_waits_beside_a_handles_shutdown(how: Shutdown) {
    for _ in 0..10 {
        let (pool, gate) = (Pool::new(1), Gate::closed());
        let (ended, handle) = (busy(&pool, &gate), pool.handle());
        let closing = thread::spawn(move || handle.shutdown(how));
        eventually("it is being shut down", || handle.metrics().is_closed);
        let seen = ended.clone();
        let dropping = thread::spawn(move || {
            drop(pool);
            seen.load(Ordering::SeqCst)
        });
        thread::yield_now();
        assert!(!dropping.is_finished() && !closing.is_finished());
        gate.open();
        assert!(dropping.join().unwrap(), "the drop has not waited");
        assert_eq!(closing.join().unwrap().still_running, 0);
    }
}

/// So it is with a job of its own, which does not wait and has no timeout.
#[test]
fn drop_waits_after_its_own_jobs_shutdown() {
    for how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(1);
        let job = pool.submit(move || brigade::Handle::current().unwrap().shutdown(how));
        assert_eq!(job.join().unwrap().still_running, 1, "itself: {how:?}");
    }
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let held = gate.clone();
    let (told, tells) = mpsc::channel();
    let ended = Arc::new(AtomicBool::new(false));
    let ends = ended.clone();
    pool.execute(move || {
        brigade::Handle::current().unwrap().shutdown(Shutdown::Drain);
        told.send(()).unwrap();
        held.wait();
        spin_for(SOON / 10);
        ends.store(true, Ordering::SeqCst);
    });
    tells.recv().unwrap();
    gate.open();
    drop(pool);
    assert!(ended.load(Ordering::SeqCst), "the drop has not waited");
}
