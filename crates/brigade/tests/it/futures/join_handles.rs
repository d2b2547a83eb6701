//! `JoinHandle` as a future, polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::roll_call::thread_ids;
use brigade::{Handle, JoinError, JoinHandle, Pool, Shutdown};
use brigade_testkit::{Gate, WakeCounter, block_on, eventually, test};

fn poll<T>(job: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(job).poll(&mut Context::from_waker(waker))
}

/// A job that waits for the gate, polled once with the bell's waker.
fn pending(pool: &Pool, gate: &Gate, bell: &Arc<WakeCounter>) -> JoinHandle<u32> {
    let gate = gate.clone();
    let mut job = pool.submit(move || {
        gate.wait();
        42
    });
    assert!(poll(&mut job, &Waker::from(Arc::clone(bell))).is_pending());
    job
}

#[test]
fn a_handle_can_be_awaited() {
    let pool = Pool::new(2);
    for n in 0..5000 {
        assert_eq!(block_on(pool.submit(move || n)).unwrap(), n);
    }
    let Err(JoinError::Panicked(panic)) = block_on(pool.submit(|| panic!("expected: await")))
    else {
        panic!("it panicked")
    };
    assert_eq!(panic.message(), Some("expected: await"));
    let both = async { pool.submit(|| 1).await.unwrap() + pool.submit(|| 2).await.unwrap() };
    assert_eq!(block_on(Box::pin(both)), 3);
}

#[test]
fn a_cancelled_job_wakes_the_task_that_awaits_it() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let bell = Arc::new(WakeCounter::default());
    let mut job = pool.submit(|| 42);
    assert!(poll(&mut job, &Waker::from(Arc::clone(&bell))).is_pending());
    open_once_closed(&gate, pool.handle());
    pool.shutdown(Shutdown::Discard);
    assert_eq!(bell.wakes(), 1);
    assert!(matches!(block_on(job), Err(JoinError::Cancelled)));
}

#[test]
fn only_the_last_waker_is_woken() {
    let pool = Pool::new(1);
    for _ in 0..200 {
        let (gate, first, second) = (Gate::closed(), Arc::default(), Arc::<WakeCounter>::default());
        let mut job = pending(&pool, &gate, &first);
        assert!(poll(&mut job, &Waker::from(Arc::clone(&second))).is_pending());
        assert_eq!(Arc::strong_count(&first), 1, "a waker that was replaced is let go");
        gate.open();
        eventually("the second bell rings", || second.wakes() == 1);
        assert_eq!(first.wakes(), 0);
        assert_eq!(block_on(job).unwrap(), 42);
    }
}

/// The job finishes at any point of the second poll: the wake-up must not fall between wakers.
#[test]
fn a_waker_replaced_while_the_job_finishes_loses_no_wakeup() {
    let pool = Pool::new(1);
    for _ in 0..3000 {
        let (gate, first) = (Gate::closed(), Arc::default());
        let job = pending(&pool, &gate, &first);
        gate.open();
        assert_eq!(block_on(job).unwrap(), 42);
    }
}

#[test]
fn a_handle_may_be_polled_from_one_thread_after_another() {
    let pool = Pool::new(1);
    for _ in 0..100 {
        let (gate, bell) = (Gate::closed(), Arc::default());
        let mut job = pending(&pool, &gate, &bell);
        job = thread::spawn(move || {
            assert!(poll(&mut job, &Waker::from(Arc::new(WakeCounter::default()))).is_pending());
            job
        })
        .join()
        .unwrap();
        let waits = thread::spawn(move || block_on(job).unwrap());
        gate.open();
        assert_eq!(waits.join().unwrap(), 42);
    }
}

#[test]
fn a_handle_dropped_after_pending_detaches_and_lets_its_waker_go() {
    let pool = Pool::new(1);
    for _ in 0..200 {
        let (gate, bell) = (Gate::closed(), Arc::default());
        drop(pending(&pool, &gate, &bell));
        gate.open();
        pool.wait_idle();
        assert_eq!(Arc::strong_count(&bell), 1);
    }
    assert_eq!(pool.metrics().returned, 200);
}

#[test]
fn a_handle_that_was_polled_can_still_be_joined() {
    let pool = Pool::new(1);
    for _ in 0..200 {
        let (gate, bell) = (Gate::closed(), Arc::default());
        let job = pending(&pool, &gate, &bell);
        gate.open();
        assert_eq!(job.join().unwrap(), 42);
        pool.wait_idle();
        assert_eq!(Arc::strong_count(&bell), 1);
    }
}

/// Runs a closure when it is woken.
struct OnWake<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

#[test]
fn a_waker_that_panics_is_contained() {
    let pool = Pool::new(1);
    let before = thread_ids(&pool);
    for _ in 0..100 {
        let gate = Gate::closed();
        let inner = gate.clone();
        let mut job = pool.submit(move || inner.wait());
        let waker = Waker::from(Arc::new(OnWake(|| panic!("expected: a waker panics"))));
        assert!(poll(&mut job, &waker).is_pending());
        gate.open();
        pool.wait_idle();
        assert!(matches!(job.try_join(), Some(Ok(()))), "the outcome is there all the same");
    }
    assert_eq!(thread_ids(&pool), before);
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 102);
}

#[test]
fn a_waker_may_call_the_pool() {
    let (pool, (ran, runs)) = (Pool::new(1), mpsc::channel());
    for round in 0..200 {
        let gate = Gate::closed();
        let inner = gate.clone();
        let mut job = pool.submit(move || inner.wait());
        let (handle, ran) = (pool.handle(), Mutex::new(ran.clone()));
        let waker = Waker::from(Arc::new(OnWake(move || {
            let ran = ran.lock().unwrap().clone();
            handle.execute(move || ran.send(round).unwrap());
        })));
        assert!(poll(&mut job, &waker).is_pending());
        gate.open();
        assert_eq!(runs.recv().unwrap(), round);
        job.join().unwrap();
    }
}

/// The waker holds the last reference to something whose drop calls the pool.
#[test]
fn a_waker_whose_drop_calls_the_pool_blocks_nothing() {
    struct Calls(Handle, Arc<AtomicUsize>);
    impl Wake for Calls {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Calls {
        fn drop(&mut self) {
            let _ = self.0.try_submit(|| ()).map(JoinHandle::join);
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (pool, drops) = (Pool::new(1), Arc::<AtomicUsize>::default());
    for round in 0..200 {
        let gate = Gate::closed();
        let inner = gate.clone();
        let mut job = pool.submit(move || inner.wait());
        let waker = Waker::from(Arc::new(Calls(pool.handle(), Arc::clone(&drops))));
        assert!(poll(&mut job, &waker).is_pending());
        drop(waker);
        gate.open();
        if round % 2 == 0 {
            job.join().unwrap()
        } else {
            drop(job)
        }
        eventually("the waker is dropped", || drops.load(Ordering::Relaxed) == round + 1);
    }
}
