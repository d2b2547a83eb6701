//! Runs random programs over brigade's public interface on threads whose every step obeys a seed: see `ci/seeded.sh`.
#![allow(clippy::disallowed_types, reason = "what a program counts is no step of it")]

#[cfg(brigade_seeded)]
mod act;
#[cfg(brigade_seeded)]
mod cases;
#[cfg(brigade_seeded)]
mod explore;
#[cfg(brigade_seeded)]
mod forks;
#[cfg(brigade_seeded)]
mod futures;
#[cfg(brigade_seeded)]
mod io;
#[cfg(brigade_seeded)]
mod jobs;
#[cfg(brigade_seeded)]
mod ledger;
#[cfg(brigade_seeded)]
mod meeting;
#[cfg(brigade_seeded)]
mod pools;
#[cfg(brigade_seeded)]
mod program;
#[cfg(brigade_seeded)]
mod timers;
#[cfg(brigade_seeded)]
mod world;

#[cfg(brigade_seeded)]
fn main() -> std::process::ExitCode {
    explore::main()
}

#[cfg(not(brigade_seeded))]
fn main() {
    eprintln!("run it by ci/seeded.sh, which compiles it with --cfg brigade_seeded");
}
