//! What ends the process on purpose, tried in a process of its own.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use brigade::{OnPanic, Pool};

use crate::watchdog::Watchdog;

/// One ignored test of this binary, for another process.
fn apart(test: &str) -> Command {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--ignored", "--exact", &format!("aborting::{test}"), "--nocapture"]);
    this
}

fn run_apart(test: &str) -> Output {
    apart(test).output().unwrap()
}

#[test]
#[ignore = "ends the process; run by the test below"]
fn body_with_a_panic_under_the_abort_policy() {
    let _dog = Watchdog::start(10);
    let pool = Pool::builder().threads(1).on_panic(OnPanic::Abort).build().unwrap();
    pool.execute(|| panic!("the reason to abort"));
    pool.wait_idle();
    println!("still here");
}

#[test]
fn a_panic_under_the_abort_policy_ends_the_process_with_its_message() {
    let _dog = Watchdog::start(20);
    let output = run_apart("body_with_a_panic_under_the_abort_policy");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("the reason to abort"), "{said}");
    assert!(!said.contains("hung"), "{said}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("still here"));
    #[cfg(unix)]
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(6), "SIGABRT");
}

#[test]
fn the_abort_policy_aborts_even_if_nobody_reads_stderr() {
    let _dog = Watchdog::start(20);
    let mut apart = apart("body_with_a_panic_under_the_abort_policy");
    let mut process = apart.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(process.stderr.take());
    let begun = Instant::now();
    assert!(!process.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(8), "the body's watchdog had to end it");
}

#[test]
#[ignore = "ends the process; run by the test below"]
fn body_that_returns_from_main_with_a_busy_default_pool() {
    let _dog = Watchdog::start(10);
    for _ in 0..100 {
        brigade::execute(|| std::thread::sleep(std::time::Duration::from_millis(1))).unwrap();
    }
}

/// Fault 80: the default pool lives in a `static`, and nobody drops it.
#[test]
fn a_process_with_a_busy_default_pool_ends_when_main_does() {
    let _dog = Watchdog::start(20);
    let output = run_apart("body_that_returns_from_main_with_a_busy_default_pool");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
