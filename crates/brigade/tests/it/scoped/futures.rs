//! Futures of scopes, which borrow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use brigade::time::sleep;
use brigade::{Pool, TaskSet, yield_now};
use brigade_testkit::{Latch, eventually, test};

use super::pools::for_every_pool;

#[test(for_every_pool)]
fn futures_borrow_and_end_in_every_way(pool: &Pool) {
    let (word, latch, ran) = (String::from("borrowed"), Latch::default(), AtomicUsize::new(0));
    pool.scope(|s| {
        assert!(!s.is_cancelled());
        let ready = s.spawn(async { word.len() });
        let woken = s.spawn(async {
            latch.wait().await;
            word.len() + 1
        });
        let timed = s.spawn(async {
            sleep(Duration::from_micros(100)).await;
            word.len() + 2
        });
        let yielding = s.spawn(async {
            yield_now().await;
            word.len() + 3
        });
        drop(s.spawn(async { ran.fetch_add(word.len(), Ordering::Relaxed) }));
        s.execute(|| latch.open());
        let answers = [ready, woken, timed, yielding].map(|handle| handle.join().unwrap());
        assert_eq!(answers, [8, 9, 10, 11]);
    })
    .unwrap();
    assert_eq!(ran.into_inner(), 8);
}

#[test(for_every_pool)]
fn an_endless_future_is_cancelled_with_its_scope(pool: &Pool) {
    let (word, polled) = (String::from("borrowed"), AtomicUsize::new(0));
    pool.in_place_scope(|s| {
        let never = s.spawn(async {
            polled.fetch_add(word.len(), Ordering::SeqCst);
            std::future::pending::<()>().await;
        });
        eventually("it waits", || polled.load(Ordering::SeqCst) == 8);
        s.cancel();
        assert!(never.join().unwrap_err().is_cancelled());
        assert!(s.spawn(async {}).join().unwrap_err().is_cancelled());
        drop(s.spawn(std::future::pending::<()>()));
    })
    .unwrap();
}

#[test(for_every_pool)]
fn a_waker_outliving_the_scope_wakes_nothing(pool: &Pool) {
    let latch = Latch::default();
    pool.in_place_scope(|s| {
        let (kept, borrowed) = (latch.clone(), AtomicUsize::new(1));
        let waits = s.spawn(async move {
            kept.wait().await;
            borrowed.into_inner()
        });
        eventually("it waits", || latch.waiting() == 1);
        s.cancel();
        assert!(waits.join().unwrap_err().is_cancelled());
    })
    .unwrap();
    latch.wake_all();
    latch.open();
    assert!(pool.wait_idle());
}

#[test]
fn a_foreign_wake_keeps_a_future_on_its_pool() {
    let (pool, other, latch) = (Pool::new(1), Pool::new(1), Latch::default());
    let at = pool.handle();
    let current = pool.scope(|s| {
        let waits = s.spawn(async {
            latch.wait().await;
            brigade::Handle::current()
        });
        other.scope(|there| there.execute(|| latch.open())).unwrap();
        waits.join().unwrap()
    });
    assert_eq!(current.unwrap(), Some(at));
}

/// Caught: the waiter slept, and a second thread polled the futures.
#[test]
fn the_waiting_worker_polls_new_futures() {
    let pool = Pool::new(1);
    let here = || thread::current().id();
    pool.install(|| {
        let (waiter, polled_at) = (here(), Mutex::new(Vec::new()));
        brigade::scope(|s| {
            assert_eq!(s.spawn(async { here() }).join().unwrap(), waiter);
            let first = s.spawn(async { here() });
            (0..3).for_each(|_| drop(s.spawn(async { polled_at.lock().unwrap().push(here()) })));
            assert_eq!(first.join().unwrap(), waiter);
            s.spawn(async { s.spawn(async { polled_at.lock().unwrap().push(here()) }) });
        });
        assert_eq!(polled_at.into_inner().unwrap(), [waiter; 4]);
        let mut set = TaskSet::default();
        (0..3).for_each(|_| _ = set.spawn(async move { thread::current().id() }));
        assert!(set.outcomes().all(|polled_at| polled_at.unwrap() == waiter));
    })
    .unwrap();
    assert_eq!(pool.metrics().threads, 1);
}
