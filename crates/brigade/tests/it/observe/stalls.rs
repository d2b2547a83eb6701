//! A job that runs for long is reported, once.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use brigade::{Builder, Pool, Shutdown, Stall};

use brigade_testkit::{Gate, Halt, Latch, eventually, test};

/// Longer than a job of these tests takes that must not be reported, unless the machine stands still.
const AFTER: Duration = Duration::from_millis(20);

fn detecting(builder: Builder, after: Duration) -> (Pool, Receiver<Stall>) {
    let (sender, stalls) = mpsc::channel();
    let hook = move |stall: &Stall| _ = sender.send(stall.clone());
    (builder.name("watched").on_stall(after, hook).build().unwrap(), stalls)
}

fn next(stalls: &Receiver<Stall>) -> Stall {
    stalls.recv_timeout(Duration::from_secs(10)).unwrap()
}

#[test]
fn a_long_job_is_reported_with_all_details() {
    let (pool, stalls) = detecting(Pool::builder().threads(1), AFTER);
    let (gate, before) = (Gate::closed(), Instant::now());
    let (job, line) = (pool.job().name("long").submit(gate.job()).unwrap(), line!());
    let stall = next(&stalls);
    assert!(
        before.elapsed() >= AFTER && stall.job.ran >= AFTER && stall.job.ran <= before.elapsed()
    );
    assert_eq!((stall.job.name.as_deref(), stall.worker), (Some("long"), Some(0)));
    assert_eq!((stall.pool.as_ref(), stall.job.place.line()), ("watched", line));
    assert_eq!(stall.job.thread.as_deref(), Some("watched-0"));
    let text = stall.to_string();
    assert!(text.starts_with("pool watched: long from "), "{text}");
    assert!(text.contains("on worker 0 (watched-0)"), "{text}");
    if cfg!(target_os = "linux") {
        let state = stall.job.state.unwrap();
        assert!(state.state.is_ascii_uppercase(), "{state}");
        assert!(text.contains(&format!(": thread {} in state", state.id)), "{text}");
    }
    gate.open();
    job.join().unwrap();
}

#[test]
fn each_stall_is_reported_once() {
    let (pool, stalls) = detecting(Pool::builder().threads(1), Duration::from_millis(1));
    for name in ["first", "second"] {
        let gate = Gate::closed();
        let job = pool.job().name(name).submit(gate.job()).unwrap();
        assert_eq!(next(&stalls).job.name.as_deref(), Some(name));
        // Others that are reported now would have been reported by an earlier look.
        let (probe, reports) = detecting(Pool::builder().threads(1), Duration::from_millis(1));
        for _ in 0..3 {
            let (end, ends) = mpsc::channel::<()>();
            let probed = probe.submit(move || _ = ends.recv());
            next(&reports);
            drop(end);
            probed.join().unwrap();
        }
        assert!(stalls.try_recv().is_err(), "reported twice");
        gate.open();
        job.join().unwrap();
    }
}

#[test]
fn all_workers_may_be_stuck() {
    let (pool, stalls) = detecting(Pool::builder().threads(3), AFTER);
    let gate = Gate::closed();
    for _ in 0..3 {
        pool.execute(gate.job());
    }
    let mut workers: Vec<_> = (0..3).map(|_| next(&stalls).worker).collect();
    workers.sort_unstable();
    assert_eq!(workers, [Some(0), Some(1), Some(2)]);
    gate.open();
}

#[test]
fn a_pending_future_is_no_stall_but_a_blocking_one_is() {
    let (pool, stalls) = detecting(Pool::builder().threads(1), AFTER);
    let latch = Latch::default();
    let waits = pool.spawn(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    let gate = Gate::closed();
    let wait = gate.clone();
    let blocks = pool.job().name("blocks").spawn(async move { wait.wait() }).unwrap();
    assert_eq!(next(&stalls).job.name.as_deref(), Some("blocks"));
    gate.open();
    blocks.join().unwrap();
    latch.open();
    waits.join().unwrap();
    assert!(stalls.try_iter().all(|stall| stall.job.name.is_some()));
}

#[test]
fn a_job_delaying_the_end_is_reported() {
    let (pool, stalls) = detecting(Pool::builder().threads(1), AFTER);
    let gate = Gate::closed();
    pool.job().name("last").execute(gate.job()).unwrap();
    let opener = std::thread::spawn(move || {
        let name = next(&stalls).job.name;
        gate.open();
        name
    });
    drop(pool);
    assert_eq!(opener.join().unwrap().as_deref(), Some("last"));
}

#[test]
fn a_panicking_hook_is_contained_and_called_again() {
    let (sender, stalls) = mpsc::channel();
    let hook = move |_: &Stall| {
        sender.send(()).unwrap();
        panic!("expected");
    };
    let pool = Pool::builder().threads(1).on_stall(Duration::from_millis(1), hook).build().unwrap();
    for _ in 0..3 {
        let (end, ends) = mpsc::channel::<()>();
        pool.execute(move || _ = ends.recv());
        stalls.recv_timeout(Duration::from_secs(10)).unwrap();
        drop(end);
    }
    assert!(pool.wait_idle());
}

#[test]
fn the_hook_may_end_the_pool() {
    let gate = Gate::closed();
    let opens = gate.clone();
    let (sender, ended) = mpsc::channel();
    let (give, taken) = mpsc::channel::<Pool>();
    let taken = std::sync::Mutex::new(taken);
    let hook = move |_: &Stall| {
        opens.open();
        drop(taken.lock().unwrap().recv().unwrap());
        sender.send(()).unwrap();
    };
    let pool = Pool::builder().threads(1).on_stall(Duration::from_millis(1), hook).build().unwrap();
    pool.execute(move || gate.wait());
    give.send(pool).unwrap();
    ended.recv_timeout(Duration::from_secs(10)).unwrap();
}

#[test]
fn a_shutdowns_timeout_covers_the_hook() {
    let halt = Halt::default();
    let (stops, hooked) = (halt.clone(), halt.clone());
    let hook = move |_: &Stall| stops.here();
    let pool = Pool::builder().threads(1).on_stall(Duration::from_millis(1), hook).build().unwrap();
    pool.submit(move || hooked.await_thread()).join().unwrap();
    for _ in 0..2 {
        let report = pool.shutdown(Shutdown::Drain.timeout(Duration::from_millis(20)));
        assert_eq!(report.still_running, 0);
        assert!(!halt.gate().is_open());
    }
    halt.release();
    pool.shutdown(Shutdown::Drain);
}

/// Linux cuts the names of threads.
#[cfg(target_os = "linux")]
#[test]
fn the_stall_thread_ends_with_its_pool() {
    use crate::support::crowd::threads_named;
    let build = || {
        let builder = Pool::builder().threads(1).pool_name("ends");
        builder.on_stall(Duration::from_millis(5), |_| ()).build().unwrap()
    };
    let pool = build();
    eventually("it runs", || threads_named("ends-stalls") == 1);
    drop(pool);
    // It has been joined, but the kernel may list it for a moment longer.
    eventually("it has ended", || threads_named("ends-stalls") == 0);
    let pool = build();
    let gate = Gate::closed();
    pool.execute(gate.job());
    // A thread that has submitted by a handle keeps the memory of the pool.
    let (handle, halt) = (pool.handle(), Halt::default());
    let stops = halt.job();
    let keeper = std::thread::spawn(move || {
        handle.execute(|| ());
        stops();
    });
    halt.await_thread();
    pool.shutdown(Shutdown::Drain.timeout(Duration::ZERO));
    drop(pool);
    eventually("it looks as long as something runs", || threads_named("ends-stalls") == 1);
    gate.open();
    eventually("it has ended", || threads_named("ends-stalls") == 0);
    halt.release();
    keeper.join().unwrap();
}

/// No job waits for it, so it is known by itself.
#[test]
fn a_stalled_outside_call_is_reported_with_its_place() {
    let (pool, stalls) = detecting(Pool::builder().threads(1), AFTER);
    let check = |worker: Option<usize>, line: u32, gate: &Gate| {
        let stall = next(&stalls);
        assert_eq!((stall.worker, stall.job.place.line(), stall.job.name), (worker, line, None));
        let dump = pool.dump();
        let (on_worker, elsewhere) = (&dump.workers[0].jobs, &dump.elsewhere);
        let listed = if worker.is_some() { on_worker } else { elsewhere };
        assert_eq!(listed.iter().map(|job| job.place.line()).collect::<Vec<_>>(), [line], "{dump}");
        gate.open();
    };
    let (call, line) = (|gate: &Gate| pool.install(|| gate.wait()).unwrap(), line!());
    let outside = |call: &(dyn Fn(&Gate) + Sync), worker, line| {
        let gate = Gate::closed();
        std::thread::scope(|threads| {
            threads.spawn(|| call(&gate));
            check(worker, line, &gate);
        });
    };
    outside(&call, Some(0), line);
    let (call, line) = (|gate: &Gate| pool.scope(|s| s.execute(|| gate.wait())).unwrap(), line!());
    outside(&call, Some(0), line);
    let (call, line) =
        (|gate: &Gate| _ = pool.install(|| brigade::join(|| gate.wait(), || ())).unwrap(), line!());
    outside(&call, Some(0), line);
    let call = |gate: &Gate| pool.in_place_scope(|s| s.execute(|| gate.wait())).unwrap();
    outside(&call, None, line!() - 1);
    assert!(pool.dump().elsewhere.is_empty(), "it is over");
    // They are no jobs of their own.
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
}
