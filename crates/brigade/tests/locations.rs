//! Where a panic says that it comes from: the caller's line. The hook that tells is the process's.

#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::future::pending;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use brigade::{Handle, JoinError, Pool, TaskSet, WhenFull, block_on, spawn_local};

thread_local! {
    /// The file and the line of this thread's last panic.
    static LAST: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Whether the call panics, and says that it does so in this file, on that line.
#[track_caller]
fn assert_panics_at(line: u32, call: impl FnOnce()) {
    LAST.take();
    assert!(panic::catch_unwind(AssertUnwindSafe(call)).is_err(), "line {line}: no panic");
    assert_eq!(LAST.take(), Some((file!().to_owned(), line)));
}

/// Calls it, on this line.
macro_rules! here {
    ($call:expr) => {
        assert_panics_at(line!(), || drop($call))
    };
}

#[test]
fn a_panic_comes_from_the_line_that_calls() {
    panic::set_hook(Box::new(|info| {
        let location = info.location().map(|at| (at.file().to_owned(), at.line()));
        LAST.set(location);
    }));
    let pool = Pool::new(1);
    pool.close();
    owner(&pool);
    handle(pool.handle());
    free(&pool);
    sets(&pool);
    others();
    drop(pool);
}

fn owner(pool: &Pool) {
    here!(pool.execute(|| ()));
    here!(pool.submit(|| ()));
    here!(pool.spawn(async {}));
    let bounded = Pool::builder().threads(1).capacity(1).when_full(WhenFull::Reject);
    let bounded = bounded.build().unwrap();
    let room = block_on(bounded.job().reserve()).unwrap();
    here!(bounded.execute(|| ()));
    here!(bounded.submit(|| ()));
    here!(bounded.spawn(async {}));
    drop(room);
}

fn handle(handle: Handle) {
    here!(handle.execute(|| ()));
    here!(handle.submit(|| ()));
    here!(handle.spawn(async {}));
}

fn free(pool: &Pool) {
    let soon = Duration::from_millis(1);
    here!(pool.enter(|| brigade::execute(|| ())));
    here!(pool.enter(|| drop(brigade::submit(|| ()))));
    here!(pool.enter(|| drop(brigade::spawn(async {}))));
    here!(pool.enter(|| drop(brigade::execute_after(soon, || ()))));
    here!(pool.enter(|| drop(brigade::execute_at(Instant::now(), || ()))));
    here!(pool.enter(|| drop(brigade::execute_every(soon, || ()))));
    here!(pool.enter(|| drop(brigade::submit_after(soon, || ()))));
}

fn sets(pool: &Pool) {
    let mut set = TaskSet::new(pool);
    here!(set.submit(|| ()));
    here!(set.spawn(async {}));
    let open = Pool::new(1);
    let mut limited = TaskSet::new(&open).limit(1);
    limited.spawn(pending());
    open.close();
    // It would have to wait in the set.
    here!(limited.submit(|| ()));
    here!(limited.spawn(async {}));
    here!(TaskSet::<()>::new(&open).limit(0));
}

fn others() {
    let pool = Pool::new(1);
    here!(pool.job().every(Duration::ZERO));
    here!(brigade::execute_every(Duration::ZERO, || ()));
    here!(spawn_local(async {}));
    let mut taken = pool.submit(|| ());
    taken.join_timeout(Duration::MAX).unwrap().unwrap();
    here!(taken.abort_handle());
    let mut taken = pool.submit(|| ());
    taken.join_timeout(Duration::MAX).unwrap().unwrap();
    here!(taken.join());
    here!(JoinError::Cancelled.into_panic());
}
