//! Every item, with the types that the documentation of rusty_pool 0.7 gives it.

use std::time::Duration;

use crossbeam_channel::SendError;
use futures_channel::oneshot::{Canceled, Receiver};
use rusty_pool::{Builder, JoinHandle, MAX_SIZE, Task, ThreadPool};

type Job = Box<dyn FnOnce() + Send + 'static>;
type Tried<R> = Result<R, SendError<Job>>;

fn is_pool<T: Clone + Default + Send + Sync + 'static>() {}
fn is_builder<T: Default + Send + Sync>() {}
fn is_sent<T: Send + ?Sized>() {}

#[test]
fn every_documented_item_has_its_type() {
    is_pool::<ThreadPool>();
    is_builder::<Builder>();
    is_sent::<JoinHandle<u32>>();
    is_sent::<dyn Task<u32>>();
    let _: fn() -> Builder = Builder::new;
    let _: fn(Builder, String) -> Builder = Builder::name;
    let _: fn(Builder, usize) -> Builder = Builder::core_size;
    let _: fn(Builder, usize) -> Builder = Builder::max_size;
    let _: fn(Builder, Duration) -> Builder = Builder::keep_alive;
    let _: fn(Builder) -> ThreadPool = Builder::build;
    let _: fn(usize, usize, Duration) -> ThreadPool = ThreadPool::new;
    let _: fn(String, usize, usize, Duration) -> ThreadPool = ThreadPool::new_named;
    let _: fn(&ThreadPool) -> usize = ThreadPool::get_current_worker_count;
    let _: fn(&ThreadPool) -> usize = ThreadPool::get_idle_worker_count;
    let _: fn(&ThreadPool) -> &str = ThreadPool::get_name;
    let _: fn(&ThreadPool) = ThreadPool::start_core_threads;
    let _: fn(&ThreadPool, fn()) = ThreadPool::execute::<fn()>;
    let _: fn(&ThreadPool, fn()) -> Tried<()> = ThreadPool::try_execute::<fn()>;
    type Six = fn() -> u32;
    let _: fn(&ThreadPool, Six) -> JoinHandle<u32> = ThreadPool::evaluate::<u32, Six>;
    let _: fn(&ThreadPool, Six) -> Tried<JoinHandle<u32>> = ThreadPool::try_evaluate::<u32, Six>;
    let _: fn(&ThreadPool) = ThreadPool::join;
    let _: fn(&ThreadPool, Duration) = ThreadPool::join_timeout;
    let _: fn(ThreadPool) = ThreadPool::shutdown;
    let _: fn(ThreadPool) = ThreadPool::shutdown_join;
    let _: fn(ThreadPool, Duration) = ThreadPool::shutdown_join_timeout;
    let _: fn(JoinHandle<u32>) -> u32 = JoinHandle::await_complete;
    let _: fn(JoinHandle<u32>) -> Result<u32, Canceled> = JoinHandle::try_await_complete;
    let _: fn(JoinHandle<u32>) -> Receiver<u32> = |JoinHandle { receiver }| receiver;
    let _: usize = MAX_SIZE;
    // These take `impl Future`, so they have no type that could be written.
    let pool = ThreadPool::default();
    let completed: JoinHandle<u32> = pool.complete(async { 1 });
    let tried: Tried<JoinHandle<u32>> = pool.try_complete(async { 2 });
    assert_eq!(completed.await_complete() + tried.unwrap().await_complete(), 3);
}

#[cfg(feature = "async")]
#[test]
fn every_item_of_async_has_its_type() {
    let pool = ThreadPool::default();
    let () = pool.spawn(async {});
    let tried: Tried<()> = pool.try_spawn(async {});
    let awaited: JoinHandle<u32> = pool.spawn_await(async { 1 });
    let both: Tried<JoinHandle<u32>> = pool.try_spawn_await(async { 2 });
    tried.unwrap();
    assert_eq!(awaited.await_complete() + both.unwrap().await_complete(), 3);
}

#[test]
fn the_largest_size_fits_half_the_bits() {
    assert_eq!(MAX_SIZE.count_ones(), usize::BITS / 2);
    assert_eq!(MAX_SIZE.trailing_ones(), usize::BITS / 2);
}

/// A task that is no closure.
struct Doubled(u32);

impl Task<u32> for Doubled {
    fn run(self) -> u32 {
        2 * self.0
    }

    fn into_fn(self) -> Option<Box<dyn FnOnce() -> u32 + Send + 'static>> {
        None
    }

    fn is_fn(&self) -> bool {
        false
    }
}

#[test]
fn a_type_of_the_users_is_a_task() {
    let pool = ThreadPool::default();
    assert_eq!(pool.evaluate(Doubled(21)).await_complete(), 42);
    let closure = || 42_u32;
    assert!(closure.is_fn());
    assert_eq!(closure.into_fn().unwrap()(), 42);
    assert_eq!(Task::run(closure), 42);
}
