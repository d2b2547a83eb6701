//! Runs random programs over brigade's public interface on threads whose every step obeys a seed: see `ci/seeded.sh`.
#![allow(clippy::disallowed_types, reason = "what a program counts is no step of it")]

#[cfg(brigade_seeded)]
mod explore;
#[cfg(brigade_seeded)]
mod ledger;
#[cfg(brigade_seeded)]
mod program;

#[cfg(brigade_seeded)]
fn main() -> std::process::ExitCode {
    explore::main()
}

#[cfg(not(brigade_seeded))]
fn main() {
    eprintln!("run it by ci/seeded.sh, which compiles it with --cfg brigade_seeded");
}
