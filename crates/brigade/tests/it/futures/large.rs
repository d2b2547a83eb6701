//! How much stack a large future takes on the way to its pool, and that it comes back from a pool that rejects it.

use std::future::Future;
use std::pin::Pin;
use std::process::Output;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{
    Handle, LocalPool, Pool, Reason, Rejected, TaskSet, block_on, spawn, spawn_local, time,
    try_spawn,
};
use brigade_testkit::{test, this_program};

const SIZE: usize = 1 << 20;

struct Large<const N: usize>([u8; N]);

impl<const N: usize> Future for Large<N> {
    type Output = u8;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
        Poll::Ready(self.0[N / 2])
    }
}

/// A large closure.
#[inline(never)]
fn closure() -> impl FnOnce() + Send + 'static {
    let large = large();
    move || assert_eq!(large.0[0], 42)
}

#[inline(never)]
fn large() -> Large<SIZE> {
    Large([42; SIZE])
}

type Verb = (&'static str, usize, fn(Handle));

/// Functions, with a variant behind a comma, and how many copies of a future or closure the stack must have room for in a build without optimization: the
/// caller's, one in each function that takes it by value, and one more in the caller of a verb that may return it.
const VERBS: [Verb; 26] = [
    ("the future alone", 2, |_| assert_eq!(large().0[0], 42)),
    ("Handle::spawn", 3, |pool| drop(pool.spawn(large()))),
    ("spawn", 4, |pool| pool.enter(|| drop(spawn(large())))),
    ("try_spawn", 5, |pool| pool.enter(|| drop(try_spawn(large()).ok()))),
    ("Handle::try_spawn", 4, |pool| drop(pool.try_spawn(large()).ok())),
    ("JobBuilder::spawn", 4, |pool| drop(pool.job().spawn(large()).ok())),
    ("JobBuilder::spawn, named", 4, |pool| drop(pool.job().name("large").spawn(large()).ok())),
    ("Reserved::spawn", 4, |pool| {
        drop(block_on(pool.job().reserve()).unwrap().spawn(large()).ok())
    }),
    ("TaskSet::spawn", 3, |pool| _ = TaskSet::new(pool).spawn(large())),
    ("TaskSet::spawn, limited", 3, |pool| _ = TaskSet::new(pool).limit(1).spawn(large())),
    ("TaskSet::try_spawn", 4, |pool| _ = TaskSet::new(pool).try_spawn(large()).ok()),
    ("Limited::spawn", 4, |pool| drop(pool.limited(1).spawn(large()))),
    ("Limited::try_spawn", 4, |pool| drop(pool.limited(1).try_spawn(large()).ok())),
    ("SetJob::spawn", 5, |pool| _ = TaskSet::new(pool).job().spawn(large()).ok()),
    ("Scope::spawn", 2, |pool| pool.in_place_scope(|s| drop(s.spawn(large()))).unwrap()),
    ("Handle::execute", 8, |pool| pool.execute(closure())),
    ("Handle::submit", 8, |pool| drop(pool.submit(closure()))),
    ("JobBuilder::submit", 5, |pool| drop(pool.job().submit(closure()).ok())),
    ("TaskSet::submit", 6, |pool| _ = TaskSet::new(pool).submit(closure())),
    ("time::timeout", 5, |pool| drop(pool.spawn(time::timeout(Duration::MAX, large())))),
    ("time::timeout_at", 5, |pool| {
        drop(pool.spawn(time::timeout_at(Instant::now(), large())));
    }),
    ("block_on", 2, |_| assert_eq!(block_on(large()), 42)),
    ("Handle::block_on", 2, |pool| assert_eq!(pool.block_on(large()), 42)),
    ("LocalPool::run_until", 2, |_| assert_eq!(LocalPool::new().unwrap().run_until(large()), 42)),
    ("LocalPool::spawn_local", 3, |_| drop(LocalPool::new().unwrap().spawn_local(large()))),
    ("spawn_local", 3, |_| {
        LocalPool::new().unwrap().run_until(async { drop(spawn_local(large())) })
    }),
];

fn kinds() -> [(&'static str, Pool); 3] {
    // A closure is moved to the stack of the thread that runs it.
    let builder = || Pool::builder().threads(1).stack_size(16 * SIZE);
    [
        ("plain", builder().build().unwrap()),
        ("bounded", builder().capacity(100).build().unwrap()),
        ("observed", builder().observe_jobs().build().unwrap()),
    ]
}

#[test]
#[ignore = "ends the process if the stack is too small; run by the test below"]
fn body_with_a_stack_for_the_copies() {
    let (kinds, mut verbs) = (kinds(), VERBS);
    // The C library may give a thread the larger stack of an earlier one.
    verbs.sort_by_key(|&(_, copies, _)| copies);
    for (verb, copies, call) in verbs {
        for (kind, pool) in &kinds {
            println!("{copies} copies in a {kind} pool: {verb}");
            let pool = pool.handle();
            let thread = thread::Builder::new().stack_size(copies * SIZE + SIZE / 2);
            thread.spawn(move || call(pool)).unwrap().join().unwrap();
        }
    }
    println!("all");
}

/// Caught: 15 copies for `spawn` and 36 in a set, so that a future of 100 kB was too much for a worker.
#[test]
fn each_function_copies_a_large_future_once() {
    let mut this = this_program();
    let this = this.args(["--ignored", "--exact", "--nocapture"]);
    let Output { status, stdout, .. } =
        this.arg("futures::large::body_with_a_stack_for_the_copies").output().unwrap();
    let shown = String::from_utf8_lossy(&stdout);
    assert!(status.success() && shown.contains("all"), "more than {:?}", shown.lines().last());
}

#[test]
fn each_function_taking_a_future_has_a_row() {
    let api = include_str!("../../../../../docs/api.txt").lines();
    let takes = |line: &&str| {
        ["F: core::future::Future", "F: brigade_task::Spawnable"].iter().any(|of| line.contains(of))
    };
    let path = |line: &'static str| {
        let path = line.strip_prefix("pub fn brigade::")?.split_once("<F")?.0;
        Some(path.replace("<T>", "").replace("<'_, T>", ""))
    };
    let paths: Vec<_> = api.filter(takes).filter_map(path).collect();
    let rows = VERBS.map(|(row, ..)| row.split(',').next().unwrap());
    // A function of the module `time` may be at the root, too.
    let has_row = |path: &String| rows.iter().any(|row| row.trim_start_matches("time::") == path);
    let has_row = |path: &String| has_row(path) || rows.contains(&path.as_str());
    let missing: Vec<_> = paths.iter().filter(|path| !has_row(path)).collect();
    assert!(paths.len() > 12 && missing.is_empty(), "{missing:?} of {paths:?}");
}

#[test]
fn a_rejected_large_future_is_returned() {
    fn back<R>(spawned: Result<R, Rejected<Large<5000>>>) {
        let rejected = spawned.err().unwrap();
        assert_eq!(rejected.reason(), Reason::Closed);
        assert_eq!(block_on(rejected.into_inner()), 42);
    }
    for (_, pool) in kinds() {
        let room = block_on(pool.job().reserve()).unwrap();
        let handle = pool.handle();
        pool.close();
        back(handle.try_spawn(Large([42; 5000])));
        back(handle.job().spawn(Large([42; 5000])));
        back(handle.job().name("large").spawn(Large([42; 5000])));
        back(room.spawn(Large([42; 5000])));
        back(TaskSet::new(handle).try_spawn(Large([42; 5000])));
        back(TaskSet::new(handle).limit(1).try_spawn(Large([42; 5000])));
        back(handle.limited(1).try_spawn(Large([42; 5000])));
    }
}
