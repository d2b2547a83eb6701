//! What ends the process on purpose, tried in a process of its own.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use brigade::{OnPanic, Pool};
use brigade_testkit::{Gate, OnDrop, test, this_program};

/// One ignored test of this binary, for another process.
fn apart(test: &str) -> Command {
    let mut this = this_program();
    this.args(["--ignored", "--exact", &format!("jobs::aborting::{test}"), "--nocapture"]);
    this
}

/// What a process has shown and said that comes to a bad end, and not because it hangs.
#[track_caller]
fn killed(process: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = process.output().unwrap();
    let [shown, said] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(!status.success() && !said.contains("hung"), "{said}");
    assert!(!shown.contains("still here"), "{shown}");
    #[cfg(unix)]
    {
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        // A sanitizer that sees the end come exits with a code.
        assert!(signal == Some(6) || said.contains("AddressSanitizer"), "{status}, not SIGABRT");
    }
    (shown, said)
}

/// The number of threads that a test wants in the other process.
#[cfg(unix)]
const THREADS: &str = "BRIGADE_TEST_THREADS";

/// A pool of that many threads, called `shallow`, with stacks of 2 MiB.
#[cfg(unix)]
fn shallow() -> Pool {
    let threads = std::env::var(THREADS).map_or(1, |threads| threads.parse::<usize>().unwrap());
    let builder = Pool::builder().threads(threads).stack_size(2 << 20);
    builder.name(|_| "shallow".into()).build().unwrap()
}

#[test]
#[ignore = "ends the process; run by the test below"]
fn body_with_a_panic_under_the_abort_policy() {
    let pool = Pool::builder().threads(1).on_panic(OnPanic::Abort).build().unwrap();
    pool.execute(|| panic!("the reason to abort"));
    pool.wait_idle();
    println!("still here");
}

#[test]
fn the_abort_policy_ends_the_process_with_the_message() {
    let (_, said) = killed(&mut apart("body_with_a_panic_under_the_abort_policy"));
    assert!(said.contains("the reason to abort"), "{said}");
}

#[test]
fn the_abort_policy_aborts_beside_a_full_stderr() {
    let mut apart = apart("body_with_a_panic_under_the_abort_policy");
    let mut process = apart.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(process.stderr.take());
    let begun = Instant::now();
    assert!(!process.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(8), "the body's watchdog had to end it");
}

#[test]
#[ignore = "ends the process; run by the test below"]
fn body_with_a_panic_while_unwinding() {
    let pool = Pool::new(1);
    let volatile = OnDrop(|| panic!("the second panic"));
    pool.execute(move || {
        let _volatile = &volatile;
        panic!("the first panic");
    });
    pool.wait_idle();
    println!("still here");
}

/// Fault 37: the language aborts the process; no pool can prevent it.
#[test]
fn a_panic_while_unwinding_prints_both_messages() {
    let (_, said) = killed(&mut apart("body_with_a_panic_while_unwinding"));
    assert!(said.contains("the first panic") && said.contains("the second panic"), "{said}");
}

/// Uses at least this many KiB of stack.
#[cfg(unix)]
fn deep(kibibytes: usize) -> usize {
    let frame = [1_u8; 1 << 10];
    let below = if kibibytes > 1 { deep(kibibytes - 1) } else { 0 };
    below + usize::from(std::hint::black_box(&frame)[kibibytes % frame.len()])
}

#[cfg(unix)]
#[test]
#[ignore = "ends the process; run by the test below"]
fn body_with_a_job_beyond_its_stack() {
    let pool = shallow();
    println!("used {} KiB", pool.submit(|| deep(512)).join().unwrap());
    println!("used {} KiB", pool.submit(|| deep(3 << 10)).join().unwrap());
}

#[cfg(unix)]
#[test]
#[ignore = "ends the process; run by the test below"]
fn body_with_a_fork_beyond_its_stack() {
    let pool = shallow();
    let used =
        pool.scope(|s| brigade::join(|| s.submit(|| deep(256)).join().unwrap(), || deep(256)));
    println!("used {:?} KiB", used.unwrap());
    let used = pool.scope(|s| brigade::join(|| s.submit(|| deep(3 << 10)).join().unwrap(), || 1));
    println!("used {:?} KiB", used.unwrap());
}

/// Fault 39: the guard page catches it, and the message names the worker. A job of a scope borrows from the stack that overflows.
#[cfg(unix)]
#[test]
fn a_stack_overflow_ends_the_process_with_a_message() {
    for (body, before, after) in [
        ("body_with_a_job_beyond_its_stack", "used 512 KiB", "used 3072 KiB"),
        ("body_with_a_fork_beyond_its_stack", "used (256, 256) KiB", "(3072, 1)"),
    ] {
        for threads in ["1", "2", "8"] {
            let (shown, said) = killed(apart(body).env(THREADS, threads));
            assert!(shown.contains(before) && !shown.contains(after), "{body}: {shown}");
            let by_std = said.contains("shallow") && said.contains("overflowed its stack");
            // A sanitizer has its own words.
            assert!(by_std || said.contains("stack-overflow"), "{body}: {said}");
        }
    }
}

#[test]
#[ignore = "ends the process; run by the test below"]
fn body_returning_from_main_with_a_busy_pool() {
    let (begun, begins) = std::sync::mpsc::channel();
    for _ in 0..100 {
        let begun = begun.clone();
        brigade::execute(move || {
            begun.send(()).unwrap();
            // It never returns.
            Gate::closed().wait();
        });
    }
    begins.recv().unwrap();
}

/// Fault 80: the default pool is in a `static`, and is never dropped.
#[test]
fn main_returns_beside_a_busy_default_pool() {
    let output = apart("body_returning_from_main_with_a_busy_pool").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
