//! Every item, with the types that the documentation of threadpool 1.8 gives it.

use std::fmt::Debug;
use std::panic::UnwindSafe;

use threadpool::{Builder, ThreadPool};

fn is_shared<T: Clone + Send + Sync + 'static>() {}
fn is_pool<T: Clone + Debug + Default + PartialEq + Eq + Send + Sync + UnwindSafe + 'static>() {}
fn is_builder<T: Clone + Default>() {}

#[test]
#[expect(deprecated, reason = "they are part of the interface")]
fn every_documented_item_has_its_type() {
    is_shared::<Builder>();
    is_pool::<ThreadPool>();
    is_builder::<Builder>();
    let _: fn() -> Builder = Builder::new;
    let _: fn(Builder, usize) -> Builder = Builder::num_threads;
    let _: fn(Builder, String) -> Builder = Builder::thread_name;
    let _: fn(Builder, usize) -> Builder = Builder::thread_stack_size;
    let _: fn(Builder) -> ThreadPool = Builder::build;
    let _: fn(usize) -> ThreadPool = ThreadPool::new;
    let _: fn(String, usize) -> ThreadPool = ThreadPool::with_name;
    let _: fn(String, usize) -> ThreadPool = ThreadPool::new_with_name;
    let _: fn(&ThreadPool, fn()) = ThreadPool::execute::<fn()>;
    let _: fn(&ThreadPool) -> usize = ThreadPool::queued_count;
    let _: fn(&ThreadPool) -> usize = ThreadPool::active_count;
    let _: fn(&ThreadPool) -> usize = ThreadPool::max_count;
    let _: fn(&ThreadPool) -> usize = ThreadPool::panic_count;
    let _: fn(&mut ThreadPool, usize) = ThreadPool::set_threads;
    let _: fn(&mut ThreadPool, usize) = ThreadPool::set_num_threads;
    let _: fn(&ThreadPool) = ThreadPool::join;
}

#[test]
fn only_clones_are_the_same_pool() {
    let (one, other) = (ThreadPool::new(1), ThreadPool::new(1));
    assert_eq!(one, one.clone());
    assert_ne!(one, other);
    let mut clone = one.clone();
    clone.set_num_threads(3);
    assert_eq!((one.max_count(), other.max_count()), (3, 1));
}

#[test]
fn debug_shows_the_name_and_the_counts() {
    let named = ThreadPool::with_name("hello".into(), 4);
    named.join();
    let text =
        "ThreadPool { name: Some(\"hello\"), queued_count: 0, active_count: 0, max_count: 4 }";
    assert_eq!(format!("{named:?}"), text);
    let gate = brigade_testkit::Gate::closed();
    let unnamed = ThreadPool::new(1);
    crate::occupy(&unnamed, 1, &gate);
    unnamed.execute(|| ());
    let text = "ThreadPool { name: None, queued_count: 1, active_count: 1, max_count: 1 }";
    assert_eq!(format!("{unnamed:?}"), text);
    gate.open();
}
