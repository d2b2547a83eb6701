//! The threads: names and stacks.

use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;

use brigade_testkit::test;
use threadpool::{Builder, ThreadPool};

/// The names of two threads at once.
fn names(pool: &ThreadPool) -> Vec<Option<String>> {
    let (gate, (told, tells)) = (brigade_testkit::Gate::closed(), mpsc::channel());
    for _ in 0..2 {
        let (gate, told) = (gate.clone(), told.clone());
        pool.execute(move || {
            told.send(thread::current().name().map(String::from)).unwrap();
            gate.wait();
        });
    }
    let names = tells.iter().take(2).collect();
    gate.open();
    names
}

#[test]
#[expect(deprecated, reason = "it is part of the interface")]
fn every_thread_has_the_name_itself() {
    let builder = || Builder::new().num_threads(2).thread_name("worker".into());
    let pools = [
        ThreadPool::with_name("worker".into(), 2),
        ThreadPool::new_with_name("worker".into(), 2),
        builder().build(),
        builder().clone().build(),
    ];
    for pool in pools {
        assert_eq!(names(&pool), [Some("worker".to_owned()), Some("worker".to_owned())]);
    }
}

#[test]
fn threads_have_no_name_by_default() {
    let mut pool = ThreadPool::new(1);
    pool.set_num_threads(2);
    assert_eq!(names(&pool), [None, None]);
}

#[test]
fn a_name_with_a_nul_is_a_panic() {
    assert!(catch_unwind(|| ThreadPool::with_name("a\0b".into(), 1)).is_err());
}

#[test]
fn a_job_may_use_most_of_its_stack() {
    fn deep(levels: usize) -> usize {
        let page = black_box([1_u8; 4096]);
        usize::from(page[levels % 4096]) + if levels == 0 { 0 } else { deep(levels - 1) }
    }
    let pool = Builder::new().num_threads(1).thread_stack_size(64 << 20).build();
    let (told, tells) = mpsc::channel();
    pool.execute(move || told.send(deep(2000)).unwrap());
    assert_eq!(tells.recv(), Ok(2001));
}
