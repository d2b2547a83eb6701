//! Jobs that have ended leave nothing in the queues: neither those that were joined in place nor those that were cancelled.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use brigade::{Builder, Handle, Order, Pool, Queueing};
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
    let grown = pool.submit(move || {
        (0..1000).for_each(|_| end(handle));
        let before = allocated();
        (0..ENDED).for_each(|_| end(handle));
        allocated().saturating_sub(before)
    });
    grown.join().unwrap()
}

/// Has jobs of a pool end inside of another one.
type End = fn(Handle);

/// How they end, in a pool of how many threads.
const ENDS: [(&str, usize, End); 9] = [
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
];

fn cancel_shares(pool: Handle) {
    pool.broadcast(|_| ()).into_iter().for_each(|share| _ = share.cancel());
}

#[test(unwatched, (jobs, threads, end) in ENDS)]
fn jobs_that_end_inside_a_job_leave_nothing(threads: usize, end: End) {
    let _alone = COUNTS.lock();
    let _dog = Watchdog::start(120);
    for (name, builder) in builders() {
        let grown = grown(builder, threads, end);
        assert!(grown < MOST, "{grown} bytes more after {ENDED} jobs, {name}");
    }
}

#[test(120)]
fn jobs_that_are_cancelled_from_outside_leave_nothing_while_the_only_worker_is_busy() {
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
fn futures_that_waited_at_once_leave_nothing_when_they_have_ended() {
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
