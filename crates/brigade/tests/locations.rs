//! The location of a panic is the caller's line. The panic hook is the process's, so this is a
//! binary of its own.

#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

use brigade::{
    Cause, Handle, JoinError, LocalPool, Pool, TaskSet, WhenFull, block_on, spawn_local, time,
};

thread_local! {
    /// Whether this thread is inside of `here!`.
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
    /// What calls said that did not panic on their own line.
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The file and the line of this thread's last panic.
    static LAST: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Checks that the call panics with this file and line as its location.
fn panics_at(line: u32, call: impl FnOnce()) {
    LAST.take();
    IS_EXPECTED.set(true);
    let panicked = panic::catch_unwind(AssertUnwindSafe(call)).is_err();
    IS_EXPECTED.set(false);
    let said = LAST.take();
    if !panicked || said != Some((file!().to_owned(), line)) {
        WRONG.with_borrow_mut(|wrong| wrong.push(format!("line {line}: {panicked}, {said:?}")));
    }
}

/// Calls it, on this line.
macro_rules! here {
    ($call:expr) => {
        panics_at(line!(), || _ = $call)
    };
}

/// Has panics inside of `here!` told to it, and the others printed.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            LAST.set(info.location().map(|at| (at.file().to_owned(), at.line())));
            if !IS_EXPECTED.get() {
                loud(info);
            }
        }));
    });
}

#[test]
fn a_panic_names_the_callers_line() {
    listen();
    let pool = Pool::new(1);
    pool.close();
    owner(&pool);
    handle(pool.handle());
    free(&pool);
    borrowing(&pool);
    sets(&pool);
    local();
    others();
    assert_eq!(WRONG.take(), Vec::<String>::new());
}

#[test]
fn a_missing_outcomes_panic_names_the_callers_line() {
    listen();
    here!(spawn_local(async {}));
    let pool = Pool::new(1);
    let mut taken = pool.submit(|| ());
    taken.join_timeout(Duration::MAX).unwrap().unwrap();
    assert!(!taken.cancel_handle().cancel(), "it has ended");
    here!(taken.join());
    let mut taken = pool.submit(|| ());
    taken.join_timeout(Duration::MAX).unwrap().unwrap();
    here!(taken.cancel_on_drop().join());
    assert_eq!(WRONG.take(), Vec::<String>::new());
}

fn owner(pool: &Pool) {
    here!(pool.broadcast(|_| ()));
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
    here!(handle.broadcast(|_| ()));
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

fn borrowing(pool: &Pool) {
    let numbers = &mut [1, 2, 3];
    here!(pool.enter(|| brigade::join(|| (), || ())));
    here!(pool.enter(|| brigade::scope(|_| ())));
    here!(pool.enter(|| brigade::in_place_scope(|_| ())));
    here!(pool.enter(|| brigade::par_for(0..9, 1, |_| ())));
    here!(pool.enter(|| brigade::par_for_with(0..9, 1, || (), |(), _| ())));
    here!(pool.enter(|| brigade::try_par_for(0..9, 1, |_| Ok::<_, ()>(()))));
    here!(pool.enter(|| brigade::par_map(0..9, 1, |n| n)));
    here!(pool.enter(|| brigade::par_chunks(numbers, 1, |_, _| ())));
    here!(brigade::par_chunks(numbers, 0, |_, _| ()));
    here!(pool.enter(|| brigade::par_chunks_mut(numbers, 1, |_, _| ())));
    here!(brigade::par_chunks_mut(numbers, 0, |_, _| ()));
    here!(pool.enter(|| brigade::map_reduce(0..9, 1, |n| n, usize::max)));
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

/// A pool that its own future runs.
fn local() {
    let pool = LocalPool::new().unwrap();
    pool.run_until(async {
        here!(pool.run_until(async {}));
        here!(pool.run_until_idle());
        here!(pool.tick());
    });
}

fn others() {
    here!(Pool::new(0));
    here!(time::interval(Duration::ZERO));
    here!(time::interval_at(Instant::now(), Duration::ZERO));
    let pool = Pool::new(1);
    here!(pool.job().every(Duration::ZERO));
    here!(brigade::execute_every(Duration::ZERO, || ()));
    here!(JoinError::Cancelled(Cause::Asked).into_panic());
}
