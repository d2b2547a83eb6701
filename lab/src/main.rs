//! `brigade-lab`: measures brigade beside the thread pools people use today, its queues and its channel
//! beside theirs.
//!
//! One folder of [`workloads`] × one folder of [`targets`]; [`rounds`] lets the targets take turns,
//! [`tally`] proves that every task ran exactly once, and [`report`] prints and writes the numbers.
//! `README.md` says what each number means. Nothing here is a library for others.

#![forbid(unsafe_code)]
// The laboratory stands outside every loom model: it must measure with the real atomics and threads.
#![allow(clippy::disallowed_types)]

mod census;
mod cli;
mod clock;
mod dispatch;
mod fault;
mod inbox;
mod interrupt;
mod latch;
mod limits;
mod machine;
mod needs;
mod plan;
mod report;
mod resident;
mod rounds;
mod session;
mod stop;
mod supervise;
mod switches;
mod tally;
mod targets;
mod work;
mod workloads;

use std::panic;
use std::process::ExitCode;

use crate::cli::Cli;
use crate::stop::Stop;

fn main() -> ExitCode {
    report::quiet_panics();
    // Bad luck in here is a failed run with a reason, never exit code 101 and a backtrace.
    let outcome = panic::catch_unwind(|| Cli::read().and_then(session::run));
    let stop = match outcome {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(stop)) => stop,
        Err(_) => Stop::Failed("the laboratory itself panicked".to_owned()),
    };
    stop.explain();
    stop.code()
}
