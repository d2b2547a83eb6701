//! Random programs over brigade's public interface, on threads whose every step obeys a seed: see `ci/seeded.sh`. Without `--cfg brigade_seeded`
//! the threads are the system's: see `ci/soak.sh`.
#![cfg(any(brigade_seeded, target_os = "linux"))]
#![allow(clippy::disallowed_types, reason = "what a program counts is no step of it")]
#![allow(
    clippy::enum_variant_names,
    reason = "no two variants have the same name: printed code imports all"
)]

mod act;
#[cfg(brigade_seeded)]
mod cases;
mod chosen;
mod ending;
#[cfg(brigade_seeded)]
mod explore;
mod forks;
mod futures;
mod generate;
mod io;
mod jobs;
mod judge;
mod ledger;
mod levels;
mod machine;
mod meeting;
mod pools;
mod program;
mod shrink;
#[cfg(brigade_seeded)]
mod sim;
#[cfg(not(brigade_seeded))]
mod soak;
mod source;
mod timers;
mod verb;
mod waits;
mod world;

#[cfg(brigade_seeded)]
use explore::command;
#[cfg(brigade_seeded)]
pub use explore::run_input;
#[cfg(not(brigade_seeded))]
use soak::command;
use std::env;
use std::process::ExitCode;

/// Runs the command of the command line.
#[cfg(any(brigade_seeded, target_os = "linux"))]
pub fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    command(&arguments).unwrap_or_else(|problem| {
        eprintln!("{problem}");
        ExitCode::from(2)
    })
}
