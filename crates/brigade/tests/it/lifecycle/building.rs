//! The values that the builder accepts and rejects; a rejected one leaks nothing.

use std::hint::black_box;
use std::io::ErrorKind;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use brigade::{Builder, Pool, Threads};

#[cfg(target_os = "linux")]
use crate::support::crowd::threads_named;
use crate::support::roll_call::on_every_worker;
use brigade_testkit::{eventually, test};

#[track_caller]
fn assert_refused(builder: Builder) {
    let Err(refusal) = builder.build() else { panic!("accepted") };
    assert_eq!(refusal.kind(), ErrorKind::InvalidInput, "{refusal}");
    assert!(!refusal.to_string().is_empty());
}

#[test]
fn no_threads_and_too_many_are_refused() {
    for threads in [0, Threads::MAX + 1, usize::MAX] {
        assert_refused(Pool::builder().threads(threads));
    }
    for spare in [Threads::MAX + 1, usize::MAX] {
        assert_refused(Pool::builder().threads(1).spare_threads(spare));
    }
}

#[cfg(target_os = "linux")]
#[test(bad in 0..4)]
fn a_nul_in_a_thread_name_fails_the_build(bad: usize) {
    let name = move |index| format!("nul-name-{index}{}", if index == bad { "\0" } else { "" });
    assert_refused(Pool::builder().threads(4).name(name));
    eventually("the threads are gone", || threads_named("nul-name-") == 0);
    let retry = Pool::builder().threads(4).name(|index| format!("nul-name-{index}"));
    assert_eq!(on_every_worker(&retry.build().unwrap(), || 1), [1; 4], "the retry works");
}

#[cfg(target_os = "linux")]
#[test]
fn a_panicking_name_function_leaves_no_thread() {
    let name = |index| {
        assert!(index != 2, "expected: the name function panics");
        format!("bad-name-{index}")
    };
    let builder = Pool::builder().threads(4).name(name);
    // A panic here, an error, or a pool with another name: each is acceptable, a leak is not.
    drop(panic::catch_unwind(AssertUnwindSafe(|| builder.build())));
    eventually("the threads are gone", || threads_named("bad-name-") == 0);
}

#[test]
fn workers_have_the_names_asked_for() {
    let pool = Pool::builder().threads(4).name(|index| format!("worker number {index}"));
    let pool = pool.build().unwrap();
    let mut names = on_every_worker(&pool, || thread::current().name().map(str::to_owned).unwrap());
    names.sort();
    let asked: Vec<_> = (0..4).map(|index| format!("worker number {index}")).collect();
    assert_eq!(names, asked);
}

#[test]
fn odd_names_are_taken_or_refused() {
    for name in [String::new(), "🚒🪣".repeat(9), "x".repeat(1 << 20), "a/b%s\n".to_owned()] {
        let asked = name.clone();
        match Pool::builder().threads(1).name(move |_| asked.clone()).build() {
            Ok(pool) => assert_eq!(pool.submit(|| 42).join().unwrap(), 42),
            Err(refusal) => assert_eq!(refusal.kind(), ErrorKind::InvalidInput, "{name:.20}"),
        }
    }
}

/// Uses 64 KiB of stack per level.
fn deep(levels: usize) -> usize {
    let frame = [1_u8; 64 << 10];
    let below = if levels > 1 { deep(levels - 1) } else { 0 };
    below + usize::from(black_box(&frame)[levels])
}

#[test]
fn a_job_may_use_4_of_the_16_mebibytes() {
    let pool = Pool::builder().threads(2).stack_size(16 << 20).build().unwrap();
    assert_eq!(on_every_worker(&pool, || deep(64)), [64; 2]);
}

#[test(bytes in [0, 1, 4095, usize::MAX, usize::MAX / 2 + 1, isize::MAX as usize])]
fn absurd_stack_sizes_are_refused_or_adjusted(bytes: usize) {
    if let Err(error) = Pool::builder().threads(1).stack_size(bytes).build() {
        assert!(error.to_string().contains("stack"), "{error}");
    }
    if let Ok(pool) = Pool::builder().threads(1).stack_size(bytes).build() {
        assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    }
}

#[test]
fn the_default_size_is_the_parallelism() {
    let offered = thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(Pool::builder().build().unwrap().size(), offered..=offered);
    for threads in [1, 2, 3, 64] {
        assert_eq!(Pool::new(threads).size(), threads..=threads);
    }
}
