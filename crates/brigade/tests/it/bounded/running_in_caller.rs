//! A job that its submitter runs for lack of room, and what a job submits to its own full pool: that is queued.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest, fill, full};
use brigade::{
    Builder, Handle, OnPanic, Order, Outcome, Pool, Reason, Shutdown, TaskSet, WhenFull, block_on,
};
use brigade_testkit::{Gate, Halt, Seed, eventually, spin_for, test};

/// The policies by which a thread outside waits, or runs the job itself.
const NO_ROOM: [WhenFull; 3] =
    [WhenFull::Block, WhenFull::BlockFor(Duration::MAX), WhenFull::RunInCaller];

#[test(policy in NO_ROOM, for_both_queueings)]
fn a_full_pool_queues_its_workers_job(builder: Builder, policy: WhenFull) {
    let builder = builder.threads(1).capacity(1).when_full(policy);
    let pool = builder.build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let inside = ran.clone();
    let parent = pool.submit(move || {
        let here = Handle::current().unwrap();
        here.execute(|| ());
        for _ in 0..10 {
            let ran = inside.clone();
            here.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
        }
        assert_eq!(inside.load(Ordering::Relaxed), 0, "none where it was submitted");
        assert_eq!(here.metrics().queued, 11);
        let place = || (thread::current().id(), Handle::current());
        let child = here.submit(place);
        assert!(!child.is_finished());
        assert_eq!(child.join().unwrap(), place(), "a wait runs it");
    });
    parent.join().unwrap();
    assert_eq!(at_rest(&pool), [13, 13, 0, 0, 0]);
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

#[test(policy in POLICIES)]
fn every_policy_queues_a_workers_waiting_submission(policy: WhenFull) {
    let builder = Pool::builder().threads(1).capacity(1).when_full(policy);
    let pool = builder.build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let inside = ran.clone();
    let parent = pool.submit(move || {
        let here = Handle::current().unwrap();
        here.execute(|| ());
        let job = || {
            let ran = inside.clone();
            move || _ = ran.fetch_add(1, Ordering::Relaxed)
        };
        let waits = |time| here.job().when_full(WhenFull::BlockFor(time));
        waits(Duration::from_nanos(1)).execute(job()).unwrap();
        assert!(!waits(Duration::MAX).submit(job()).unwrap().is_finished());
        let room = || block_on(here.job().reserve()).unwrap();
        room().execute(job()).unwrap();
        assert!(!room().submit(job()).unwrap().is_finished());
        assert_eq!(inside.load(Ordering::Relaxed), 0);
        waits(Duration::ZERO).execute(job()).unwrap_err().reason()
    });
    assert_eq!(parent.join().unwrap(), Reason::Full);
    assert_eq!(at_rest(&pool), [6, 6, 0, 0, 0]);
    assert_eq!(ran.load(Ordering::Relaxed), 4);
}

/// How deep the links of a chain nest, and how many are left.
#[derive(Default)]
struct Chain {
    depth: AtomicUsize,
    deepest: AtomicUsize,
    left: AtomicUsize,
}

impl Chain {
    fn of(links: usize) -> Arc<Self> {
        Arc::new(Self { left: links.into(), ..Self::default() })
    }

    /// Runs a link, which submits the next one by `submit` while the queue is full.
    fn link(&self, pool: Handle, submit: impl FnOnce()) {
        let depth = self.depth.fetch_add(1, Ordering::SeqCst) + 1;
        self.deepest.fetch_max(depth, Ordering::SeqCst);
        if self.left.load(Ordering::SeqCst) > 0 {
            self.left.fetch_sub(1, Ordering::SeqCst);
            _ = pool.try_execute(|| ());
            submit();
        }
        self.depth.fetch_sub(1, Ordering::SeqCst);
    }

    fn assert_flat(&self, claim: &str) {
        let (left, deepest) =
            (self.left.load(Ordering::SeqCst), self.deepest.load(Ordering::SeqCst));
        assert_eq!((left, deepest), (0, 1), "{claim}");
    }
}

/// The ways in which a link of a chain submits the next.
const WAYS: [&str; 8] = ["execute", "submit", "spawn", "batch", "named", "free", "set", "reserve"];

fn next_link(way: &'static str, pool: Handle, chain: Arc<Chain>) {
    let this = chain.clone();
    this.link(pool, move || {
        let next = move || next_link(way, pool, chain);
        match way {
            "submit" => drop(pool.submit(next)),
            "spawn" => drop(pool.spawn(async move { next() })),
            "batch" => pool.job().execute_batch([next]).unwrap(),
            "named" => pool.job().name("next").execute(next).unwrap(),
            "free" => brigade::execute(next),
            "set" => {
                let mut set = TaskSet::new(pool);
                set.submit(next);
                set.detach_all();
            }
            "reserve" => drop(pool.spawn(async move {
                pool.job().reserve().await.unwrap().execute(next).unwrap();
            })),
            _ => pool.execute(next),
        }
    });
}

#[test(policy in NO_ROOM, order in [Order::Fifo, Order::Lifo], for_both_queueings)]
fn a_chain_in_a_full_pool_does_not_nest(builder: Builder, policy: WhenFull, order: Order) {
    let builder = builder.order(order).threads(1).capacity(1).when_full(policy);
    let pool = builder.build().unwrap();
    for way in WAYS {
        let (here, chain) = (pool.handle(), Chain::of(20));
        let first = chain.clone();
        pool.submit(move || next_link(way, here, first)).join().unwrap();
        pool.wait_idle();
        chain.assert_flat(way);
    }
}

#[test]
fn a_hook_resubmitting_its_job_does_not_nest() {
    let chain = Chain::of(20);
    let hook = chain.clone();
    let builder = Pool::builder().threads(1).capacity(1);
    let again = move |_: &Outcome<'_>| {
        let here = Handle::current().unwrap();
        hook.link(here, || here.execute(|| ()));
    };
    let pool = builder.on_outcome(again).build().unwrap();
    pool.execute(|| ());
    eventually("all links have been submitted", || chain.left.load(Ordering::SeqCst) == 0);
    pool.wait_idle();
    chain.assert_flat("hook");
}

#[test(way in WAYS, for_both_queueings)]
fn a_chain_run_by_its_submitter_does_not_nest(builder: Builder, way: &'static str) {
    let (pool, gate) = full(builder, 1, WhenFull::RunInCaller);
    let (chain, here) = (Chain::of(20), pool.handle());
    let first = chain.clone();
    pool.execute(move || next_link(way, here, first));
    assert_eq!(chain.left.load(Ordering::SeqCst), 19, "it runs one link itself");
    gate.open();
    pool.wait_idle();
    chain.assert_flat(way);
}

#[test(policy in NO_ROOM, for_both_queueings)]
fn a_job_may_hold_a_lock_its_child_takes(builder: Builder, policy: WhenFull) {
    let pool = builder.threads(2).capacity(2).when_full(policy).build().unwrap();
    let (taken, here) = (Arc::new(Mutex::new(0)), pool.handle());
    let jobs = (0..50).map(|_| {
        let taken = taken.clone();
        move || {
            let mut held = taken.lock().unwrap();
            *held += 1;
            let again = taken.clone();
            here.execute(move || *again.lock().unwrap() += 1);
        }
    });
    jobs.for_each(|job| pool.execute(job));
    pool.wait_idle();
    assert_eq!(*taken.lock().unwrap(), 100);
}

#[test]
fn outside_jobs_progress_beside_resubmitting_jobs() {
    fn again(pool: Handle, is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            pool.execute(move || again(pool, is_over));
        }
    }
    for threads in [1, 2] {
        for_both_queueings(|builder| {
            let pool = builder.threads(threads).capacity(2).build().unwrap();
            let (here, is_over) = (pool.handle(), Arc::new(AtomicBool::new(false)));
            for _ in 0..4 {
                let is_over = is_over.clone();
                pool.execute(move || again(here, is_over));
            }
            let outside = || (0..100).for_each(|_| here.execute(|| ()));
            thread::scope(|scope| {
                [(); 2].map(|()| scope.spawn(outside)).map(|it| it.join().unwrap())
            });
            pool.submit(|| ()).join().unwrap();
            is_over.store(true, Ordering::Relaxed);
            pool.wait_idle();
        });
    }
}

#[test(for_both_queueings)]
fn run_in_caller_makes_the_submitter_work(builder: Builder) {
    let (pool, gate) = full(builder, 2, WhenFull::RunInCaller);
    // What the job spawns belongs to its pool.
    let here = (thread::current().id(), Some(pool.handle()));
    let place = || (thread::current().id(), Handle::current());
    let handle = pool.submit(place);
    assert!(handle.is_finished());
    assert_eq!(handle.join().unwrap(), here);
    assert_eq!(pool.handle().submit(place).join().unwrap(), here);
    let (sender, ran) = mpsc::channel();
    pool.job()
        .execute_batch((0..5).map(|number| {
            let sender = sender.clone();
            move || sender.send(number).unwrap()
        }))
        .unwrap();
    assert!(ran.try_iter().eq(0..5));
    let other = Pool::new(1);
    let (inner, reached) = (other.handle(), Arc::new(AtomicUsize::new(0)));
    let reaches = reached.clone();
    // The job that runs here may submit elsewhere, and here again: that is queued.
    let again = pool.handle();
    pool.execute(move || {
        again.execute(move || _ = reaches.fetch_add(1, Ordering::Relaxed));
        inner.execute(|| ());
    });
    assert_eq!((reached.load(Ordering::Relaxed), pool.metrics().queued), (0, 3));
    gate.open();
    assert_eq!(at_rest(&pool), [12, 12, 0, 0, 0]);
    assert_eq!(reached.load(Ordering::Relaxed), 1);
    assert_eq!(at_rest(&other)[1], 1);
}

#[test]
fn a_job_run_by_its_submitter_counts_as_running() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let pool = Arc::new(pool);
    let inside = pool.clone();
    let seen = pool.submit(move || inside.metrics());
    let seen = seen.join().unwrap();
    assert_eq!((seen.accepted, seen.running, seen.queued, seen.returned), (3, 2, 1, 0));
    gate.open();
    assert_eq!(at_rest(&pool), [3, 3, 0, 0, 0]);
}

#[test(policy in NO_ROOM)]
fn a_panic_run_by_the_submitter_is_the_jobs(policy: WhenFull) {
    let heard = Arc::new(AtomicUsize::new(0));
    let hears = heard.clone();
    let callback = OnPanic::Call(Arc::new(move |_| {
        hears.fetch_add(1, Ordering::Relaxed);
        panic!("expected: the callback's own");
    }));
    let builder = Pool::builder().threads(1).capacity(1).when_full(policy).on_panic(callback);
    let pool = builder.build().unwrap();
    let panics = |here: Handle| {
        here.execute(|| panic!("expected: detached"));
        let joined = here.submit(|| panic!("expected: joined"));
        let joined: Result<(), _> = joined.join();
        assert_eq!(joined.unwrap_err().panic_message(), Some("expected: joined"));
    };
    let parent = pool.submit(move || {
        let here = Handle::current().unwrap();
        here.execute(|| ());
        panics(here);
    });
    parent.join().unwrap();
    pool.wait_idle();
    let mut expected = 1;
    if policy == WhenFull::RunInCaller {
        let gate = Gate::closed();
        occupy(&pool, &gate);
        assert_eq!(fill(&pool), 1);
        panics(pool.handle());
        gate.open();
        expected = 2;
        assert_eq!(at_rest(&pool), [8, 4, 4, 0, 0]);
    } else {
        assert_eq!(at_rest(&pool), [4, 2, 2, 0, 0]);
    }
    assert_eq!(heard.load(Ordering::Relaxed), expected);
}

/// A job that its submitter runs until it is released; whether it has ended, and the submitter.
fn runs_in_its_submitter(pool: &Pool) -> (Halt, Arc<AtomicBool>, JoinHandle<()>) {
    let (handle, halt, ended) = (pool.handle(), Halt::default(), Arc::new(AtomicBool::new(false)));
    let (stops, ends) = (halt.clone(), ended.clone());
    let job = move || {
        stops.here();
        ends.store(true, Ordering::SeqCst);
    };
    let submits = thread::spawn(move || handle.execute(job));
    halt.await_thread();
    (halt, ended, submits)
}

#[test]
fn a_wait_covers_a_job_run_by_its_submitter() {
    let (pool, busy) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let (halt, ended, submits) = runs_in_its_submitter(&pool);
    busy.open();
    thread::scope(|scope| {
        scope.spawn(|| {
            eventually("nothing else runs", || pool.metrics().idle_threads == 1);
            assert!(!pool.wait_idle_timeout(Duration::ZERO));
            halt.release();
        });
        assert!(pool.wait_idle());
        assert!(ended.load(Ordering::SeqCst), "the wait has come back too early");
    });
    submits.join().unwrap();
}

#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn a_shutdown_awaits_a_job_run_by_its_submitter(how: Shutdown) {
    let (pool, busy) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let (halt, ended, submits) = runs_in_its_submitter(&pool);
    busy.open();
    open_once_closed(halt.gate(), pool.handle());
    let report = pool.shutdown(how);
    assert_eq!((report.still_running, ended.load(Ordering::SeqCst)), (0, true));
    submits.join().unwrap();
}

/// Its submitter may have been told to run it, and not have begun, when the pool ends.
#[test(120)]
fn no_submitter_runs_a_job_of_a_dropped_pool() {
    let mut seed = Seed::printed();
    for _ in 0..300 {
        let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
        let (handle, is_over) = (pool.handle(), Arc::new(AtomicBool::new(false)));
        let (over, delay) = (is_over.clone(), seed.micros(30));
        let submits = thread::spawn(move || {
            spin_for(delay);
            let mut late = false;
            let (told, tells) = mpsc::channel();
            let job = move || told.send(over.load(Ordering::SeqCst)).unwrap();
            if handle.job().execute(job).is_ok() {
                late = tells.recv().unwrap();
            }
            late
        });
        gate.open();
        spin_for(seed.micros(30));
        drop(pool);
        is_over.store(true, Ordering::SeqCst);
        assert!(!submits.join().unwrap(), "it ran after the pool had ended");
    }
}
