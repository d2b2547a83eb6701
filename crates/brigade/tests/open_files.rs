//! The files of a pool's driver. One test: the count is the process's.

#![cfg(all(target_os = "linux", feature = "io"))]
#![forbid(unsafe_code)]

use std::future::poll_fn;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;

use brigade::Pool;
use brigade_testkit::resources::open_files;
use brigade_testkit::test;

/// The thread remembers the pool that it used last.
#[test]
fn a_dropped_pool_leaves_no_file_open() {
    let files = open_files();
    for last in ["a submission", "a wake"] {
        let (sends, waker) = mpsc::channel();
        let pool = Pool::new(2);
        let (reader, writer) = pool.handle().enter(brigade::io::pipe).unwrap();
        let mut has_waited = false;
        let waits = pool.spawn(poll_fn(move |context| {
            if has_waited {
                return Poll::Ready(());
            }
            has_waited = true;
            sends.send(context.waker().clone()).unwrap();
            Poll::Pending
        }));
        let (handle, (used, uses), (ends, end)) =
            (pool.handle(), mpsc::channel(), mpsc::channel::<()>());
        let user = thread::spawn(move || {
            waker.recv().unwrap().wake();
            if last == "a submission" {
                handle.execute(|| ());
            }
            used.send(()).unwrap();
            let _ = end.recv();
        });
        uses.recv().unwrap();
        waits.join().unwrap();
        drop((reader, writer));
        assert!(open_files() > files, "the pool has files of its own");
        drop(pool);
        assert_eq!(open_files(), files, "after {last}");
        drop(ends);
        user.join().unwrap();
    }
}
