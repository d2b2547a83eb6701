//! How often the pool allocates: never per `execute` up to 24 bytes of captures, once otherwise and in a bounded pool. What becomes of large captures.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use brigade::{Builder, Handle, Pool, Queueing, TaskSet, WhenFull};
use brigade_testkit::{Gate, Observed, eventually, test};

/// One count per test, so that concurrent tests do not mix.
static COUNTS: [AtomicUsize; 48] = [const { AtomicUsize::new(0) }; 48];

/// The bytes of the same.
static BYTES: [AtomicUsize; 48] = [const { AtomicUsize::new(0) }; 48];

thread_local! {
    /// Which count the thread's allocations go to.
    static METER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Counts the allocations of the threads that belong to a test.
fn count(size: usize) -> bool {
    if holds_capture(size) {
        CAPTURES.fetch_add(1, Ordering::Relaxed);
    }
    if let Ok(Some(meter)) = METER.try_with(Cell::get) {
        COUNTS[meter].fetch_add(1, Ordering::Relaxed);
        BYTES[meter].fetch_add(size, Ordering::Relaxed);
    }
    true
}

/// What a test captures to find it in memory: no other allocation has its size.
type Capture = [u8; 10_007];

/// How many allocations there are now that a [`Capture`] is a part of.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);

fn holds_capture(size: usize) -> bool {
    (size_of::<Capture>()..size_of::<Capture>() + 1000).contains(&size)
}

#[global_allocator]
static ALLOCATOR: Observed = Observed::new(count, |size| {
    if holds_capture(size) {
        CAPTURES.fetch_sub(1, Ordering::Relaxed);
    }
});

/// A pool whose workers, and the calling thread, are counted together.
struct Metered {
    pool: Pool,
    meter: usize,
}

impl Metered {
    fn new(queueing: Queueing) -> Self {
        Self::with(Pool::builder().threads(2).queueing(queueing))
    }

    fn with(builder: Builder) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let meter = NEXT.fetch_add(1, Ordering::Relaxed);
        // Starting a thread allocates, so all threads exist from the beginning.
        let builder = builder.prestart(usize::MAX).spare_threads(0);
        let pool = builder.on_start(move |_| METER.set(Some(meter))).build().unwrap();
        METER.set(Some(meter));
        Self { pool, meter }
    }

    /// Allocations of `rounds` rounds, each left to finish, after three times as many for warming up: more
    /// jobs than two blocks of the injector hold. The least of eight times: which injectors the jobs come to
    /// depends on whether a wait finds the pool idle, and each has to come to its second block once. And on a
    /// busy machine a join may block, which allocates.
    fn steady(&self, rounds: usize, round: impl Fn(&Pool)) -> usize {
        self.steady_of(&COUNTS, rounds, round)
    }

    /// The same for another count.
    fn steady_of(&self, counts: &[AtomicUsize; 48], rounds: usize, round: impl Fn(&Pool)) -> usize {
        let count = || counts[self.meter].load(Ordering::Relaxed);
        let measure = || {
            let before = count();
            for _ in 0..rounds {
                round(&self.pool);
                self.pool.wait_idle();
            }
            count() - before
        };
        (0..3).for_each(|_| _ = measure());
        (0..8).map(|_| measure()).min().unwrap_or_default()
    }
}

/// What the jobs of these tests do, through a static: a counter costs no capture.
static RAN: AtomicUsize = AtomicUsize::new(0);

fn job<const WORDS: usize>() -> impl FnOnce() + Send + 'static {
    let captured = [1_usize; WORDS];
    let job = move || _ = RAN.fetch_add(captured.iter().sum(), Ordering::Relaxed);
    assert_eq!(size_of_val(&job), WORDS * size_of::<usize>());
    job
}

const QUEUEINGS: [Queueing; 2] = [Queueing::Stealing, Queueing::Shared];

const ROUNDS: usize = 50;
const JOBS: usize = 100;

fn from_outside<const WORDS: usize>(metered: &Metered) -> usize {
    let through_the_owner = metered.steady(ROUNDS, |pool| {
        (0..JOBS).for_each(|_| pool.execute(job::<WORDS>()));
    });
    let handle = metered.pool.handle();
    let through_the_handle = metered.steady(ROUNDS, |_| {
        (0..JOBS).for_each(|_| handle.execute(job::<WORDS>()));
    });
    through_the_owner.max(through_the_handle)
}

fn from_a_worker<const WORDS: usize>(metered: &Metered) -> usize {
    metered.steady(ROUNDS, |pool| {
        pool.execute(|| {
            let here = Handle::current().unwrap();
            (0..JOBS).for_each(|_| here.execute(job::<WORDS>()));
        });
    })
}

#[test(queueing in QUEUEINGS)]
fn small_closures_from_outside_allocate_no_heap(queueing: Queueing) {
    let metered = Metered::new(queueing);
    assert_eq!(from_outside::<0>(&metered), 0, "0 bytes");
    assert_eq!(from_outside::<1>(&metered), 0, "8 bytes");
    assert_eq!(from_outside::<3>(&metered), 0, "24 bytes");
}

#[test(queueing in QUEUEINGS)]
fn small_closures_on_a_worker_allocate_no_heap(queueing: Queueing) {
    let metered = Metered::new(queueing);
    assert_eq!(from_a_worker::<0>(&metered), 0, "0 bytes");
    assert_eq!(from_a_worker::<1>(&metered), 0, "8 bytes");
    assert_eq!(from_a_worker::<3>(&metered), 0, "24 bytes");
}

#[test(queueing in QUEUEINGS)]
fn a_bounded_pool_boxes_each_closure_once(queueing: Queueing) {
    let builder = Pool::builder().threads(2).queueing(queueing).capacity(JOBS / 2);
    let metered = Metered::with(builder.when_full(WhenFull::RunInCaller));
    assert_eq!(from_outside::<0>(&metered), 0, "0 bytes, outside");
    assert_eq!(from_a_worker::<0>(&metered), 0, "0 bytes, inside");
    assert_eq!(from_outside::<1>(&metered), ROUNDS * JOBS, "8 bytes, outside");
    assert_eq!(from_a_worker::<1>(&metered), ROUNDS * JOBS, "8 bytes, inside");
    assert_eq!(from_outside::<64>(&metered), ROUNDS * JOBS, "512 bytes, outside");
}

#[test]
fn a_job_run_by_its_caller_allocates_once() {
    let builder = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller);
    let metered = Metered::with(builder);
    let (begun, begins) = mpsc::channel();
    // A lock, as a wait for a message would allocate, at some time after the job has begun.
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap();
    let open = gate.clone();
    metered.pool.execute(move || {
        begun.send(()).unwrap();
        drop(open.lock());
    });
    begins.recv().unwrap();
    // The worker is busy: all but the first are in their caller.
    let run = || (0..JOBS).for_each(|_| metered.pool.execute(job::<2>()));
    run();
    let allocations = || COUNTS[metered.meter].load(Ordering::Relaxed);
    let before = allocations();
    run();
    assert_eq!(allocations() - before, JOBS);
    drop(closed);
}

#[test]
fn an_observed_job_allocates_four_times_or_six_with_a_span() {
    let of = |builder: Builder| from_outside::<1>(&Metered::with(builder.threads(1)));
    assert_eq!(of(Pool::builder().observe_jobs()), 4 * ROUNDS * JOBS);
    #[cfg(feature = "tracing")]
    assert_eq!(of(Pool::builder().trace_jobs()), 6 * ROUNDS * JOBS);
}

#[cfg_attr(not(target_pointer_width = "64"), ignore = "a handle is two words, of three")]
#[test(queueing in QUEUEINGS)]
fn a_chain_of_small_jobs_allocates_nothing(queueing: Queueing) {
    fn step(pool: Handle, left: usize, counter: &'static AtomicUsize) {
        counter.fetch_add(1, Ordering::Relaxed);
        if left > 0 {
            let next = move || step(pool, left - 1, counter);
            assert_eq!(size_of_val(&next), 24);
            assert!(pool.try_execute(next).is_ok());
        }
    }
    let chain = |pool: &Pool| {
        let handle = pool.handle();
        pool.execute(move || step(handle, 1000, &RAN));
    };
    assert_eq!(Metered::new(queueing).steady(10, chain), 0);
}

#[test(queueing in QUEUEINGS)]
fn a_batch_allocates_nothing_per_job(queueing: Queueing) {
    let batch = |pool: &Pool| pool.job().execute_batch((0..JOBS).map(|_| job::<3>())).unwrap();
    let allocations = Metered::new(queueing).steady(ROUNDS, batch);
    // A buffer to collect the iterator in is the batch's, not the jobs'.
    assert!(allocations <= ROUNDS * 8, "{allocations} for {ROUNDS} batches");
}

#[test(queueing in QUEUEINGS)]
fn larger_captures_cost_one_allocation_each(queueing: Queueing) {
    let metered = Metered::new(queueing);
    let outside = from_outside::<4>(&metered);
    let inside = from_a_worker::<4>(&metered);
    let huge = from_a_worker::<64>(&metered);
    for (what, allocations) in [("out", outside), ("in", inside), ("512 bytes", huge)] {
        assert!(allocations <= ROUNDS * JOBS, "{what}: {allocations}");
    }
}

#[test(queueing in QUEUEINGS)]
fn submit_and_join_allocate_once_or_twice(queueing: Queueing) {
    let ten = |pool: &Pool| {
        (0..10).for_each(|n| assert_eq!(pool.submit(move || n).join().unwrap(), n));
    };
    let bounded = Metered::with(Pool::builder().threads(2).capacity(10)).steady(ROUNDS, ten);
    assert!(bounded <= ROUNDS * 20, "{bounded}");
    let metered = Metered::new(queueing);
    let outside = metered.steady(ROUNDS, ten);
    let large = metered.steady(ROUNDS, |pool| {
        let captured = [1_usize; 32];
        (0..10).for_each(|_| assert_eq!(pool.submit(move || captured[7]).join().unwrap(), 1));
    });
    // One thread: a job that another worker has begun is waited for, which allocates.
    let alone = Metered::with(Pool::builder().threads(1).queueing(queueing));
    let inside = alone.steady(ROUNDS, |pool| {
        pool.execute(|| {
            (0..10).for_each(|n| {
                assert_eq!(brigade::submit(move || n).join().unwrap(), n);
            });
        });
    });
    for (what, allocations) in [("outside", outside), ("large", large), ("inside", inside)] {
        assert!(allocations <= ROUNDS * 10, "{what}: {allocations}");
    }
}

#[test(queueing in QUEUEINGS)]
fn a_future_allocates_once_or_twice_for_all_wakes(queueing: Queueing) {
    let metered = Metered::new(queueing);
    let future = |n| async move {
        for _ in 0..5 {
            brigade::yield_now().await;
        }
        n
    };
    let outside = metered.steady(ROUNDS, |pool| {
        (0..10).for_each(|n| assert_eq!(pool.spawn(future(n)).join().unwrap(), n));
    });
    let inside = metered.steady(ROUNDS, |pool| {
        pool.execute(move || {
            (0..10).for_each(|n| drop(brigade::spawn(future(n))));
        });
    });
    let builder = Pool::builder().threads(2).queueing(queueing).capacity(10);
    let bounded = Metered::with(builder).steady(ROUNDS, |pool| {
        (0..10).for_each(|n| assert_eq!(pool.spawn(future(n)).join().unwrap(), n));
    });
    assert!(bounded <= ROUNDS * 20, "{bounded}");
    METER.set(Some(metered.meter));
    let blocked_on = metered.steady(ROUNDS, |_| {
        (0..10).for_each(|n| assert_eq!(brigade::block_on(future(n)), n));
    });
    for (what, allocations) in [("outside", outside), ("inside", inside)] {
        assert!(allocations <= ROUNDS * 10, "{what}: {allocations}");
    }
    assert_eq!(blocked_on, 0);
}

/// One byte, or 24, as large as the outcome.
#[test(queueing in QUEUEINGS)]
fn a_small_future_costs_72_bytes(queueing: Queueing) {
    const FUTURE: usize = 72;
    let metered = Metered::new(queueing);
    let one = metered.steady_of(&BYTES, ROUNDS, |pool| {
        (0..10).for_each(|_| pool.spawn(async {}).join().unwrap());
    });
    let three_words = metered.steady_of(&BYTES, ROUNDS, |pool| {
        (0..10).for_each(|_| _ = pool.spawn(std::future::ready([0_u64; 2])).join().unwrap());
    });
    for (what, bytes) in [("one byte", one), ("three words", three_words)] {
        assert!(bytes <= ROUNDS * 10 * FUTURE, "{what}: {bytes}");
    }
}

/// Queued jobs need memory, but in blocks of many.
#[test(queueing in QUEUEINGS)]
fn a_backlog_is_kept_in_blocks(queueing: Queueing) {
    let metered = Metered::new(queueing);
    let before = COUNTS[metered.meter].load(Ordering::Relaxed);
    let gate = Gate::closed();
    for _ in 0..2 {
        metered.pool.execute(gate.job());
    }
    (0..10_000).for_each(|_| metered.pool.execute(job::<3>()));
    gate.open();
    metered.pool.wait_idle();
    let allocations = COUNTS[metered.meter].load(Ordering::Relaxed) - before;
    assert!(allocations <= 10_000 / 8, "{allocations} for 10,000 jobs");
}

/// One thread, as a fork that is stolen, or a scope that waits, may allocate to sleep.
fn alone(queueing: Queueing) -> Metered {
    Metered::with(Pool::builder().threads(1).queueing(queueing))
}

#[test(queueing in QUEUEINGS)]
fn a_join_allocates_nothing_on_a_worker(queueing: Queueing) {
    fn leaves(depth: u32) -> usize {
        if depth == 0 {
            return 1;
        }
        // The second closure captures as much as it likes: it lies on the stack.
        let captured = [depth - 1; 32];
        let (one, other) = brigade::join(|| leaves(depth - 1), move || leaves(captured[31]));
        one + other
    }
    let joins = |pool: &Pool| pool.execute(|| assert_eq!(leaves(8), 256));
    assert_eq!(alone(queueing).steady(ROUNDS, joins), 0);
}

/// A scope of `jobs` jobs, each with captures of that size.
fn scope_of<const WORDS: usize>(metered: &Metered, jobs: usize) -> usize {
    metered.steady(ROUNDS, |pool| {
        pool.execute(move || {
            brigade::scope(|s| (0..jobs).for_each(|_| s.execute(job::<WORDS>())));
        });
    })
}

#[test(queueing in QUEUEINGS)]
fn a_scoped_job_above_64_bytes_allocates_once(queueing: Queueing) {
    /// The blocks that a thread keeps.
    const KEPT: usize = 64;
    let metered = alone(queueing);
    for jobs in [KEPT, JOBS] {
        assert_eq!(scope_of::<0>(&metered, jobs), 0, "0 bytes");
        assert_eq!(scope_of::<2>(&metered, jobs), 0, "16 bytes");
        assert_eq!(scope_of::<3>(&metered, jobs), ROUNDS * (jobs - KEPT), "24 bytes");
        assert_eq!(scope_of::<8>(&metered, jobs), ROUNDS * (jobs - KEPT), "64 bytes");
        assert_eq!(
            scope_of::<17>(&metered, jobs),
            ROUNDS * jobs,
            "more, with words of 32 bits too"
        );
    }
}

#[test]
fn an_idle_worker_keeps_1000_fork_slots() {
    let metered = alone(Queueing::Stealing);
    let allocated = |jobs: usize| {
        metered.steady_of(&BYTES, 2, |pool| {
            pool.scope(|s| (0..jobs).for_each(|_| s.execute(job::<0>()))).unwrap();
        })
    };
    assert_eq!(allocated(1_000), 0);
    let larger = allocated(4_000);
    assert!(larger >= 2 * 4_000 * 4 * size_of::<usize>(), "{larger} bytes");
}

/// A closure with a capture in memory, which it returns a part of.
fn captures() -> impl FnMut() -> u8 + Send + 'static {
    let capture: Capture = std::hint::black_box([1; size_of::<Capture>()]);
    move || capture.iter().copied().max().unwrap_or_default()
}

/// The same without a result, which may also run again.
fn as_job<T>(mut closure: impl FnMut() -> T + Send + 'static) -> impl FnMut() + Send + 'static {
    move || _ = closure()
}

#[test]
fn a_kept_handle_keeps_no_captures() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let assert_gone = |of| assert_eq!(CAPTURES.load(Ordering::Relaxed), 0, "of {of}");

    let ended = pool.submit(captures());
    eventually("the job ends", || ended.is_finished());
    assert_gone("a closure that has run");
    let joined = pool.submit(captures());
    let canceller = joined.cancel_handle();
    assert_eq!(joined.join().unwrap(), 1);
    assert_gone("a closure that was joined and could be cancelled");
    let mut set = TaskSet::new(&pool);
    set.submit(captures());
    assert!(set.wait_all());
    assert_gone("a closure in a set");
    let due = pool.job().after(Duration::ZERO).execute(as_job(captures())).unwrap();
    eventually("the timer is over", || due.is_over());
    assert_gone("a closure with a timer");
    pool.scope(|scope| {
        let job = scope.submit(captures());
        eventually("the job ends", || job.is_finished());
        assert_gone("a closure of a scope");
    })
    .unwrap();

    let (pool, gate) = (Pool::new(1), Arc::new(Gate::closed()));
    pool.execute(gate.job());
    let cancelled = pool.submit(captures());
    assert!(cancelled.cancel());
    assert_gone("a closure that was cancelled");
    let timer = pool.job().after(Duration::MAX).execute(as_job(captures())).unwrap();
    let periodic = pool.job().every(Duration::MAX).execute(as_job(captures())).unwrap();
    assert_eq!(CAPTURES.load(Ordering::Relaxed), 2, "they are counted");
    assert!(timer.cancel() && periodic.cancel());
    assert_gone("a timer that was cancelled");
    gate.open();
    drop((canceller, set));
}
