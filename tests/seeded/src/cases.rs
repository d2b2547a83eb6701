//! Small programs, one for each fault that random ones have found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use brigade::{NewThread, Pool, Shutdown, Thread};
use brigade_sync::thread::yield_now;

/// Each with its name, which says what holds.
pub(crate) const ALL: [(&str, fn()); 2] = [
    ("a drop waits for a thread that is about to be started", drop_beside_a_start),
    ("a shutdown waits for a closure that its handle runs", shutdown_beside_a_handle),
];

fn beside(main: impl FnOnce() + Send + 'static) -> Thread {
    NewThread::new("beside".into(), None, main).start().expect("a thread")
}

fn drop_beside_a_start() {
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

fn shutdown_beside_a_handle() {
    let pool = Pool::builder().threads(1).caller_participates(false).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || {
        // Rejected, it is not run, or runs there and is not counted.
        _ = handle.in_place_scope(|scope| _ = scope.submit(yield_now).join());
    });
    assert_eq!(pool.shutdown(Shutdown::Finish).still_running, 0);
    other.join();
}
