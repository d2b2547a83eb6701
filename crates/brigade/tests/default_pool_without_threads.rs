//! The default pool while none of its threads can be started. One test: the pool is the process's.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use std::{fs, io};

use brigade::{Pool, TaskSet, default_pool, time};
use brigade_testkit::eventually;

const SOON: Duration = Duration::from_millis(2);

static STARTS: AtomicBool = AtomicBool::new(false);

fn here() -> ThreadId {
    thread::current().id()
}

/// A loop, which tells the threads on which it has run.
fn seen(all: impl FnOnce(&(dyn Fn() + Sync))) -> ThreadId {
    let seen = Mutex::new(Vec::new());
    all(&|| seen.lock().unwrap().push(here()));
    let seen = seen.into_inner().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|thread| *thread == seen[0]));
    seen[0]
}

type Row = (&'static str, fn() -> ThreadId);

/// Each free function that needs the default pool, by its name in docs/verbs.txt, returns the thread that has run its job.
#[rustfmt::skip]
const VERBS: [Row; 28] = [
    ("block_on", || brigade::block_on(async { brigade::submit(here).await.unwrap() })),
    ("execute", || seen_once(|note| brigade::execute(note))),
    ("execute_after", || seen_later(|note| time::execute_after(SOON, note))),
    ("execute_at", || seen_later(|note| time::execute_at(Instant::now(), note))),
    ("execute_every", || seen_later(|note| time::execute_every(SOON, note))),
    ("interval", || brigade::block_on(async { time::interval(SOON).tick().await; here() })),
    ("in_place_scope", || brigade::in_place_scope(|s| s.submit(here).join().unwrap())),
    ("job", || brigade::job().submit(here).unwrap().join().unwrap()),
    ("join", || brigade::join(here, here).1),
    ("map_reduce", || brigade::map_reduce(0..9, 1, |_| here(), |a, b| { assert_eq!(a, b); a }).unwrap()),
    ("par_chunks", || seen(|note| brigade::par_chunks(&[1; 9], 2, |_, _| note()))),
    ("par_chunks_mut", || seen(|note| brigade::par_chunks_mut(&mut [1; 9], 2, |_, _| note()))),
    ("par_for", || seen(|note| brigade::par_for(0..9, 1, |_| note()))),
    ("par_for_with", || seen(|note| brigade::par_for_with(0..9, 1, || (), |(), _| note()))),
    ("par_map", || brigade::par_map(0..9, 1, |_| here()).into_iter().reduce(|a, b| { assert_eq!(a, b); a }).unwrap()),
    ("scope", || brigade::scope(|s| s.submit(here).join().unwrap())),
    ("spawn", || brigade::spawn(async { here() }).join().unwrap()),
    ("submit", || brigade::submit(here).join().unwrap()),
    ("submit_after", || brigade::submit_after(SOON, here).join().unwrap()),
    ("try_par_for", || brigade::try_par_for(0..9, 1, |_| Err(here())).unwrap_err()),
    ("try_execute", || seen_once(|note| brigade::try_execute(note).unwrap())),
    ("try_spawn", || brigade::try_spawn(async { here() }).unwrap().join().unwrap()),
    ("try_submit", || brigade::try_submit(here).unwrap().join().unwrap()),
    ("default_pool", || default_pool().install(here).unwrap()),
    ("sleep", || brigade::block_on(async { time::sleep(SOON).await; here() })),
    ("timeout", || brigade::spawn(time::timeout(SOON, async { here() })).join().unwrap().unwrap()),
    ("Limited", || default_pool().limited(1).submit(here).join().unwrap()),
    ("TaskSet", || { let mut set = TaskSet::new(default_pool()); set.submit(here); set.join_next().unwrap().unwrap() }),
];

fn seen_once(submit: impl FnOnce(Box<dyn FnOnce() + Send>)) -> ThreadId {
    let (told, tells) = std::sync::mpsc::channel();
    submit(Box::new(move || told.send(here()).unwrap()));
    assert!(default_pool().wait_idle());
    tells.recv().unwrap()
}

fn seen_later<T>(set: impl FnOnce(Box<dyn Fn() + Send>) -> T) -> ThreadId {
    let (told, tells) = std::sync::mpsc::channel();
    let timer = set(Box::new(move || _ = told.send(here())));
    let thread = brigade::block_on(async {
        loop {
            match tells.try_recv() {
                Ok(thread) => break thread,
                Err(_) => time::sleep(SOON).await,
            }
        }
    });
    drop(timer);
    thread
}

#[test]
fn calls_run_on_their_thread_until_a_thread_starts() {
    let spawner = |thread: brigade::NewThread| match STARTS.load(Ordering::SeqCst) {
        true => thread.start(),
        false => Err(io::Error::from(io::ErrorKind::WouldBlock)),
    };
    let pool = Pool::builder().threads(2).prestart(0).spawner(spawner).build().unwrap();
    brigade::set_default_pool(pool).unwrap();
    for (verb, call) in VERBS {
        assert_eq!(call(), here(), "{verb}");
    }
    let left = [brigade::submit(here), brigade::submit_after(SOON, here)];

    STARTS.store(true, Ordering::SeqCst);
    brigade::execute(|| ());
    eventually("the pool has run what was left", || left.iter().all(|job| job.is_finished()));
    assert!(left.into_iter().all(|job| job.join().unwrap() != here()));
    // Others may run on this thread, or on several.
    let by_threads = ["execute", "job", "join", "scope", "spawn", "submit"];
    for (verb, call) in VERBS.into_iter().filter(|(verb, _)| by_threads.contains(verb)) {
        assert_ne!(call(), here(), "{verb}");
    }
    assert_eq!(default_pool().size(), 2..=2);
}

/// A free function submits to the current pool, or waits for a job: it needs a row.
#[test]
fn each_free_function_has_a_row() {
    let table = fs::read_to_string("../../docs/verbs.txt").unwrap();
    let all = table.lines().filter_map(|line| line.split("  ").next()?.strip_prefix("brigade::"));
    let free = all.filter(|name| !name.contains("::"));
    let others = [
        // They need no pool, or read or set a value.
        "blocking",
        "cancelled",
        "current_job_name",
        "current_priority",
        "current_worker",
        "current_worker_index",
        "inherited",
        "main",
        "set_default_pool",
        "yield_now",
        // On a worker only.
        "spawn_local",
        "try_execute_locally",
    ];
    let missing: Vec<_> = free
        .filter(|name| !others.contains(name) && VERBS.iter().all(|(verb, _)| verb != name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
