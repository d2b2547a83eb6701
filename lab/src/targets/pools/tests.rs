//! What the adapters of elastic pools mean by their sizes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{Brigade, MANY, Policy, RustyPool, Submit, Target, Threadpool};
use crate::targets::elastic::{Size, TokioBlocking};

/// How many jobs this pool runs at once, `most` at most: each is submitted when the one before it
/// runs, so that no thread is on its way to take it.
fn at_once<T: Target>(target: T, most: usize) -> usize {
    let (begun, report) = mpsc::channel();
    let over = Arc::new(AtomicBool::new(false));
    let outside = target.outside();
    let submit = || {
        let (begun, over) = (begun.clone(), Arc::clone(&over));
        outside.submit(move || {
            let _ = begun.send(());
            while !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        });
    };
    // Long enough for a thread to start, and for one too many to show.
    let soon = Duration::from_millis(500);
    let begins = |_: &usize| {
        submit();
        report.recv_timeout(soon).is_ok()
    };
    let running = (0..most).take_while(begins).count();
    over.store(true, Ordering::Relaxed);
    drop(outside);
    target.shutdown();
    running
}

#[test]
fn a_pool_of_2_to_50_threads_grows_to_50_whatever_less_is_asked_for() {
    let brigade = Brigade::start(1, Policy::Elastic50).expect("a pool");
    assert_eq!(at_once(brigade, MANY + 5), MANY);
    assert_eq!(at_once(RustyPool::few_to_many(1), MANY + 5), MANY);
}

#[test]
fn a_pool_of_2_to_50_threads_grows_beyond_50_when_asked_for() {
    let brigade = Brigade::start(MANY + 3, Policy::Elastic50).expect("a pool");
    assert_eq!(at_once(brigade, MANY + 5), MANY + 3);
    assert_eq!(at_once(RustyPool::few_to_many(MANY + 3), MANY + 5), MANY + 3);
}

#[test]
fn an_elastic_pool_has_as_many_threads_as_are_asked_for() {
    assert_eq!(at_once(Brigade::start(3, Policy::Elastic).expect("a pool"), 5), 3);
    assert_eq!(at_once(RustyPool::lazy(3), 5), 3);
}

#[test]
fn a_target_of_elastic_grows_to_the_size_it_is_told() {
    let size = Size { core: 1, max: 3, keep_alive: Duration::from_secs(10) };
    assert_eq!(at_once(Brigade::elastic(size).expect("a pool"), 5), 3);
    assert_eq!(at_once(RustyPool::elastic(size), 5), 3);
    assert_eq!(at_once(Threadpool::start(size.max), 5), 3);
    assert_eq!(at_once(TokioBlocking::start(size).expect("a runtime"), 5), 3);
}
