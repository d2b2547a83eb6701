//! Runs the programs.

#[cfg(any(brigade_seeded, target_os = "linux"))]
use brigade_seeded::main;

#[cfg(not(any(brigade_seeded, target_os = "linux")))]
fn main() {
    eprintln!("threads that obey no seed are held up by signals, on Linux only");
}
