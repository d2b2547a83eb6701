//! What a pool does not do before it is needed. A file of its own: any fork in the process would do it.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(brigade_loom)
))]
#![forbid(unsafe_code)]

use brigade::Pool;
use brigade_testkit::syscalls::{counted, mark};
use brigade_testkit::test;

/// A program may make pools for small work.
#[test]
fn two_pools_read_the_quota_once() {
    let sections = counted(|| {
        drop(Pool::builder().build().unwrap());
        mark();
        drop(Pool::builder().build().unwrap());
        drop(Pool::new(2));
        mark();
    });
    let Some(sections) = sections else { return };
    assert!(!sections[0].contains(&libc::SYS_openat), "{:?}", sections[0]);
}

/// The kernel takes some 10 ms to prepare a process of several threads for the fences of forks.
#[test]
fn a_pool_without_forks_skips_their_preparation() {
    let sections = counted(|| {
        mark();
        let pool = Pool::new(1);
        pool.submit(|| ()).join().unwrap();
        mark();
        pool.install(|| brigade::join(|| (), || ())).unwrap();
        drop(pool);
        mark();
    });
    // The system does not support the counting.
    let Some(sections) = sections else { return };
    let prepares = |calls: &[i64]| calls.contains(&libc::SYS_membarrier);
    assert_eq!([prepares(&sections[0]), prepares(&sections[1])], [false, true]);
}
