//! `brigade-lab`: compares brigade with widely used thread pools, and its queues and channel with theirs.
//!
//! All of the program is in this library, which has no other user. `README.md` defines each number.
//!
//! # Order
//!
//! A module imports from those above it in this list, and from none below; so do the files inside a folder.
//! `tests/order.rs` checks it.
//!
//! - independent of the rest: `census`, `clock`, `failure`, `fault`, `kernel`, `program`,
//!   `stats`, `stop`, `usage`, `work`;
//! - limits, and counting every task: `limits`, `needs`, `pins`, `machine`, `tally`, `inbox`, `latch`, `supervise`;
//! - the traits of targets, and a folder of them: `target`, `targets`, `setup`;
//! - the traits of workloads and their runs on targets: `workload`, `apart`, `dispatch`;
//! - the output: `spent`, `noise`, `report`, `chart`, `show`, `compare`, `book`, `interrupt`;
//! - a folder of workloads, and rows of them: `row`, `workloads`, `sweep`, `plan`;
//! - the program: `hogs`, `rounds`, `cli`, `session`.

#![forbid(unsafe_code)]
// The laboratory is not part of any loom model: it must measure with the real atomics and threads.
#![allow(clippy::disallowed_types)]

mod apart;
mod book;
mod census;
mod chart;
mod cli;
mod clock;
mod compare;
mod dispatch;
mod failure;
mod fault;
mod hogs;
mod inbox;
mod interrupt;
mod kernel;
mod latch;
mod limits;
mod machine;
mod needs;
mod noise;
mod pins;
mod plan;
mod program;
mod report;
mod rounds;
mod row;
mod session;
mod setup;
mod show;
mod stats;
mod stop;
mod supervise;
mod sweep;
mod tally;
mod target;
mod targets;
mod usage;
mod work;
mod workload;
mod workloads;

use std::env;
use std::panic;
use std::process::ExitCode;

use crate::cli::Cli;
use crate::stop::Stop;

/// The program `brigade-lab`.
#[doc(hidden)]
pub fn main() -> ExitCode {
    report::quiet_panics();
    needs::heed_file_size();
    // A failure here must be a failed run with a reason, never exit code 101 and a backtrace.
    // `args_os`: an argument that isn't UTF-8 is a usage error, or a path.
    let read = || Cli::of(&env::args_os().collect::<Vec<_>>());
    let outcome = panic::catch_unwind(|| {
        needs::check_stack()?;
        session::run(read()?)
    });
    let stop = match outcome {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(stop)) => stop,
        Err(_) => Stop::Failed("the laboratory itself panicked".to_owned()),
    };
    stop.explain();
    stop.code()
}
