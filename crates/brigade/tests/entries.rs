//! Jobs that have ended leave nothing in the queues: neither those that were joined in place nor those that were cancelled.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use brigade::{Builder, Handle, Order, Pool, Queueing, Scope, ScopedJoinHandle, TaskSet};
use brigade_testkit::{Gate, Latch, Observed, Watchdog, test};

/// The bytes that are allocated now.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Held by the test that counts: the count is the process's.
static COUNTS: Mutex<()> = Mutex::new(());

#[global_allocator]
static ALLOCATOR: Observed = Observed::new(
    |bytes| {
        BYTES.fetch_add(bytes, Ordering::Relaxed);
        true
    },
    |bytes| _ = BYTES.fetch_sub(bytes, Ordering::Relaxed),
);

/// Jobs that end while the worker is inside one job. Each would leave some 100 bytes.
const ENDED: usize = 20_000;

/// The memory of the entries of a few hundred jobs, and of their blocks.
const MOST: usize = 100_000;

fn allocated() -> usize {
    BYTES.load(Ordering::Relaxed)
}

/// Each way for a pool to queue.
fn builders() -> [(&'static str, Builder); 3] {
    [
        ("oldest first", Pool::builder().order(Order::Fifo)),
        ("newest first", Pool::builder().order(Order::Lifo)),
        ("shared", Pool::builder().queueing(Queueing::Shared)),
    ]
}

/// How many more bytes are allocated after many calls of `end` inside a job of a pool with this many threads.
fn grown(builder: Builder, threads: usize, end: End) -> usize {
    let pool = builder.threads(threads).spare_threads(0).build().unwrap();
    let handle = pool.handle();
    pool.submit(move || grown_by(|| end(handle))).join().unwrap()
}

/// How many more bytes are allocated after many calls of `end`.
fn grown_by(mut end: impl FnMut()) -> usize {
    (0..1000).for_each(|_| end());
    let before = allocated();
    (0..ENDED).for_each(|_| end());
    allocated().saturating_sub(before)
}

/// Has jobs of a pool end inside of another one.
type End = fn(Handle);

/// How they end, in a pool of how many threads.
const ENDS: [(&str, usize, End); 10] = [
    ("joined where they were submitted", 1, |pool| pool.submit(|| ()).join().unwrap()),
    ("joined beside other threads", 3, |pool| pool.submit(|| ()).join().unwrap()),
    ("cancelled", 1, |pool| assert!(pool.submit(|| ()).cancel())),
    ("futures, cancelled", 1, |pool| assert!(pool.spawn(async {}).cancel())),
    ("joined behind one that stays queued", 1, |pool| {
        let first = pool.submit(|| 1);
        assert_eq!(pool.submit(|| 2).join().unwrap(), 2);
        assert_eq!(first.join().unwrap(), 1);
    }),
    ("shares, joined by their worker", 1, |pool| {
        pool.broadcast(|_| ()).into_iter().for_each(|share| share.join().unwrap());
    }),
    ("shares, cancelled", 1, cancel_shares),
    ("shares of three workers, cancelled", 3, cancel_shares),
    ("timers, cancelled", 1, |pool| {
        let timer = pool.job().after(Duration::from_secs(1000)).execute(|| ()).unwrap();
        assert!(timer.cancel());
    }),
    ("local futures, cancelled", 1, |_| assert!(brigade::spawn_local(async {}).cancel())),
];

fn cancel_shares(pool: Handle) {
    pool.broadcast(|_| ()).into_iter().for_each(|share| _ = share.cancel());
}

#[test(unwatched, (jobs, threads, end) in ENDS)]
fn jobs_ended_inside_a_job_leave_nothing(threads: usize, end: End) {
    let _alone = COUNTS.lock();
    let _dog = Watchdog::start(120);
    for (name, builder) in builders() {
        let grown = grown(builder, threads, end);
        assert!(grown < MOST, "{grown} bytes more after {ENDED} jobs, {name}");
    }
}

/// Has jobs of a scope end inside its body. The list has jobs of earlier calls.
type EndInScope = for<'s> fn(&'s Scope<'s, '_>, &mut VecDeque<ScopedJoinHandle<'s, ()>>);

/// How they end, in a pool of how many threads.
const ENDS_IN_SCOPE: [(&str, usize, EndInScope); 6] = [
    ("joined", 1, |s, _| s.submit(|| ()).join().unwrap()),
    ("joined beside other threads", 3, |s, _| s.submit(|| ()).join().unwrap()),
    ("joined behind newer jobs", 1, join_oldest),
    ("joined in a scope inside", 1, |s, _| {
        let job = s.submit(|| ());
        brigade::scope(|_| job.join().unwrap());
    }),
    ("futures, joined", 1, |s, _| s.spawn(async {}).join().unwrap()),
    ("futures, joined behind newer ones", 1, |s, list| {
        list.push_back(s.spawn(async {}));
        join_first_of_three(list);
    }),
];

fn join_oldest<'s>(s: &'s Scope<'s, '_>, list: &mut VecDeque<ScopedJoinHandle<'s, ()>>) {
    list.push_back(s.submit(|| ()));
    join_first_of_three(list);
}

fn join_first_of_three(list: &mut VecDeque<ScopedJoinHandle<'_, ()>>) {
    if list.len() == 3 {
        list.pop_front().unwrap().join().unwrap();
    }
}

fn grown_in_scope<'s>(s: &'s Scope<'s, '_>, end: EndInScope) -> usize {
    let mut list = VecDeque::new();
    grown_by(|| end(s, &mut list))
}

#[test(unwatched, (jobs, threads, end) in ENDS_IN_SCOPE)]
fn jobs_ended_inside_their_scope_leave_nothing(threads: usize, end: EndInScope) {
    let _alone = COUNTS.lock();
    let _dog = Watchdog::start(120);
    let pool = Pool::builder().threads(threads).spare_threads(0).build().unwrap();
    let grown = pool.scope(|s| grown_in_scope(s, end)).unwrap();
    assert!(grown < MOST, "{grown} bytes more after {ENDED} jobs on a worker");
}

#[test(120)]
fn jobs_joined_off_a_busy_pool_leave_nothing() {
    let _alone = COUNTS.lock();
    let (pool, gate) = (Pool::builder().threads(1).build().unwrap(), Gate::closed());
    pool.execute(gate.job());
    let grown = pool.in_place_scope(|s| {
        let grown = grown_in_scope(s, join_oldest);
        gate.open();
        grown
    });
    assert!(grown.unwrap() < MOST, "{} bytes more after {ENDED} jobs", grown.unwrap());
}

/// The worker that has added the jobs adds more, and another thread joins them.
#[test(120)]
fn scoped_jobs_joined_elsewhere_leave_nothing() {
    let _alone = COUNTS.lock();
    let pool = Pool::builder().threads(1).build().unwrap();
    let grown = pool.scope(|s| {
        let (adds, added) = mpsc::channel::<ScopedJoinHandle<'_, ()>>();
        let (joins, joined) = mpsc::channel();
        thread::scope(|outside| {
            outside.spawn(move || {
                added.iter().for_each(|job| joins.send(job.join()).unwrap());
            });
            let grown = grown_by(|| {
                adds.send(s.submit(|| ())).unwrap();
                joined.recv().unwrap().unwrap();
            });
            drop(adds);
            grown
        })
    });
    assert!(grown.unwrap() < MOST, "{} bytes more after {ENDED} jobs", grown.unwrap());
}

/// The list of the jobs that have ended is as long as they are not asked for.
#[test(120)]
fn cancelled_or_detached_set_jobs_leave_nothing() {
    let _alone = COUNTS.lock();
    let pool = Pool::new(1);
    let mut set = TaskSet::new(&pool);
    let grown = grown_by(|| {
        let id = set.submit(|| ());
        set.cancel(id);
        set.detach_all();
    });
    assert!(grown < MOST, "{grown} bytes more after {ENDED} jobs");
}

#[test(120)]
fn jobs_cancelled_off_a_busy_pool_leave_nothing() {
    let _alone = COUNTS.lock();
    for (name, builder) in builders() {
        let pool = builder.threads(1).build().unwrap();
        let gate = Gate::closed();
        pool.execute(gate.job());
        let before = allocated();
        for number in 0..2 * ENDED {
            assert!(match number % 2 {
                0 => pool.submit(|| ()).cancel(),
                _ => pool.spawn(async {}).cancel(),
            });
        }
        let grown = allocated().saturating_sub(before);
        assert!(grown < MOST, "{grown} bytes more after {ENDED} jobs of each kind, {name}");
        gate.open();
    }
}

#[test(120)]
fn futures_pending_together_leave_nothing() {
    let _alone = COUNTS.lock();
    let pool = Pool::new(1);
    let wait_together = |futures: usize| {
        let latch = Latch::default();
        let waits: Vec<_> = (0..futures).map(|_| pool.spawn(latch.wait())).collect();
        pool.wait_idle();
        assert_eq!(latch.waiting(), futures);
        latch.open();
        waits.into_iter().for_each(|wait| wait.join().unwrap());
        pool.wait_idle();
    };
    wait_together(100);
    let before = allocated();
    wait_together(100_000);
    let grown = allocated().saturating_sub(before);
    assert!(grown < MOST, "{grown} bytes more after 100,000 futures");
}

/// Whatever its length, the queues keep a few blocks.
#[test(120)]
fn a_longer_burst_leaves_no_more_memory() {
    let _alone = COUNTS.lock();
    for (name, builder) in builders() {
        let pool = builder.threads(1).build().unwrap();
        let burst = |jobs: usize| {
            let gate = Gate::closed();
            pool.execute(gate.job());
            (0..jobs).for_each(|_| pool.execute(|| ()));
            pool.execute(move || (0..jobs).for_each(|_| brigade::execute(|| ())));
            gate.open();
            assert!(pool.wait_idle());
        };
        burst(10_000);
        let before = allocated();
        burst(100_000);
        let grown = allocated().saturating_sub(before);
        assert!(grown < MOST, "{grown} bytes more after a longer burst, {name}");
    }
}
