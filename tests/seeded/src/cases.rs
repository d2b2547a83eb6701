//! Small programs: for each fault that a random program has found, a program of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use brigade::{NewThread, Pool, Shutdown, Thread};
use brigade_sync::thread::yield_now;
use brigade_sync::{Mutex, time};

/// All of them, each with its name.
macro_rules! all {
    ($($case:ident)*) => {
        pub(crate) const ALL: &[(&str, fn())] = &[$((stringify!($case), $case)),*];
    };
}
all! {
    a_drop_waits_for_a_thread_that_is_about_to_be_started
    a_shutdown_waits_for_a_closure_that_its_handle_runs
    a_pool_ends_although_a_future_always_goes_on
    a_job_that_holds_a_lock_submits_to_its_full_pool
}

fn beside(main: impl FnOnce() + Send + 'static) -> Thread {
    NewThread::new("beside".into(), None, main).start().expect("a thread")
}

fn a_drop_waits_for_a_thread_that_is_about_to_be_started() {
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = is_over.clone();
    let hook = move |_| assert!(!seen.load(Relaxed), "a thread starts after the drop");
    let pool = Pool::builder().threads(2).lazy().on_start(hook).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || drop(handle.try_execute(|| ())));
    drop(pool);
    is_over.store(true, Relaxed);
    other.join();
}

fn a_shutdown_waits_for_a_closure_that_its_handle_runs() {
    let pool = Pool::builder().threads(1).caller_participates(false).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || {
        // Rejected, it is not run, or runs there and is not counted.
        _ = handle.in_place_scope(|scope| _ = scope.submit(yield_now).join());
    });
    assert_eq!(pool.shutdown(Shutdown::Finish).still_running, 0);
    other.join();
}

fn a_pool_ends_although_a_future_always_goes_on() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(1);
        drop(pool.spawn(async {
            loop {
                brigade::yield_now().await;
            }
        }));
        let mut ticks = brigade::time::interval(Duration::from_millis(1));
        drop(pool.spawn(async move {
            loop {
                ticks.tick().await;
                time::sleep(Duration::from_millis(2));
            }
        }));
        pool.shutdown(how);
    }
}

fn a_job_that_holds_a_lock_submits_to_its_full_pool() {
    let pool = Pool::builder().threads(2).capacity(1).build().expect("a pool");
    let lock = Arc::new(Mutex::new(0));
    for _ in 0..3 {
        let (handle, lock) = (pool.handle(), lock.clone());
        pool.execute(move || {
            let mut count = lock.lock();
            let lock = lock.clone();
            handle.execute(move || *lock.lock() += 1);
            *count += 1;
        });
    }
    drop(pool);
    assert_eq!(*lock.lock(), 6);
}
