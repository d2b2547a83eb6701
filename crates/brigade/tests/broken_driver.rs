//! A driver that the system takes away. One test: it looks for a file of the process's.

#![cfg(all(target_os = "linux", feature = "io"))]

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use brigade::Pool;
use brigade_testkit::{eventually, test};
use futures_lite::AsyncReadExt as _;

/// The file of the one epoll instance.
fn epoll() -> i32 {
    let files = fs::read_dir("/proc/self/fd").unwrap().map(|file| file.unwrap().path());
    let is_epoll = |file: &std::path::PathBuf| {
        fs::read_link(file).is_ok_and(|target| target.ends_with("anon_inode:[eventpoll]"))
    };
    let found: Vec<_> = files.filter(is_epoll).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// As in a process that closes all files to become a daemon.
#[test]
fn file_waits_fail_with_a_broken_driver() {
    let pool = Pool::new(2);
    let (mut reader, writer) = pool.handle().enter(brigade::io::pipe).unwrap();
    let reads = pool.spawn(async move { reader.read(&mut [0]).await });
    eventually("it waits", || pool.metrics().idle_threads == *pool.size().end());
    let none = File::open("/dev/null").unwrap();
    // SAFETY: the number stays that of an open file, which is closed once, by its owner.
    assert!(unsafe { libc::dup2(none.as_raw_fd(), epoll()) } >= 0);
    // The driver holder waits on the file that the number named before, until it is called for a
    // timer.
    while !reads.is_finished() {
        pool.spawn(brigade::time::sleep(Duration::from_millis(1))).join().unwrap();
    }
    assert!(reads.join().unwrap().is_err());
    drop(writer);
}
