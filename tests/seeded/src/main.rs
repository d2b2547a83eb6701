//! Runs the programs.

#[cfg(brigade_seeded)]
use brigade_seeded::main;

#[cfg(not(brigade_seeded))]
fn main() {
    eprintln!("run it by ci/seeded.sh, which compiles it with --cfg brigade_seeded");
}
