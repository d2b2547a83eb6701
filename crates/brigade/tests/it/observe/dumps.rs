//! A dump says what runs, what waits, and what waits for what.

use std::time::{Duration, Instant};

use super::dump_once;
use crate::support::full::full;
use brigade::{Dump, Handle, Pool, Shutdown, WhenFull, WorkerDump};
use brigade_testkit::{Gate, Latch, eventually, test};

fn observed(threads: usize) -> Pool {
    Pool::builder().threads(threads).name("dumped").observe_jobs().build().unwrap()
}

/// A job with this name that has started, and runs until the gate opens.
#[track_caller]
fn start(pool: &Pool, name: &'static str, gate: &Gate) -> brigade::JoinHandle<()> {
    let (wait, started) = (gate.job(), Gate::closed());
    let starts = started.clone();
    let job = pool.job().name(name).submit(move || {
        starts.open();
        wait();
    });
    started.wait();
    job.unwrap()
}

#[test]
fn a_dump_describes_each_workers_job() {
    let (pool, gate, before) = (observed(2), Gate::closed(), Instant::now());
    let (first, second) = (start(&pool, "first", &gate), start(&pool, "second", &gate));
    (0..5).for_each(|_| pool.execute(|| ()));
    let dump = pool.dump();
    assert_eq!((dump.pool.as_ref(), dump.is_closed, dump.is_observed), ("dumped", false, true));
    assert_eq!((dump.threads, dump.parked, dump.searching), (2, 0, 0), "{dump}");
    assert_eq!(dump.queued, 5, "{dump}");
    let jobs: Vec<_> = dump.workers.iter().flat_map(|worker| &worker.jobs).collect();
    let mut names: Vec<_> = jobs.iter().filter_map(|job| job.name.as_deref()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "second"]);
    for job in jobs {
        assert!(job.place.file().ends_with("dumps.rs") && job.ran <= before.elapsed());
        assert!(job.thread.as_deref().is_some_and(|name| name.starts_with("dumped-")));
        if cfg!(target_os = "linux") {
            assert!(job.state.is_some(), "{job:?}");
        }
    }
    let text = dump.to_string();
    assert!(text.contains("pool dumped: 2 threads, 0 parked, 0 searching; 5 jobs"), "{text}");
    assert!(text.contains("runs second from crates/brigade/tests/it/observe/dumps.rs:"), "{text}");
    gate.open();
    first.join().unwrap();
    second.join().unwrap();
    pool.wait_idle();
    let dump = pool.dump();
    assert!(dump.workers.iter().all(|worker| worker.jobs.is_empty()), "{dump}");
}

#[test]
fn a_job_inside_another_comes_after_it() {
    let pool = observed(1);
    let outer = pool.job().name("outer").submit(|| {
        let handle = Handle::current().unwrap();
        brigade::job().name("inner").submit(move || handle.dump()).unwrap().join().unwrap()
    });
    let dump = outer.unwrap().join().unwrap();
    let names: Vec<_> = dump.workers[0].jobs.iter().map(|job| job.name.as_deref()).collect();
    assert_eq!(names, [Some("outer"), Some("inner")]);
    let text = dump.to_string();
    assert!(
        text.contains("\n    runs outer from") && text.contains("\n      runs inner from"),
        "{text}"
    );
}

#[test]
fn a_wait_names_its_job() {
    let (pool, gate) = (observed(2), Gate::closed());
    let awaited = start(&pool, "awaited", &gate);
    let waiter = pool.job().name("waiter").submit(|| awaited.join().unwrap()).unwrap();
    // The jobs are read before the waits, so the first dump with the wait may lack the job.
    let waits = |worker: &&WorkerDump| !worker.waits.is_empty() && !worker.jobs.is_empty();
    let waiting = |dump: &Dump| dump.workers.iter().any(|worker| waits(&worker));
    let dump = dump_once(&pool, "it waits", waiting);
    let worker = dump.workers.iter().find(waits).unwrap();
    assert_eq!(worker.jobs[0].name.as_deref(), Some("waiter"));
    let wait = &worker.waits[0];
    assert_eq!((wait.awaited, wait.is_for_any), (1, false));
    let (other, job) = &wait.running[0];
    assert_eq!((*other, job.name.as_deref()), (1 - worker.index, Some("awaited")));
    let text = dump.to_string();
    assert!(text.contains("waits for a job; awaited from"), "{text}");
    gate.open();
    waiter.join().unwrap();
    assert!(!waiting(&pool.dump()));
}

#[test]
fn a_dump_lists_a_poll_while_it_lasts() {
    let pool = observed(1);
    let latch = Latch::default();
    let waits = pool.spawn(latch.wait());
    let local = latch.clone();
    let local = pool.submit(move || brigade::spawn_local(local.wait()));
    let local = local.join().unwrap();
    eventually("both wait", || latch.waiting() == 2);
    pool.wait_idle();
    let dump = pool.dump();
    assert_eq!((dump.pending_futures, dump.workers[0].jobs.len()), (2, 0), "{dump}");
    latch.open();
    waits.join().unwrap();
    local.join().unwrap();
    pool.wait_idle();
    assert_eq!(pool.dump().pending_futures, 0);
}

#[test]
fn an_unobserved_pools_dump_lists_queued_jobs() {
    let pool = Pool::new(1);
    let gate = Gate::closed();
    let busy = start(&pool, "busy", &gate);
    (0..3).for_each(|_| pool.execute(|| ()));
    let dump = pool.dump();
    assert_eq!((dump.is_observed, dump.queued, dump.threads), (false, 3, 1), "{dump}");
    assert!(dump.workers[0].jobs.is_empty());
    assert!(dump.to_string().contains("what runs is not known"));
    gate.open();
    busy.join().unwrap();
}

#[test]
fn an_ended_pools_dump_is_empty_and_says_how_it_ended() {
    let mut handle = None;
    for how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard] {
        let pool = observed(2);
        handle = Some(pool.handle());
        pool.submit(|| ()).join().unwrap();
        pool.shutdown(how);
        let dump = pool.dump();
        assert_eq!((dump.is_closed, dump.threads, dump.parked, dump.queued), (true, 0, 0, 0));
        let said = format!("pool dumped, ended by `Shutdown::{how:?}`: 0 threads");
        assert!(dump.has_ended && dump.to_string().starts_with(&said), "{dump}");
    }
    let (pool, gate) = (observed(1), Gate::closed());
    let busy = start(&pool, "busy", &gate);
    pool.close();
    let dump = pool.dump().to_string();
    assert!(dump.starts_with("pool dumped, closed by `Shutdown::Drain`: 1 threads"), "{dump}");
    gate.open();
    busy.join().unwrap();
    let handle = handle.unwrap();
    let dump = handle.dump();
    assert!(dump.is_closed && dump.workers.is_empty());
    let text = "no pool: it no longer exists, or belongs to the parent of a fork\n";
    assert_eq!(dump.to_string(), text);
}

#[test]
fn a_job_run_by_another_pool_is_listed_elsewhere() {
    let (pool, gate) = full(Pool::builder().observe_jobs(), 1, WhenFull::RunInCaller);
    let (handle, dumped) = (pool.handle(), std::sync::mpsc::channel());
    pool.job().name("here").execute(move || dumped.0.send(handle.dump()).unwrap()).unwrap();
    let dump = dumped.1.recv_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!(dump.elsewhere.len(), 1, "{dump}");
    assert_eq!(dump.elsewhere[0].name.as_deref(), Some("here"));
    gate.open();
}
