//! A process whose pools are in statics ends with its main function, at once and with the right exit code.
//!
//! No test harness here: `main` itself must return, exit and panic. The binary runs itself again for each of these.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

use std::env;
use std::process::{self, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use brigade::Pool;
use brigade_testkit::Gate;

/// Tells this binary how to end.
const HOW: &str = "BRIGADE_TEST_HOW_TO_END";

/// A pool that is never dropped, beside the default one.
static POOL: OnceLock<Pool> = OnceLock::new();

/// How long the end may take. The jobs never end.
const LIMIT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    match env::var(HOW) {
        Ok(how) => end(&how),
        Err(_) => {
            for (how, code) in [("return", 0), ("fail", 3), ("exit", 7), ("panic", 101)] {
                assert_ends(how, code);
            }
            ExitCode::SUCCESS
        }
    }
}

/// Has busy pools in statics, and ends.
fn end(how: &str) -> ExitCode {
    let pool = POOL.get_or_init(|| Pool::new(2));
    let (started, starts) = mpsc::channel();
    for pool in [pool, brigade::default_pool()] {
        let started = started.clone();
        pool.execute(move || {
            started.send(()).unwrap();
            loop {
                thread::park();
            }
        });
        pool.execute(|| Gate::closed().wait());
    }
    assert_eq!(starts.iter().take(2).count(), 2);
    match how {
        "return" => ExitCode::SUCCESS,
        "fail" => ExitCode::from(3),
        "exit" => process::exit(7),
        _ => panic!("the end of main"),
    }
}

fn assert_ends(how: &str, code: i32) {
    let mut this = Command::new(env::current_exe().unwrap());
    let this = this.env(HOW, how).stdout(Stdio::null()).stderr(Stdio::piped());
    let (begun, mut process) = (Instant::now(), this.spawn().unwrap());
    while process.try_wait().unwrap().is_none() {
        if begun.elapsed() > LIMIT {
            process.kill().unwrap();
            panic!("{how}: still there after {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(1));
    }
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{how}: {said}");
    assert_eq!(said.contains("the end of main"), how == "panic", "{how}: {said}");
    println!("test busy pools in statics, main is to {how} ... ok");
}
