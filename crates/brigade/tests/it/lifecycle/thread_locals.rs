//! Calls of the pool from thread-local destructors: they never abort.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::full::full;
use brigade::{Handle, LocalPool, Pool, Shutdown, TaskSet, WhenFull};
use brigade_testkit::{Gate, OnDrop, at_exit, test};

thread_local! {
    static LATE: OnceCell<OnDrop<Box<dyn FnMut()>>> = const { OnceCell::new() };
}

/// Every call a destructor may make; an accepted job must have been run or cancelled by it.
fn call_everything(pool: Handle, ran: &Arc<AtomicUsize>) {
    let job = || {
        let ran = Arc::clone(ran);
        move || _ = ran.fetch_add(1, Ordering::Relaxed)
    };
    let _ = Handle::current();
    let _ = pool.metrics().is_closed;
    let _ = pool.try_execute(job());
    let _ = pool.job().execute_batch([job(), job()]);
    if let Ok(submitted) = pool.try_submit(job()) {
        let _ = submitted.join();
    }
    let _ = brigade::try_execute(job());
}

#[test(pool_first in [false, true])]
fn a_foreign_destructor_may_submit_and_join(pool_first: bool) {
    for _ in 0..50 {
        let (pool, ran) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
        let (handle, counted) = (pool.handle(), Arc::clone(&ran));
        let foreign = thread::spawn(move || {
            // Thread-locals are dropped in the order of their creation, or in reverse.
            if pool_first {
                handle.submit(|| ()).join().unwrap();
            }
            at_exit(move || call_everything(handle, &counted));
            handle.submit(|| ()).join().unwrap();
        });
        foreign.join().unwrap();
        drop(pool);
        // Four for this pool; the fifth went to the default pool.
        assert!(ran.load(Ordering::Relaxed) >= 4);
    }
}

/// The thread runs the jobs itself, one of which waits for the other.
#[test(view_first in [false, true])]
fn a_destructor_may_run_limited_jobs(view_first: bool) {
    let pool = Pool::builder().without_threads().build().unwrap();
    let (limited, ran) = (pool.limited(1), Arc::new(AtomicUsize::new(0)));
    let counted = ran.clone();
    let foreign = thread::spawn(move || {
        if view_first {
            limited.submit(|| ()).join().unwrap();
        }
        let late = limited.clone();
        at_exit(move || {
            let (inner, counted) = (late.clone(), counted.clone());
            let outer = late.submit(move || inner.submit(|| 1).join().unwrap());
            counted.fetch_add(outer.join().unwrap(), Ordering::Relaxed);
        });
        limited.submit(|| ()).join().unwrap();
    });
    foreign.join().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn a_workers_destructor_may_submit_and_join() {
    for _ in 0..50 {
        let (pool, ran) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
        for _ in 0..2 {
            let counted = Arc::clone(&ran);
            pool.execute(move || {
                let pool = Handle::current().unwrap();
                at_exit(move || call_everything(pool, &counted));
            });
        }
        drop(pool);
        // Accepted or returned: in either case no closure is left, except in the default pool, to
        // which the free function submitted its own.
        brigade::default_pool().wait_idle();
        assert_eq!(Arc::strong_count(&ran), 1);
    }
}

#[test]
fn a_workers_destructor_may_use_another_pool() {
    let other = Pool::new(1);
    for _ in 0..50 {
        let (pool, (told, tells)) = (Pool::new(1), mpsc::channel());
        let to_other = other.handle();
        pool.execute(move || {
            at_exit(move || {
                let answer = to_other.submit(|| 42).join().unwrap();
                told.send(answer).unwrap();
            });
        });
        drop(pool);
        assert_eq!(tells.try_recv(), Ok(42), "the destructors have run when drop returns");
    }
}

/// Nor for one that is created while others are destroyed. The drop of the pool does not wait then, either.
#[cfg_attr(windows, ignore = "waits in a destructor of a thread-local")]
#[test]
fn a_shutdowns_timeout_covers_destructors() {
    for (is_late, timeout) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let (pool, gate, (begins, begun)) = (Pool::new(1), Gate::closed(), mpsc::channel());
        let wait = gate.clone();
        pool.execute(move || {
            let blocks = move || {
                begins.send(()).unwrap();
                wait.wait();
            };
            at_exit(move || {
                let blocks = blocks.clone();
                match is_late {
                    true => LATE.with(|late| _ = late.set(OnDrop(Box::new(blocks)))),
                    false => blocks(),
                }
            });
        });
        pool.close();
        begun.recv().unwrap();
        let report = pool.shutdown(Shutdown::Drain.timeout(Duration::from_millis(timeout)));
        assert_eq!((report.ran, report.still_running), (1, 0));
        drop(pool);
        gate.open();
    }
}

/// A hook sets the thread-local up before the pool's own are all there.
#[test]
fn a_start_hooks_destructor_may_call_the_pool() {
    for _ in 0..50 {
        let exits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&exits);
        let hook = move |_| {
            let (counted, pool) = (Arc::clone(&counted), Handle::current());
            at_exit(move || {
                let ran = Arc::default();
                pool.into_iter().for_each(|pool| call_everything(pool, &ran));
                counted.fetch_add(1, Ordering::Relaxed);
            });
        };
        let pool = Pool::builder().threads(2).on_start(hook).build().unwrap();
        assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
        drop(pool);
        assert_eq!(exits.load(Ordering::Relaxed), 2, "destructors have run when drop returns");
    }
}

/// Room is made by a job that is dropped, on a thread that has less left of itself than others.
#[test(pool_first in [false, true])]
fn a_destructor_may_submit_to_a_full_drop_oldest_pool(pool_first: bool) {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::DropOldest);
    let (handle, ran) = (pool.handle(), Arc::new(AtomicUsize::new(0)));
    let runs = ran.clone();
    let foreign = thread::spawn(move || {
        let last = move || {
            let runs = runs.clone();
            handle.execute(move || _ = runs.fetch_add(1, Ordering::Relaxed));
        };
        if pool_first {
            handle.execute(|| ());
        }
        at_exit(last);
        handle.execute(|| ());
    });
    foreign.join().unwrap();
    gate.open();
    drop(pool);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

/// Waits of every kind for jobs of the pool.
fn wait_for_jobs_of(pool: &LocalPool) -> [i32; 8] {
    let mut set = TaskSet::new(pool.handle());
    set.submit(|| 7);
    [
        pool.submit(|| 1).join().unwrap(),
        pool.spawn(async { 2 }).join().unwrap(),
        pool.spawn_local(async { 3 }).join().unwrap(),
        pool.install(|| 4).unwrap(),
        pool.scope(|s| s.submit(|| 5).join().unwrap()).unwrap(),
        pool.in_place_scope(|s| s.spawn(async { 6 }).join().unwrap()).unwrap(),
        set.join_next().unwrap().unwrap(),
        brigade::block_on(pool.submit(|| 8)).unwrap(),
    ]
}

/// Caught: the list of the thread's pools had been destroyed, and each of these waits hung.
#[test(is_made_before in [false, true])]
fn a_last_destructor_may_use_its_local_pool(is_made_before: bool) {
    let (told, tells) = mpsc::channel();
    let thread = thread::spawn(move || {
        // The first of the thread, and so destroyed last.
        LATE.with(|_| ());
        assert_eq!(wait_for_jobs_of(&LocalPool::new().unwrap()), [1, 2, 3, 4, 5, 6, 7, 8]);
        let mut made = is_made_before.then(|| LocalPool::new().unwrap());
        let last = OnDrop(Box::new(move || {
            let pool = made.take().unwrap_or_else(|| LocalPool::new().unwrap());
            told.send(wait_for_jobs_of(&pool)).unwrap();
        }) as Box<dyn FnMut()>);
        LATE.with(|late| late.set(last)).unwrap();
    });
    thread.join().unwrap();
    assert_eq!(tells.recv(), Ok([1, 2, 3, 4, 5, 6, 7, 8]));
}
