//! Corner cases of a crew that grows, shrinks, blocks and is started by user code.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::crowd::{Crowd, workers};
use crate::support::soak::soak_time;
use brigade::{Handle, Pool, Queueing, Shutdown, WhenFull};
use brigade_testkit::{Gate, Meeting, Watchdog, eventually};

/// Whether `code` returns within this many seconds; otherwise its thread is abandoned.
fn returns_within(seconds: u64, code: impl FnOnce() + Send + 'static) -> bool {
    let (told, tells) = mpsc::channel();
    thread::spawn(move || {
        code();
        let _ = told.send(());
    });
    tells.recv_timeout(Duration::from_secs(seconds)).is_ok()
}

/// Submits a child from within a job, and waits for a second at most; whether another thread has run it.
fn a_child_runs_elsewhere() -> bool {
    let child = Arc::new(AtomicBool::new(false));
    let ran = Arc::clone(&child);
    brigade::execute(move || ran.store(true, Ordering::SeqCst));
    let limit = Instant::now() + Duration::from_secs(1);
    while !child.load(Ordering::SeqCst) && Instant::now() < limit {
        thread::yield_now();
    }
    child.load(Ordering::SeqCst)
}

#[test]
fn a_spawner_may_submit_to_another_pool() {
    let _dog = Watchdog::start(30);
    let other = Pool::new(1);
    let log = other.handle();
    let builder = Pool::builder().threads(1..=2).spawner(move |thread| {
        log.execute(|| ());
        thread.start()
    });
    let pool = builder.build().unwrap();
    let (handle, gate, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
    for busy in 1..=2 {
        handle.execute(crowd.job(&gate));
        eventually("the job has started", || crowd.now() == busy);
    }
    gate.open();
}

#[test]
fn two_first_jobs_run_at_once_although_the_thread_of_one_runs_the_other() {
    let _dog = Watchdog::start(30);
    let (asked, busy) = (AtomicUsize::new(0), Gate::closed());
    let until = busy.clone();
    let builder = Pool::builder().threads(0..=2).spawner(move |thread| {
        let started = thread.start();
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            until.wait();
        }
        started
    });
    let pool = builder.build().unwrap();
    let (handle, meeting) = (pool.handle(), Meeting::of(2));
    let first = meeting.job();
    let submitter = thread::spawn(move || handle.submit(first).join().unwrap());
    eventually("its thread is there and idle", || pool.metrics().idle_threads == 1);
    let other = meeting.job();
    let second = pool.submit(move || {
        busy.open();
        other()
    });
    assert!(second.join().unwrap() && submitter.join().unwrap(), "one waits for the other's end");
}

#[test]
fn resizes_that_race_leave_a_pool_whose_jobs_have_their_children_run() {
    let _dog = Watchdog::start(120);
    let pool = Pool::new(2);
    for round in 0..1500 {
        let begin = Barrier::new(8);
        thread::scope(|scope| {
            for number in 0..8 {
                let (begin, pool) = (&begin, &pool);
                scope.spawn(move || {
                    begin.wait();
                    pool.resize(1 + number % 2).unwrap();
                });
            }
        });
        if pool.size() != (2..=2) {
            continue;
        }
        let ran_beside = pool.submit(|| {
            // Until the monitor has given up.
            thread::sleep(Duration::from_millis(4));
            a_child_runs_elsewhere()
        });
        assert!(ran_beside.join().unwrap(), "round {round}: {pool:?} keeps a child to its parent");
    }
}

#[test]
fn a_shared_queue_keeps_its_order_when_the_pool_is_made_smaller() {
    let _dog = Watchdog::start(30);
    let pool = Pool::builder().threads(2).queueing(Queueing::Shared).build().unwrap();
    let (gates, crowd) = ([Gate::closed(), Gate::closed()], Crowd::default());
    for gate in &gates {
        pool.execute(crowd.job(gate));
    }
    eventually("both are busy", || crowd.now() == 2);
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..5 {
        let order = Arc::clone(&order);
        pool.execute(move || order.lock().unwrap().push(number));
    }
    pool.resize(1).unwrap();
    gates[0].open();
    eventually("one has left", || workers(&pool) == 1);
    gates[1].open();
    pool.wait_idle();
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn shutdown_waits_for_a_thread_whose_name_is_being_made() {
    let _dog = Watchdog::start(30);
    let (entered, until) = (Gate::closed(), Gate::closed());
    let (told, wait) = (entered.clone(), until.clone());
    let over = Arc::new(AtomicBool::new(false));
    let (late, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_over, was_late, stops) = (Arc::clone(&over), Arc::clone(&late), Arc::clone(&stopped));
    let builder = Pool::builder().threads(0..=1).name(move |_| {
        told.open();
        wait.wait();
        "late".into()
    });
    let builder = builder
        .on_start(move |_| was_late.store(is_over.load(Ordering::SeqCst), Ordering::SeqCst))
        .on_stop(move |_| stops.store(true, Ordering::SeqCst));
    let pool = builder.build().unwrap();
    let handle = pool.handle();
    let submitter = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    entered.wait();
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        until.open();
    });
    pool.shutdown(Shutdown::Drain);
    over.store(true, Ordering::SeqCst);
    opener.join().unwrap();
    submitter.join().unwrap();
    eventually("the thread has ended", || stopped.load(Ordering::SeqCst));
    assert!(!late.load(Ordering::SeqCst), "a thread began its life after the shutdown");
}

#[test]
fn a_spawner_that_fails_after_it_has_started_the_thread_leaves_the_counts_right() {
    let _dog = Watchdog::start(60);
    let (asked, there) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let (starts, stops) = (Arc::clone(&there), Arc::clone(&there));
    let builder = Pool::builder().threads(1..=3).spawner(move |thread| {
        let started = thread.start()?;
        // Say, its priority could not be set.
        if asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(std::io::Error::other("expected"));
        }
        Ok(started)
    });
    let builder = builder
        .on_start(move |_| _ = starts.fetch_add(1, Ordering::SeqCst))
        .on_stop(move |_| _ = stops.fetch_sub(1, Ordering::SeqCst));
    let pool = builder.build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for _ in 0..10 {
        pool.execute(crowd.job(&gate));
        thread::sleep(Duration::from_millis(2));
    }
    eventually("those that are counted are at work", || crowd.now() == workers(&pool));
    let (most, counted) = (crowd.now(), workers(&pool));
    gate.open();
    assert!(returns_within(10, move || drop(pool)), "the pool never ends");
    assert!(most <= 3 && counted == most, "{most} threads at work, {counted} counted, 3 allowed");
}

#[test]
fn a_pool_made_smaller_while_all_its_threads_are_blocked_still_runs_jobs() {
    let _dog = Watchdog::start(30);
    let pool = Pool::new(4);
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for blocked in 1..=4 {
        let job = crowd.job(&gate);
        pool.execute(move || brigade::blocking(job));
        // A worker that has not parked again would count as busy at the next job, and another would be
        // started.
        eventually("it is blocked, and the others are idle", || {
            crowd.now() == blocked && workers(&pool) == blocked + pool.metrics().idle_threads
        });
    }
    assert_eq!(workers(&pool), 4);
    pool.resize(1).unwrap();
    let opens = gate.clone();
    let mut freeing = pool.submit(move || opens.open());
    let freed = freeing.join_timeout(Duration::from_secs(3)).is_some();
    gate.open();
    assert!(freed, "no thread frees them: {:?}", pool.metrics());
}

#[test]
fn a_worker_does_not_leave_to_a_blocked_one_and_one_that_may_not_start() {
    let _dog = Watchdog::start(30);
    let (asked, entered, until) = (AtomicUsize::new(0), Gate::closed(), Gate::closed());
    let (told, wait) = (entered.clone(), until.clone());
    let builder = Pool::builder().threads(2).spawner(move |thread| {
        if asked.fetch_add(1, Ordering::SeqCst) < 2 {
            return thread.start();
        }
        told.open();
        wait.wait();
        Err(std::io::Error::other("expected"))
    });
    let pool = builder.build().unwrap();
    let (freed, busy, crowd) = (Gate::closed(), Gate::closed(), Crowd::default());
    let blocked = crowd.job(&freed);
    pool.execute(move || brigade::blocking(blocked));
    // Before more is submitted: a worker that blocks starts another thread for that.
    eventually("one is blocked", || crowd.now() == 1);
    pool.execute(crowd.job(&busy));
    eventually("one is blocked and one busy", || crowd.now() == 2);
    let (handle, frees) = (pool.handle(), freed.clone());
    let submitter = thread::spawn(move || handle.try_execute(move || frees.open()).is_ok());
    entered.wait();
    pool.resize(1).unwrap();
    busy.open();
    eventually("the busy one is done", || crowd.now() < 2);
    thread::sleep(Duration::from_millis(50));
    until.open();
    assert!(submitter.join().unwrap());
    let limit = Instant::now() + Duration::from_secs(3);
    while crowd.now() > 0 && Instant::now() < limit {
        thread::sleep(Duration::from_millis(1));
    }
    let (left, sums) = (crowd.now(), pool.metrics());
    freed.open();
    assert_eq!(left, 0, "accepted, and no thread runs it: {sums:?}");
}

#[test]
fn a_shutdown_with_a_timeout_does_not_wait_for_a_spawner() {
    let _dog = Watchdog::start(30);
    let until = Gate::closed();
    let wait = until.clone();
    let builder = Pool::builder().threads(0..=1).spawner(move |thread| {
        let started = thread.start();
        wait.wait();
        started
    });
    let pool = builder.build().unwrap();
    let handle = pool.handle();
    let submitter = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    eventually("its thread is there and idle", || pool.metrics().idle_threads == 1);
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_secs(2));
        until.open();
    });
    let begun = Instant::now();
    pool.shutdown(Shutdown::Drain.timeout(Duration::from_millis(20)));
    let took = begun.elapsed();
    opener.join().unwrap();
    submitter.join().unwrap();
    assert!(took < Duration::from_secs(1), "20 ms were {took:?}");
}

#[test]
fn a_spawner_that_waits_for_an_idle_pool_returns() {
    let _dog = Watchdog::start(30);
    let pool: Arc<OnceLock<Pool>> = Arc::default();
    let own = Arc::clone(&pool);
    let builder = Pool::builder().threads(2).spawner(move |thread| {
        own.get().inspect(|pool| _ = pool.wait_idle());
        thread.start()
    });
    pool.set(builder.build().unwrap()).unwrap();
    assert!(returns_within(5, move || pool.get().unwrap().execute(|| ())));
}

#[track_caller]
fn a_spawner_may_submit_to_its_own_pool_when_full(policy: WhenFull) {
    let _dog = Watchdog::start(30);
    let own: Arc<OnceLock<Handle>> = Arc::default();
    let handle = Arc::clone(&own);
    let builder = Pool::builder().threads(0..=1).capacity(1).when_full(policy);
    let builder = builder.spawner(move |thread| {
        let _ = handle.get().map(|handle| handle.job().execute(|| ()));
        thread.start()
    });
    let pool = builder.build().unwrap();
    own.set(pool.handle()).unwrap();
    assert!(returns_within(5, move || pool.execute(|| ())), "{policy:?}");
}

#[test]
fn a_spawner_may_submit_to_its_own_pool_that_drops_the_oldest() {
    a_spawner_may_submit_to_its_own_pool_when_full(WhenFull::DropOldest);
}

#[test]
fn a_spawner_may_submit_to_its_own_pool_that_blocks() {
    a_spawner_may_submit_to_its_own_pool_when_full(WhenFull::Block);
}

#[test]
fn a_replacement_that_was_idle_for_keep_alive_ends_when_the_blocked_thread_is_back() {
    let _dog = Watchdog::start_alone(30);
    let pool = Pool::builder().threads(1).keep_alive(Duration::from_secs(2)).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    let job = crowd.job(&gate);
    pool.execute(move || brigade::blocking(job));
    eventually("it is blocked", || crowd.now() == 1);
    pool.submit(|| ()).join().unwrap();
    assert_eq!(workers(&pool), 2);
    thread::sleep(Duration::from_millis(2300));
    gate.open();
    thread::sleep(Duration::from_millis(700));
    assert_eq!(workers(&pool), 1, "idle for 3 s, and there although 2 s are the limit");
}

#[test]
fn a_child_of_a_replacement_is_run_by_the_thread_it_replaced() {
    let _dog = Watchdog::start(30);
    let pool = Pool::new(1);
    let (freed, busy, crowd) = (Gate::closed(), Gate::closed(), Crowd::default());
    let blocked = crowd.job(&freed);
    pool.execute(move || brigade::blocking(blocked));
    eventually("it is blocked", || crowd.now() == 1);
    let (other, wait) = (crowd.clone(), busy.clone());
    let parent = pool.submit(move || {
        let _inside = other.enter();
        wait.wait();
        a_child_runs_elsewhere()
    });
    eventually("its replacement is busy", || crowd.now() == 2);
    freed.open();
    eventually("it is idle", || pool.metrics().idle_threads == 1);
    // Until it no longer monitors.
    thread::sleep(Duration::from_millis(50));
    busy.open();
    assert!(parent.join().unwrap(), "one worker is idle, and a job waits");
}

#[test]
fn a_blocked_thread_beyond_the_core_size_is_replaced_for_one_job() {
    let _dog = Watchdog::start(30);
    let builder = Pool::builder().threads(1..=2).growth(brigade::Growth::WhenQueued(2));
    let pool = builder.build().unwrap();
    let (freed, busy, crowd) = (Gate::closed(), Gate::closed(), Crowd::default());
    pool.execute(crowd.job(&busy));
    eventually("one is busy", || crowd.now() == 1);
    let blocked = crowd.job(&freed);
    pool.execute(|| ());
    pool.execute(move || brigade::blocking(blocked));
    eventually("the other is blocked", || crowd.now() == 2);
    let frees = freed.clone();
    let mut freeing = pool.submit(move || frees.open());
    let ran = freeing.join_timeout(Duration::from_secs(2)).is_some();
    freed.open();
    busy.open();
    assert!(ran, "there is work, and no thread in place of the blocked one");
}

/// As the test of two first jobs above, without another submission.
#[test]
fn two_first_jobs_of_two_threads_run_at_once() {
    let time = soak_time(Duration::from_secs(2));
    let _dog = Watchdog::start(120 + time.as_secs());
    let end = Instant::now() + time;
    for round in 0.. {
        if Instant::now() > end {
            break;
        }
        let pool = Pool::builder().threads(0..=2).build().unwrap();
        let (begin, meeting) = (Barrier::new(2), Meeting::of(2));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    begin.wait();
                    let met = pool.submit(meeting.job()).join().unwrap();
                    assert!(met, "round {round}");
                });
            }
        });
    }
}
