//! Closures that run at a time, or periodically.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{at_rest, full};
use brigade::{Builder, Handle, Missed, OnPanic, Pool, Queueing, Timer, WhenFull};
use brigade_testkit::panics::text;
use brigade_testkit::{Drops, Gate, eventually, spin_for, test};

pub(crate) const FAR: Duration = Duration::from_secs(3600);
pub(crate) const SOON: Duration = Duration::from_millis(1);
pub(crate) const ALL: [Missed; 3] = [Missed::Skip, Missed::Delay, Missed::Burst];

/// The same tick as long as the receiver exists.
pub(crate) fn tick<T: Clone + Send + 'static>(
    to: &Sender<T>,
    what: T,
) -> impl FnMut() + Send + use<T> {
    let to = to.clone();
    move || _ = to.send(what.clone())
}

/// Runs it as a tick of a pool until it has run this often.
pub(crate) fn ticked(
    pool: &Pool,
    missed: Missed,
    times: u64,
    tick: impl FnMut() + Send + 'static,
) -> Timer {
    let timer = pool.job().every(SOON).missed(missed).execute(tick).unwrap();
    eventually("it has ticked", || timer.ticks() >= times);
    timer
}

pub(crate) fn gate_job(gate: &Gate) -> impl FnOnce() + Send + use<> {
    let gate = gate.clone();
    move || gate.wait()
}

pub(crate) fn tick_once(ran: &Sender<()>) -> impl FnOnce() + Send + use<> {
    let ran = ran.clone();
    move || ran.send(()).unwrap()
}

#[test(missed in ALL)]
fn a_panicking_tick_is_reported_but_not_the_last(missed: Missed) {
    let (tell, told) = mpsc::channel();
    let call = move |payload: Box<dyn std::any::Any + Send>| {
        tell.send(text(&*payload).unwrap_or("no text").to_owned()).unwrap();
    };
    let pool = Pool::builder().threads(1).on_panic(OnPanic::Call(Arc::new(call)));
    let (pool, mut count) = (pool.build().unwrap(), 0);
    let timer = ticked(&pool, missed, 6, move || {
        count += 1;
        match count {
            1 => panic!("expected: first"),
            2 => {}
            3 => std::panic::panic_any(3),
            4 => panic!("expected: {count}"),
            _ => {}
        }
    });
    timer.cancel();
    assert_eq!(timer.last_error().as_deref(), Some("expected: 4"));
    eventually("it is over", || timer.is_over());
    let sums = at_rest(&pool);
    assert_eq!((sums[2], sums[1] + sums[2] + sums[3]), (3, sums[0]));
    assert_eq!(timer.ticks(), sums[1] + sums[2]);
    drop(pool);
    let told: Vec<String> = told.iter().collect();
    assert_eq!(told, ["expected: first", "no text", "expected: 4"]);
}

#[test]
fn a_single_closures_panic_ends_it_and_keeps_the_text() {
    let (pool, drops) = (Pool::new(1), Drops::default());
    let (token, gate) = (drops.token(), Gate::closed());
    let held = gate.clone();
    let job = move || {
        held.wait();
        panic!("expected: {}", size_of_val(&token))
    };
    let timer = pool.job().after(SOON).execute(job).unwrap();
    assert_eq!(timer.last_error(), None);
    gate.open();
    eventually("it is over", || timer.is_over());
    assert_eq!(drops.count(), 1);
    let text = format!("expected: {}", size_of::<usize>());
    assert_eq!((timer.ticks(), timer.last_error()), (1, Some(text)));
    assert_eq!(at_rest(&pool), [1, 0, 1, 0, 0]);
}

/// Each takes longer than the period, on a pool that has threads for several at once.
#[test(missed in ALL)]
fn ticks_never_overlap(missed: Missed) {
    let (pool, inside) = (Pool::new(4), AtomicUsize::new(0));
    let timer = ticked(&pool, missed, 20, move || {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
        spin_for(SOON * 2);
        inside.fetch_sub(1, Ordering::SeqCst);
    });
    assert_eq!(timer.last_error(), None);
    timer.cancel();
}

#[test(policy in crate::support::full::POLICIES, for_both_queueings)]
fn a_full_pool_accepts_a_due_closure(builder: Builder, policy: WhenFull) {
    let (pool, gate) = full(builder, 2, policy);
    let (ran, runs) = mpsc::channel();
    let timers: Vec<_> =
        (0..10).map(|_| pool.job().after(SOON).execute(tick_once(&ran)).unwrap()).collect();
    let due = Instant::now();
    eventually("all are due", || due.elapsed() > SOON);
    gate.open();
    assert_eq!(runs.iter().take(10).count(), 10);
    eventually("they are over", || timers.iter().all(Timer::is_over));
    assert_eq!(at_rest(&pool), [13, 13, 0, 0, 0]);
}

#[test]
fn a_tick_dropped_for_room_is_skipped() {
    let builder = Pool::builder().threads(2).queueing(Queueing::Shared).capacity(1);
    let pool = builder.when_full(WhenFull::DropOldest).build().unwrap();
    let (gate, first, drops) = (Gate::closed(), Gate::closed(), Drops::default());
    for gate in [&gate, &first] {
        pool.execute(gate_job(gate));
        eventually("it runs", || pool.metrics().queued == 0);
    }
    let (due, token) = (Instant::now(), drops.token());
    let every = pool.job().every(SOON).missed(Missed::Skip).execute(move || _ = &token).unwrap();
    let blocks = pool.job().at(due).execute(gate_job(&gate)).unwrap();
    let once = pool.job().at(due).execute(|| unreachable!()).unwrap();
    eventually("the first tick is due", || due.elapsed() > SOON * 2);
    // Its worker queues what is due, and is then busy with the first of it.
    first.open();
    eventually("both are queued", || pool.metrics().queued == 2);
    pool.execute(|| unreachable!());
    pool.execute(|| ());
    assert!(once.is_over() && !every.is_over());
    assert_eq!((pool.metrics().evicted, every.ticks(), drops.count()), (3, 0, 0));
    gate.open();
    eventually("it ticks", || every.ticks() >= 3 && blocks.is_over());
    every.cancel();
}

#[test]
fn wait_idle_does_not_wait_for_timers() {
    let (pool, (ran, _runs)) = (Pool::new(2), mpsc::channel());
    let far = pool.job().after(FAR).execute(tick_once(&ran)).unwrap();
    pool.submit(|| ()).join().unwrap();
    assert!(pool.wait_idle());
    let metrics = pool.metrics();
    assert_eq!((metrics.accepted, metrics.queued, metrics.running), (1, 0, 0));
    assert!(far.cancel());
    let timer = ticked(&pool, Missed::Delay, 3, || ());
    assert!((0..20).all(|_| pool.wait_idle()), "nor for ticks to come");
    timer.cancel();
}

#[test(far in [Duration::MAX, Duration::from_secs(u64::MAX / 3), Duration::from_secs(1 << 32)])]
fn the_longest_delays_and_periods_never_come(far: Duration) {
    let pool = Pool::new(1);
    let once = pool.job().after(far).execute(|| unreachable!()).unwrap();
    let every = pool.job().every(far).missed(Missed::Burst).execute(|| unreachable!()).unwrap();
    pool.submit(|| ()).join().unwrap();
    assert!(!once.is_over() && !every.is_over());
    assert!(once.cancel() && every.cancel());
}

#[test]
fn a_due_closure_runs_on_a_worker_at_once() {
    let pool = Pool::builder().threads(1).name(|_| "timely".into()).build().unwrap();
    let (ran, runs): (_, Receiver<Option<String>>) = mpsc::channel();
    let name = || thread::current().name().map(str::to_owned);
    let past = Instant::now();
    let [first, second] = [ran.clone(), ran];
    let _detached =
        pool.job().after(Duration::ZERO).execute(move || first.send(name()).unwrap()).unwrap();
    let _detached = pool.job().at(past).execute(move || second.send(name()).unwrap()).unwrap();
    assert!(runs.iter().eq([Some("timely".to_owned()), Some("timely".to_owned())]));
}

#[test]
fn a_job_schedules_on_its_own_pool() {
    let pool = Pool::new(1);
    let inner = pool.submit(|| {
        let (ran, runs) = mpsc::channel();
        let send = move || ran.send(Handle::current().unwrap()).unwrap();
        let timer = brigade::execute_at(Instant::now(), send);
        drop(timer);
        runs
    });
    let runs = inner.join().unwrap();
    assert_eq!(runs.recv().unwrap(), pool.handle());
    let (ran, runs) = mpsc::channel();
    let every = tick(&ran, ());
    let timer = brigade::execute_every(SOON, every);
    runs.recv().unwrap();
    timer.cancel();
    let on = Arc::new(Mutex::new(None));
    let seen = on.clone();
    let see = move || *seen.lock().unwrap() = Handle::current();
    let timer = brigade::execute_after(SOON, see);
    eventually("it is over", || timer.is_over());
    assert_eq!(*on.lock().unwrap(), Some(brigade::default_pool().handle()));
}

#[test]
fn many_schedules_of_a_pool_all_go_on() {
    let (pool, gate) = (Pool::new(2), Gate::closed());
    occupy(&pool, &gate);
    let timers: Vec<_> = (0..200)
        .map(|number| {
            pool.job()
                .every(SOON + SOON * (number % 7))
                .missed(ALL[number as usize % 3])
                .execute(|| ())
                .unwrap()
        })
        .collect();
    gate.open();
    eventually("each has ticked", || timers.iter().all(|timer| timer.ticks() >= 5));
    assert!(timers.iter().all(Timer::cancel));
}
