//! Limits of the system: threads, address space, processors. Each in a separate process with less.
//!
//! Commands give the limits (`prlimit`, `setpriv`, `taskset`, `timeout`); what is not there is skipped, and says so.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{iter, thread};

use crate::support::crowd::{Crowd, workers};
use brigade::{Pool, Reason};
use brigade_testkit::{Gate, eventually, test};

const SOON: Duration = Duration::from_millis(2);

/// Runs an ignored test of this file under a command that sets limits; `None` if there is no such command.
fn apart(binary: &Path, limits: &[&str], set: &[(&str, &str)], test: &str) -> Option<Output> {
    let (program, rest) = limits.split_first().expect("a command");
    let mut command = Command::new(program);
    command.args(rest).arg(binary).args(["--ignored", "--nocapture", "--exact"]);
    command.arg(format!("lifecycle::limits::{test}")).envs(set.iter().copied());
    match command.output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: there is no {program}");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}

#[track_caller]
fn assert_went_well(output: &Output) {
    let shown = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{shown}\n{said}", output.status);
    assert!(shown.contains("1 passed"), "the body did not run: {shown}");
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
#[ignore = "needs a limit on threads; run by the test below"]
fn body_with_few_threads_to_be_had() {
    let before = threads();
    let error = Pool::builder().threads(64).prestart(64).build().expect_err("64 are too many");
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
    eventually("the threads are gone", || threads() == before);

    let pool = Pool::builder().threads(1..=64).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    (0..64).for_each(|_| pool.execute(crowd.job(&gate)));
    eventually("every thread has a job", || crowd.now() == workers(&pool));
    let there = workers(&pool);
    assert!((1..64).contains(&there), "{there} threads");

    // The system counts threads for a while after their end, so other threads may use what became free.
    let mut others = Vec::new();
    let (threadless, rejected) = loop {
        let other = Pool::builder().threads(0..=2).build().unwrap();
        match other.handle().try_submit(|| 42) {
            Ok(job) => assert_eq!(job.join().unwrap(), 42),
            Err(rejected) => break (other, rejected),
        }
        others.push(other);
        assert!(others.len() < 64, "there is no limit");
    };
    assert_eq!(rejected.reason(), Reason::NoThread);
    assert_eq!(rejected.into_inner()(), 42);
    gate.open();
    pool.wait_idle();
    assert_eq!((pool.metrics().returned, crowd.most()), (64, there));
    drop(pool);
    eventually("there are threads again", || {
        threadless.handle().try_submit(|| 42).is_ok_and(|job| job.join().is_ok())
    });
}

#[test]
#[ignore = "needs a limit on threads; run by the test below"]
fn body_with_a_default_pool_without_threads() {
    let (held, ends) = mpsc::channel::<()>();
    let ends = Arc::new(Mutex::new(ends));
    let hold = || {
        let ends = ends.clone();
        thread::Builder::new().spawn(move || ends.lock().unwrap().recv().is_err())
    };
    let others: Vec<_> = iter::from_fn(|| hold().ok()).collect();
    let error = Pool::builder().build().unwrap_err();
    assert!(error.to_string().contains("without_threads"), "{error}");

    let me = thread::current().id();
    let here = move || thread::current().id() == me;
    assert!(brigade::submit(here).join().unwrap());
    assert_eq!(brigade::join(here, here), (true, true));
    assert!(brigade::scope(|s| s.submit(here).join().unwrap()));
    assert!(brigade::block_on(brigade::spawn(async move { here() })).unwrap());
    brigade::par_for(0..10, 1, |_| assert!(here()));
    assert!(brigade::default_pool().install(here).unwrap());
    let (left, pending) = (brigade::submit(here), brigade::submit_after(SOON, here));

    drop(held);
    others.into_iter().for_each(|other| assert!(other.join().unwrap()));
    eventually("there is a thread again", || {
        thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok())
    });
    eventually("a thread has run what was left", || {
        // The system counts threads for a while after their end.
        brigade::execute(|| ());
        left.is_finished() && pending.is_finished()
    });
    assert!(!left.join().unwrap() && !pending.join().unwrap(), "not on this thread");
    assert!(!brigade::submit(here).join().unwrap());
}

/// Fault 87. Root may start any number of threads, so the process is another user's.
#[test(body in ["body_with_few_threads_to_be_had", "body_with_a_default_pool_without_threads"])]
fn refused_threads_fail_a_build_but_not_a_running_pool(body: &'static str) {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: only root can become a user without processes");
        return;
    }
    // Where another user can run it.
    let copy = std::env::temp_dir().join(format!("brigade-limits-{}-{body}", process::id()));
    fs::copy(this(), &copy).unwrap();
    let user = ["setpriv", "--reuid=61234", "--clear-groups", "prlimit", "--nproc=10"];
    let output = apart(&copy, &user, &[], body);
    fs::remove_file(&copy).unwrap();
    if let Some(output) = output {
        assert_went_well(&output);
    }
}

/// For the test below.
const SIZE: &str = "BRIGADE_TEST_SIZE";

#[test]
#[ignore = "needs a variable of the environment; run by the test below"]
fn body_with_a_size_by_the_environment() {
    let size = std::env::var(SIZE).unwrap();
    match (Pool::builder().build(), size.parse()) {
        (Ok(pool), Ok(size)) => assert_eq!(pool.size(), size..=size),
        (Err(error), Err(_)) => assert_eq!(error.to_string(), size),
        (built, _) => panic!("{built:?} beside {size}"),
    }
    assert_eq!(Pool::new(3).size(), 3..=3, "set by the program");
}

#[test]
fn the_environment_sets_the_default_size() {
    let all = Pool::default().size().end().to_string();
    let many = Pool::builder().threads(5000).build().unwrap_err();
    let values = [
        ("5", "5"),
        (" 5 ", "5"),
        ("", &*all),
        ("0", &*all),
        ("5000", &*format!("BRIGADE_THREADS: {many}")),
        ("all", "BRIGADE_THREADS must be the number of threads, or 0 for the default, not \"all\""),
    ];
    for (threads, size) in values {
        let set = [("BRIGADE_THREADS", threads), (SIZE, size)];
        let output = apart(&this(), &["env"], &set, "body_with_a_size_by_the_environment");
        assert_went_well(&output.unwrap());
    }
}

#[test]
#[ignore = "needs a limit on memory; run by the test below"]
fn body_with_little_address_space() {
    let before = threads();
    let error =
        Pool::builder().threads(1000).prestart(1000).build().expect_err("1000 are too many");
    assert!(!error.to_string().is_empty());
    eventually("the threads are gone", || threads() == before);
    assert_eq!(Pool::new(2).submit(|| 42).join().unwrap(), 42);
}

/// Fault 89. The standard library may abort in the new thread (rust#78497), and an allocation that fails aborts too.
#[test]
fn too_little_address_space_never_hangs() {
    let limits = ["prlimit", "--as=268435456"];
    let output = apart(&this(), &limits, &[], "body_with_little_address_space");
    let Some(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("hung"), "{said}");
    // A sanitizer alone needs more than that, and does not let the process begin.
    let has_begun = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
    if has_begun && output.status.signal() != Some(6) {
        assert_went_well(&output);
    }
}

#[test(unwatched)]
#[ignore = "needs a variable; run by the test below"]
fn body_with_the_default_stack() {
    // No watchdog: its thread would have that stack too.
    match Pool::builder().threads(2).prestart(2).build() {
        Ok(pool) => assert_eq!(pool.submit(|| 42).join().unwrap(), 42),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // An explicit stack size does not depend on it.
    let pool = Pool::builder().threads(2).prestart(2).stack_size(1 << 20).build().unwrap();
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
}

/// Fault 91, as far as it comes from outside.
#[test(bytes in ["", "0", "1", "-5", "plenty", "1099511627776000"])]
fn any_stack_variable_gives_a_pool_or_an_error(bytes: &'static str) {
    // With one, libtest runs the body on its main thread.
    let set = [("RUST_MIN_STACK", bytes), ("RUST_TEST_THREADS", "1")];
    let body = "body_with_the_default_stack";
    let Some(output) = apart(&this(), &["timeout", "20"], &set, body) else {
        return;
    };
    println!("RUST_MIN_STACK={bytes}");
    assert_went_well(&output);
}

#[test]
#[ignore = "needs a single processor; run by the test below"]
fn body_on_one_processor() {
    let pool = Pool::builder().build().unwrap();
    assert_eq!(*pool.size().end(), 1, "as many as the affinity says");
    for threads in [1, 4] {
        let pool = Pool::builder().threads(1..=threads).build().unwrap();
        let jobs: Vec<_> = (0..2000)
            .map(|n| pool.submit(move || brigade::submit(move || n).join().unwrap()))
            .collect();
        let sum: u64 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
        assert_eq!(sum, (0..2000).sum());
    }
}

/// Fault 94, affinity.
#[test]
fn one_processor_gives_one_thread_and_allows_more() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = list.trim().split(['-', ',']).next().unwrap();
    let output = apart(&this(), &["taskset", "-c", first], &[], "body_on_one_processor");
    if let Some(output) = output {
        assert_went_well(&output);
    }
}
