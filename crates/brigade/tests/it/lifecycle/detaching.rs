//! A pool that is detached, by a shutdown with a timeout of 0 and its drop, finishes by itself.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::busy::{let_go, occupy};
use crate::support::policy::queue_kinds;
use brigade::{Handle, Pool, Reason};
use brigade_testkit::panics::{self, text};
use brigade_testkit::{Gate, Watchdog, eventually};

const LONG: Duration = Duration::from_secs(10);

#[test]
fn detach_does_not_wait_and_everything_accepted_still_runs() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        let (gate, handle) = (Gate::closed(), pool.handle());
        occupy(&pool, &gate);
        let queued: Vec<_> = (0..100)
            .map(|n| pool.submit(move || brigade::submit(move || n).join().unwrap()))
            .collect();
        // It would never return if it waited.
        let_go(pool);
        assert_eq!(handle.try_execute(|| ()).unwrap_err().reason(), Reason::Closed, "{kind}");
        gate.open();
        let sum: i32 = queued.into_iter().map(|job| job.join().unwrap()).sum();
        assert_eq!(sum, 4950, "{kind}");
    }
}

#[test]
fn the_threads_of_a_detached_pool_end_by_themselves() {
    let _dog = Watchdog::start(20);
    let (stopped, stops) = mpsc::channel();
    let hook = move |_| stopped.send(()).unwrap();
    let pool = Pool::builder().threads(3).prestart().on_stop(hook).build().unwrap();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let_go(pool);
    assert!(stops.try_recv().is_err(), "they are busy");
    gate.open();
    (0..3).for_each(|_| stops.recv_timeout(LONG).expect("it stops"));
}

/// A destructor of a thread-local may take any time: no call waits for it.
#[test]
fn detach_does_not_wait_for_thread_local_destructors() {
    struct Waits(Gate, mpsc::Sender<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.wait();
            let _ = self.1.send(());
        }
    }
    thread_local!(static LAST: RefCell<Option<Waits>> = const { RefCell::new(None) });

    let _dog = Watchdog::start(20);
    let (pool, gate, (gone, goes)) = (Pool::new(1), Gate::closed(), mpsc::channel());
    let waits = Waits(gate.clone(), gone);
    pool.submit(move || LAST.set(Some(waits))).join().unwrap();
    pool.close();
    eventually("the worker leaves", || pool.metrics().threads == 0);
    let (told, tells) = mpsc::channel();
    let detaching = thread::spawn(move || {
        let_go(pool);
        let _ = told.send(());
    });
    let returned = tells.recv_timeout(LONG);
    assert!(goes.try_recv().is_err(), "it still waits");
    gate.open();
    detaching.join().unwrap();
    assert!(returned.is_ok(), "it has waited for the destructor");
    goes.recv_timeout(LONG).expect("the destructor ends");
}

#[test]
fn pools_may_be_detached_by_several_threads_at_once() {
    let _dog = Watchdog::start(20);
    for _ in 0..50 {
        let jobs: Vec<_> = thread::scope(|scope| {
            let detach = |n| {
                let pool = Pool::new(2);
                let job = pool.submit(move || n);
                let_go(pool);
                job
            };
            let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || detach(n))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(jobs.into_iter().map(|job| job.join().unwrap()).sum::<i32>(), 6);
    }
}

/// Where a worker finds the pool that it must detach.
type Slot = Arc<Mutex<Option<Pool>>>;

fn detach(slot: &Slot) {
    eventually("the pool is in its slot", || slot.lock().unwrap().is_some());
    let pool = slot.lock().unwrap().take().unwrap();
    pool.close();
    let_go(pool);
}

#[test]
fn a_job_may_detach_its_own_pool() {
    let _dog = Watchdog::start(20);
    for threads in [1, 2, 4] {
        for _ in 0..50 {
            let (slot, pool) = (Slot::default(), Pool::new(threads));
            let inner = Arc::clone(&slot);
            let detacher = pool.submit(move || {
                detach(&inner);
                Handle::current().unwrap().submit(|| 42).join().unwrap()
            });
            let queued: Vec<_> = (0..10).map(|n| pool.submit(move || n)).collect();
            *slot.lock().unwrap() = Some(pool);
            assert_eq!(detacher.join().unwrap(), 42);
            assert_eq!(queued.into_iter().map(|job| job.join().unwrap()).sum::<i32>(), 45);
        }
    }
}

#[test]
fn a_start_hook_may_detach_its_own_pool() {
    let _dog = Watchdog::start(20);
    for _ in 0..20 {
        let slot = Slot::default();
        let inner = Arc::clone(&slot);
        let hook = move |_| detach(&inner);
        let pool = Pool::builder().threads(1).on_start(hook).build().unwrap();
        let job = pool.submit(|| 42);
        *slot.lock().unwrap() = Some(pool);
        assert_eq!(job.join().unwrap(), 42);
    }
}

#[test]
fn a_stop_hook_may_detach_its_own_pool() {
    let _dog = Watchdog::start(20);
    for _ in 0..20 {
        let (slot, (detached, detaches)) = (Slot::default(), mpsc::channel());
        let inner = Arc::clone(&slot);
        let hook = move |_| {
            detach(&inner);
            detached.send(()).unwrap();
        };
        let pool = Pool::builder().threads(1).on_stop(hook).build().unwrap();
        let job = pool.submit(|| 42);
        pool.close();
        *slot.lock().unwrap() = Some(pool);
        detaches.recv_timeout(LONG).expect("the hook returns");
        assert_eq!(job.join().unwrap(), 42);
    }
}

/// Detaches a pool where it is dropped.
struct Detacher(Slot, mpsc::Sender<()>);

impl Drop for Detacher {
    fn drop(&mut self) {
        detach(&self.0);
        let _ = self.1.send(());
    }
}

thread_local! {
    static LAST: RefCell<Option<Detacher>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_local_destructor_may_detach_its_own_pool_and_a_foreign_one() {
    let _dog = Watchdog::start(20);
    for own in [true, false] {
        for _ in 0..20 {
            let (slot, pool) = (Slot::default(), Pool::new(1));
            let (detached, detaches) = mpsc::channel();
            let detacher = Detacher(Arc::clone(&slot), detached);
            let job = pool.submit(|| 42);
            let leave = move || LAST.set(Some(detacher));
            if own {
                pool.submit(leave).join().unwrap();
                // So its one thread ends.
                pool.close();
            } else {
                thread::spawn(leave);
            }
            *slot.lock().unwrap() = Some(pool);
            detaches.recv_timeout(LONG).expect("the destructor returns");
            assert_eq!(job.join().unwrap(), 42);
        }
    }
}

#[test]
fn a_pool_may_be_detached_while_unwinding() {
    let _dog = Watchdog::start(20);
    panics::silence_expected();
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let (slot, (detached, detaches)) = (Slot::default(), mpsc::channel());
    let queued = pool.submit(|| 42);
    *slot.lock().unwrap() = Some(pool);
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        let _detacher = Detacher(slot, detached);
        panic!("expected: unwinding");
    }));
    assert_eq!(text(&*unwound.unwrap_err()), Some("expected: unwinding"));
    assert_eq!(detaches.try_recv(), Ok(()));
    gate.open();
    assert_eq!(queued.join().unwrap(), 42);
}
