//! The command line.

use std::iter;
use std::process::{ExitCode, abort};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade::sim::{Failure, Policy, Run, attempt};

use crate::chosen::{Chosen, OF_A_CASE, number, verbs};
use crate::program::run;
use crate::shrink::shrink;
use crate::source::Source;
use crate::{act, cases, sim};

const USAGE: &str = "usage:
brigade-seeded cases                    runs each program of cases.rs
brigade-seeded sim                      runs the tests of brigade::sim
brigade-seeded explore LIMIT SEED VERBS runs random programs: so many, or for as long as LIMIT says, as in 60s
brigade-seeded replay PROGRAM VERBS     prints each step; a PROGRAM is a SEED, or SEED:CHOICES
brigade-seeded shrink PROGRAM VERBS     cuts a failing program down
brigade-seeded try PROGRAM SCHEDULES    runs it with its seed, and then with so many others
A SEED is decimal, or begins with 0x. VERBS are names with commas between them, or '' for all.";

/// Of so many runs, the first is repeated: the same seed must have the same steps.
const REPEATED: u64 = 64;

/// Runs the command of the command line.
pub(crate) fn command(arguments: &[&str]) -> Result<ExitCode, String> {
    let only = || verbs(arguments.last().copied().unwrap_or_default());
    match *arguments {
        ["cases"] => Ok(all_cases()),
        ["sim", ..] => Ok(sim::tests(arguments)),
        ["explore", limit, first, _] => search(limit, number(first)?, &only()?),
        ["replay", which, _] => Ok(replay(Chosen::parse(which, &only()?)?)),
        ["shrink", which, _] => {
            shrink(Chosen::parse(which, &only()?)?);
            Ok(ExitCode::SUCCESS)
        }
        ["try", which, count] => {
            let count = count.parse().map_err(|_| USAGE)?;
            Ok(with_others(&Chosen::parse(which, &[])?, count))
        }
        _ => Err(USAGE.into()),
    }
}

impl Chosen {
    /// Runs the program once.
    fn run(&self, kept: usize) -> Result<Run, Failure> {
        let program = self.program.clone();
        attempt(self.seed, kept, true, move || run(&program))
    }
}

/// Runs each case with many seeds.
fn all_cases() -> ExitCode {
    type Case = Arc<dyn Fn() + Send + Sync>;
    let mut all: Vec<(&str, Case)> = Vec::new();
    all.extend(cases::ALL.iter().map(|(name, case)| (*name, Arc::new(case) as _)));
    all.extend(cases::PROGRAMS.iter().map(|(name, program)| {
        let program = program();
        (*name, Arc::new(move || run(&program)) as _)
    }));
    for (name, case) in &all {
        for seed in 0..OF_A_CASE {
            let case = case.clone();
            if let Err(failure) = attempt(seed, 40, true, move || case()) {
                failure.steps.iter().for_each(|step| println!("{step}"));
                println!("{name}: failed with seed {seed}, {:?}: {failure}", Policy::of(seed));
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{} cases, {OF_A_CASE} runs of each: no failure", all.len());
    ExitCode::SUCCESS
}

/// Runs programs in turn, until one fails or the limit is reached.
fn search(limit: &str, first: u64, only: &[String]) -> Result<ExitCode, String> {
    let (number, is_time) = limit.strip_suffix('s').map_or((limit, false), |time| (time, true));
    let number = number.parse().map_err(|_| format!("no limit, as 60s or 1000 are: {limit}"))?;
    let begun = Instant::now();
    let (mut runs, mut steps) = (0, 0);
    while if is_time { begun.elapsed() < Duration::from_secs(number) } else { runs < number } {
        let chosen = Chosen::random(first.wrapping_add(runs), only);
        let again = runs % REPEATED == 0;
        let result = chosen.run(40).and_then(|run| match again.then(|| chosen.run(40)) {
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
                let (seed, names) = (chosen.seed, only.join(","));
                let again = if only.is_empty() { names } else { format!(" --only {names}") };
                println!("{:?}: {failure}", Policy::of(seed));
                println!(
                    "seed {seed:#x} failed, after {runs} runs: `ci/seeded.sh {seed:#x}{again}` shows each of its steps"
                );
                shrink(chosen);
                return Ok(ExitCode::FAILURE);
            }
        }
        runs += 1;
    }
    println!("{runs} runs from seed {first:#x} on, {steps} steps: no failure");
    Ok(ExitCode::SUCCESS)
}

/// Runs a program, and prints each of its steps.
fn replay(chosen: Chosen) -> ExitCode {
    act::say();
    println!("{:?}\n{:?}", chosen.program, Policy::of(chosen.seed));
    match chosen.run(usize::MAX) {
        Ok(run) => {
            println!("seed {:#x}: no failure in {} steps", chosen.seed, run.steps);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            failure.steps.iter().for_each(|step| println!("{step}"));
            println!("seed {:#x}: {failure}", chosen.seed);
            ExitCode::FAILURE
        }
    }
}

/// Runs the program of a fuzzer's input: 8 bytes are the seed of its schedule, the others its choices. A failure ends the process.
pub fn run_input(input: &[u8]) {
    let Some((seed, choices)) = input.split_first_chunk() else { return };
    let chosen = Chosen::new(u64::from_le_bytes(*seed), Source::bytes(choices.to_vec()));
    if let Err(failure) = chosen.run(0) {
        eprintln!(
            "{failure}\n`ci/seeded.sh {}` shows each step; with --shrink it is cut down",
            chosen.text()
        );
        abort();
    }
}

/// Runs a program with its seed, and then with others. Prints how many schedules did not fail, the seed that did, and the reason.
fn with_others(chosen: &Chosen, others: u64) -> ExitCode {
    for (passed, seed) in iter::once(chosen.seed).chain(0..others).enumerate() {
        if let Err(failure) = (Chosen { seed, ..chosen.clone() }).run(0) {
            println!("{passed} {seed} {failure}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
