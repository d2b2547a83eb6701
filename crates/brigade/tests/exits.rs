//! A process whose pools are in statics, or whose main function has a pool, ends with that function, at once and with the right exit code.
//!
//! No test harness here: `main` itself must return, exit and panic. The binary runs itself again for each of these.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

use std::env;
use std::process::{self, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use brigade::Pool;
use brigade_testkit::{Gate, this_program};

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
            #[cfg(feature = "macros")]
            for (how, code) in [("async return", 0), ("async fail", 1), ("async panic", 101)] {
                assert_ends(how, code);
            }
            ExitCode::SUCCESS
        }
    }
}

/// Has busy pools in statics, and ends.
fn end(how: &str) -> ExitCode {
    #[cfg(feature = "macros")]
    if how.starts_with("async") {
        return attribute::end();
    }
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

/// Futures that keep each other busy, and a job and a future that panic, on the pool of `#[brigade::main]`.
#[cfg(feature = "macros")]
mod attribute {
    use std::process::{ExitCode, Termination};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;
    use std::{env, thread};

    use async_channel::{Receiver, Sender, bounded};
    use brigade_testkit::OnDrop;

    static DROPS: AtomicUsize = AtomicUsize::new(0);
    static HAS_RUN: AtomicBool = AtomicBool::new(false);

    pub(super) fn end() -> ExitCode {
        let ended = OnDrop(|| {
            assert_eq!(DROPS.load(Ordering::Relaxed), 2, "the pool has ended");
            assert!(HAS_RUN.load(Ordering::Relaxed), "it waits for closures");
        });
        let code = main().report();
        drop(ended);
        code
    }

    #[brigade::main(threads = 2)]
    async fn main() -> Result<(), &'static str> {
        let ((to_one, one), (to_two, two)) = (bounded(1), bounded(1));
        to_one.try_send(()).unwrap();
        drop((brigade::spawn(passes_on(one, to_two)), brigade::spawn(passes_on(two, to_one))));
        assert!(brigade::spawn(async { panic!("a future's") }).await.is_err());
        assert!(brigade::submit(|| panic!("a job's")).await.is_err());
        brigade::execute(|| {
            thread::sleep(Duration::from_millis(5));
            HAS_RUN.store(true, Ordering::Relaxed);
        });
        match &*env::var(super::HOW).unwrap() {
            "async return" => Ok(()),
            "async fail" => Err("it has failed"),
            _ => panic!("the end of main"),
        }
    }

    fn passes_on(from: Receiver<()>, to: Sender<()>) -> impl Future<Output = ()> + Send {
        let token = OnDrop(|| _ = DROPS.fetch_add(1, Ordering::Relaxed));
        async move {
            let _token = token;
            while from.recv().await.is_ok() && to.send(()).await.is_ok() {}
        }
    }
}

fn assert_ends(how: &str, code: i32) {
    let mut this = this_program();
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
    assert_eq!(said.contains("the end of main"), how.ends_with("panic"), "{how}: {said}");
    assert_eq!(said.contains("it has failed"), how == "async fail", "{how}: {said}");
    println!("test busy pools, main is to {how} ... ok");
}
