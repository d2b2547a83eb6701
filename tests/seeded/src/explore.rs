//! The command line: `brigade-seeded cases`, `brigade-seeded explore SECONDS FIRST`, `brigade-seeded replay SEED`.

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use brigade_sync::seeded::{Failure, Policy, Run, explore};

use crate::{act, cases, program};

/// Operations of a program.
const OPERATIONS: i32 = 30;
/// A program that takes more steps than this has a hang in which a thread spins.
const MOST_STEPS: usize = 2_000_000;
/// Of so many runs, the first is repeated: the same seed must have the same steps.
const REPEATED: u64 = 64;
/// Runs of each case.
const OF_A_CASE: u64 = 2_000;

/// Runs the command of the command line.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["cases"] => all_cases(),
        ["explore", seconds, first] => match (seconds.parse(), number(first)) {
            (Ok(seconds), Some(first)) => search(Duration::from_secs(seconds), first),
            _ => usage(),
        },
        ["replay", seed] => number(seed).map_or_else(usage, replay),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: brigade-seeded cases | brigade-seeded explore SECONDS FIRST | brigade-seeded replay SEED"
    );
    ExitCode::from(2)
}

/// A number, in decimal or as `0x` and hexadecimal digits.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The scheduler of a seed.
fn policy(seed: u64) -> Policy {
    match seed % 6 {
        0 => Policy::Random { stays: 0 },
        1 => Policy::Random { stays: 50 },
        2 => Policy::Random { stays: 90 },
        3 => Policy::Pct { changes: 2, steps: 2_000 },
        4 => Policy::Pct { changes: 5, steps: 2_000 },
        _ => Policy::Pct { changes: 10, steps: 5_000 },
    }
}

/// Runs a program once, to its end and that of the monitor, which outlives it for a time.
fn to_the_end(
    seed: u64,
    kept: usize,
    program: impl Fn() + Send + Sync + 'static,
) -> Result<Run, Failure> {
    explore(seed, policy(seed), MOST_STEPS, kept, move || {
        program();
        while brigade::monitor_runs() {
            brigade_sync::time::sleep(Duration::from_secs(1));
        }
    })
}

fn once(seed: u64, kept: usize) -> Result<Run, Failure> {
    to_the_end(seed, kept, move || program::run(seed, OPERATIONS))
}

/// Runs each case with many seeds.
fn all_cases() -> ExitCode {
    for (name, case) in cases::ALL {
        for seed in 0..OF_A_CASE {
            if let Err(failure) = to_the_end(seed, 40, case) {
                failure.steps.iter().for_each(|step| println!("{step}"));
                println!("{name}: failed with seed {seed}, {:?}: {failure}", policy(seed));
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{} cases, {OF_A_CASE} runs of each: no failure", cases::ALL.len());
    ExitCode::SUCCESS
}

/// Runs programs in turn, until one fails or the time is over.
fn search(time: Duration, first: u64) -> ExitCode {
    let begun = Instant::now();
    let (mut runs, mut steps) = (0, 0);
    while begun.elapsed() < time {
        let seed = first.wrapping_add(runs);
        let again = runs % REPEATED == 0;
        let result = once(seed, 40).and_then(|run| match again.then(|| once(seed, 40)) {
            None => Ok(run),
            Some(Ok(second)) if second == run => Ok(run),
            Some(second) => {
                let reason = format!("the same seed had other steps: {run:?}, then {second:?}");
                Err(Failure { reason, steps: Vec::new() })
            }
        });
        match result {
            Ok(run) => steps += run.steps,
            Err(failure) => {
                failure.steps.iter().for_each(|step| println!("{step}"));
                println!("{:?}: {failure}", policy(seed));
                println!(
                    "seed {seed:#x} failed, after {runs} runs: `ci/seeded.sh {seed:#x}` shows each of its steps"
                );
                return ExitCode::FAILURE;
            }
        }
        runs += 1;
    }
    println!("{runs} runs from seed {first:#x} on, {steps} steps: no failure");
    ExitCode::SUCCESS
}

/// Runs the program of a seed, and prints each of its steps.
fn replay(seed: u64) -> ExitCode {
    act::say();
    println!("{:?}", policy(seed));
    match once(seed, usize::MAX) {
        Ok(run) => {
            println!("seed {seed:#x}: no failure in {} steps", run.steps);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            failure.steps.iter().for_each(|step| println!("{step}"));
            println!("seed {seed:#x}: {failure}");
            ExitCode::FAILURE
        }
    }
}
