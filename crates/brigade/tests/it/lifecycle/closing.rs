//! `close`: rejects work from outside at once, and changes nothing else.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock, Weak, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::busy::occupy;
use crate::support::policy::queue_kinds;
use brigade::{Handle, Pool, Reason, Shutdown};
use brigade_testkit::panics::{self, text};
use brigade_testkit::{Gate, Watchdog, eventually};

const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_closed_pool_gives_jobs_from_outside_back_and_runs_what_it_accepted() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        let (gate, handle) = (Gate::closed(), pool.handle());
        occupy(&pool, &gate);
        let queued: Vec<_> = (0..100).map(|n| pool.submit(move || n)).collect();
        pool.close();
        assert!(handle.metrics().is_closed, "{kind}");
        assert_eq!(handle.try_execute(|| ()).unwrap_err().reason(), Reason::Closed, "{kind}");
        assert_eq!(handle.try_submit(|| ()).unwrap_err().reason(), Reason::Closed, "{kind}");
        let batch = handle.job().execute_batch([|| (), || ()]).unwrap_err();
        assert_eq!((batch.reason(), batch.into_inner().len()), (Reason::Closed, 2), "{kind}");
        gate.open();
        let sum: i32 = queued.into_iter().map(|job| job.join().unwrap()).sum();
        assert_eq!(sum, 4950, "{kind}");
        assert_eq!(pool.shutdown(Shutdown::Discard).ran, 102, "{kind}");
    }
}

#[test]
fn the_owner_of_a_closed_pool_is_told_why_it_accepts_nothing() {
    let _dog = Watchdog::start(20);
    panics::silence_expected();
    let pool = Pool::builder().threads(0..=1).build().unwrap();
    pool.close();
    let calls: [&dyn Fn(); 3] =
        [&|| pool.execute(|| ()), &|| drop(pool.submit(|| ())), &|| drop(pool.spawn(async {}))];
    for call in calls {
        let payload = panic::catch_unwind(AssertUnwindSafe(call)).expect_err("it is closed");
        let said = text(&*payload).unwrap();
        assert!(said.contains("the pool is closed"), "{said}");
    }
}

#[test]
fn jobs_of_a_closed_pool_may_submit_to_it() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        let (pool, gate) = (Arc::new(pool), Gate::closed());
        let (owner, inner) = (Arc::downgrade(&pool), gate.clone());
        let (told, tells) = mpsc::channel();
        pool.execute(move || {
            inner.wait();
            let (by_handle, by_owner) = (told.clone(), told.clone());
            brigade::execute(move || by_handle.send("handle").unwrap());
            owner.upgrade().unwrap().execute(move || by_owner.send("owner").unwrap());
        });
        pool.close();
        gate.open();
        let mut told: Vec<_> = (0..2).map(|_| tells.recv_timeout(LONG).unwrap()).collect();
        told.sort_unstable();
        assert_eq!(told, ["handle", "owner"], "{kind}");
    }
}

#[test]
fn a_pool_may_be_closed_from_several_threads_while_others_submit() {
    let _dog = Watchdog::start(30);
    for _ in 0..100 {
        let (pool, ran) = (Arc::new(Pool::new(2)), Arc::new(AtomicUsize::new(0)));
        let (together, handle) = (Barrier::new(6), pool.handle());
        let accepted: usize = thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    together.wait();
                    pool.close();
                    pool.close();
                    assert!(handle.try_execute(|| ()).is_err(), "it was closed by ourselves");
                });
            }
            let submit = || {
                together.wait();
                let job = || {
                    let ran = Arc::clone(&ran);
                    move || _ = ran.fetch_add(1, Ordering::Relaxed)
                };
                // Until the first rejected one; none after it may be accepted.
                let accepted =
                    (0..1_000_000).take_while(|_| handle.try_execute(job()).is_ok()).count();
                assert!(handle.try_execute(job()).is_err());
                accepted
            };
            let submitters = [(); 3].map(|()| scope.spawn(submit));
            submitters.map(|thread| thread.join().unwrap()).iter().sum()
        });
        let report = Arc::into_inner(pool).unwrap().shutdown(Shutdown::Drain);
        assert_eq!((report.ran, report.still_running), (accepted as u64, 0));
        assert_eq!(ran.load(Ordering::Relaxed), accepted);
    }
}

#[test]
fn the_threads_of_a_closed_pool_end_when_its_work_is_done() {
    let _dog = Watchdog::start(20);
    let (pool, gate) = (Pool::new(4), Gate::closed());
    occupy(&pool, &gate);
    pool.close();
    assert!(!pool.wait_idle_timeout(Duration::ZERO));
    gate.open();
    assert!(pool.wait_idle());
    eventually("they leave", || pool.metrics().threads == 0);
    // All other calls still work.
    pool.close();
    assert!(pool.wait_idle() && pool.resize(1..=8).is_ok());
    assert_eq!(pool.metrics().threads, 0, "no thread is needed");
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 4);
}

/// Where the pool's own code finds the pool.
type Slot = Arc<OnceLock<Weak<Pool>>>;

fn close_own(slot: &Slot) {
    eventually("the pool is in its slot", || slot.get().is_some());
    let pool = slot.get().unwrap().upgrade().unwrap();
    pool.close();
    assert!(pool.handle().metrics().is_closed);
}

#[test]
fn a_job_may_close_its_own_pool() {
    let _dog = Watchdog::start(20);
    for threads in [1, 2, 4] {
        for _ in 0..50 {
            let (slot, pool) = (Slot::default(), Arc::new(Pool::new(threads)));
            let inner = Arc::clone(&slot);
            let closer = pool.submit(move || {
                close_own(&inner);
                Handle::current().unwrap().submit(|| 42).join().unwrap()
            });
            let queued: Vec<_> = (0..10).map(|n| pool.submit(move || n)).collect();
            assert!(slot.set(Arc::downgrade(&pool)).is_ok());
            assert_eq!(closer.join().unwrap(), 42);
            assert_eq!(queued.into_iter().map(|job| job.join().unwrap()).sum::<i32>(), 45);
            assert!(pool.handle().metrics().is_closed);
        }
    }
}

#[test]
fn a_start_hook_may_close_its_own_pool() {
    let _dog = Watchdog::start(20);
    for _ in 0..20 {
        let slot = Slot::default();
        let hooked = Arc::clone(&slot);
        let hook = move |_| close_own(&hooked);
        let pool = Arc::new(Pool::builder().threads(1).on_start(hook).build().unwrap());
        let job = pool.submit(|| 42);
        assert!(slot.set(Arc::downgrade(&pool)).is_ok());
        assert_eq!(job.join().unwrap(), 42);
        assert!(pool.handle().metrics().is_closed);
    }
}

#[test]
fn a_stop_hook_may_close_its_own_pool_and_another() {
    let _dog = Watchdog::start(20);
    for _ in 0..20 {
        let (slot, other) = (Slot::default(), Arc::new(Pool::new(1)));
        let (hooked, others) = (Arc::clone(&slot), Arc::downgrade(&other));
        let (closed, closes) = mpsc::channel();
        let hook = move |_| {
            close_own(&hooked);
            others.upgrade().unwrap().close();
            closed.send(()).unwrap();
        };
        let pool = Arc::new(Pool::builder().threads(2).on_stop(hook).build().unwrap());
        assert!(slot.set(Arc::downgrade(&pool)).is_ok());
        pool.close();
        closes.recv_timeout(LONG).expect("the hook returns");
        assert!(other.handle().metrics().is_closed);
        assert!(pool.handle().metrics().is_closed);
    }
}

/// Closes a pool where its thread dies.
struct Closer(Arc<Pool>, mpsc::Sender<()>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.close();
        let _ = self.1.send(());
    }
}

thread_local! {
    static LAST: std::cell::RefCell<Option<Closer>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn a_thread_local_destructor_may_close_its_own_pool_and_a_foreign_one() {
    let _dog = Watchdog::start(20);
    for _ in 0..50 {
        let (pool, foreign) = (Arc::new(Pool::new(2)), Arc::new(Pool::new(2)));
        let (closed, closes) = mpsc::channel();
        let leave = |pool: &Arc<Pool>| {
            let closer = Closer(Arc::clone(pool), closed.clone());
            move || LAST.set(Some(closer))
        };
        pool.submit(leave(&pool)).join().unwrap();
        thread::spawn(leave(&foreign)).join().unwrap();
        closes.recv_timeout(LONG).expect("the foreign one returns");
        assert!(foreign.handle().metrics().is_closed);
        // Its threads end, and their thread-locals close it once more.
        pool.close();
        closes.recv_timeout(LONG).expect("its own returns");
        eventually("it has no other owner", || Arc::strong_count(&pool) == 1);
    }
}

#[test]
fn a_pool_may_be_closed_while_unwinding() {
    let _dog = Watchdog::start(20);
    panics::silence_expected();
    let (pool, (closed, closes)) = (Arc::new(Pool::new(2)), mpsc::channel());
    let inner = Arc::clone(&pool);
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        let _closer = Closer(inner, closed);
        panic!("expected: unwinding");
    }));
    assert_eq!(text(&*unwound.unwrap_err()), Some("expected: unwinding"));
    assert_eq!(closes.try_recv(), Ok(()));
    assert!(pool.handle().metrics().is_closed);
}
