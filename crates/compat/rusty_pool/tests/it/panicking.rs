//! Tasks that panic.

use brigade_testkit::{Gate, panics, test};
use futures_channel::oneshot::Canceled;
use rusty_pool::ThreadPool;

use crate::{LONG, occupy};

#[test]
fn a_panicked_tasks_handle_is_cancelled() {
    let pool = ThreadPool::default();
    assert_eq!(pool.evaluate(|| -> u32 { panic!("expected") }).try_await_complete(), Err(Canceled));
    let future = async { panic!("expected") };
    assert_eq!(pool.complete::<u32>(future).try_await_complete(), Err(Canceled));
    let handle = pool.evaluate(|| -> u32 { panic!("expected") });
    pool.join();
    let waits = std::panic::AssertUnwindSafe(|| handle.await_complete());
    let payload = std::panic::catch_unwind(waits).unwrap_err();
    let text = panics::text(&*payload).unwrap();
    assert!(text.starts_with("could not receive message because channel was cancelled"), "{text}");
}

#[test]
fn panics_change_no_thread_count_and_join_returns() {
    for _ in 0..50 {
        let pool = ThreadPool::new(3, 3, LONG);
        (0..10).for_each(|_| pool.execute(|| panic!("expected")));
        pool.join();
        assert_eq!((pool.get_current_worker_count(), pool.get_idle_worker_count()), (3, 3));
        let gate = Gate::closed();
        occupy(&pool, 3, &gate);
        assert_eq!((pool.get_current_worker_count(), pool.get_idle_worker_count()), (3, 0));
        gate.open();
    }
}

#[cfg(feature = "async")]
#[test]
fn a_futures_panic_affects_no_other() {
    let pool = ThreadPool::new(1, 1, LONG);
    pool.spawn(async { panic!("expected") });
    let panics = pool.spawn_await::<u32>(async { panic!("expected") });
    assert_eq!(panics.try_await_complete(), Err(Canceled));
    assert_eq!(pool.spawn_await(async { 42 }).await_complete(), 42);
}
