//! A model of brigade on machines that are not there: what `throughput`, `fan-out` and `wake` of the laboratory would be on up to 256
//! cores.
//!
//! `costs` are what its steps take, measured here or given; `machine` has virtual time, CPUs and cache lines; `pool` is the
//! protocol; `workloads` run on it. `check` compares it with the real pool. `docs/scale.md` has what it predicts and leaves out.

#![forbid(unsafe_code)]
// It is not part of any loom model: it measures with the real atomics and threads.
#![allow(clippy::disallowed_types)]

mod check;
mod costs;
mod figures;
mod machine;
mod place;
mod pool;
#[cfg(test)]
mod tests;
mod workloads;

use std::iter;

use anyhow::Result;
use clap::Parser;

use crate::costs::Costs;
use crate::workloads::{FanOut, Run, Setting, Stream, Throughput, Wake};

/// The most cores that are modelled.
const MAX_CORES: usize = 256;

/// Predicts throughput, fan-out and wake-ups of brigade on machines of up to 256 cores.
///
/// A model of the pool, with costs that are measured here: `docs/scale.md` says what it leaves out.
#[derive(Debug, Parser)]
#[command(name = "simulate", version)]
struct Simulate {
    /// Cores of the machine: an even number, as half of them submit in two of the tables, several, or a range such as `2..256`, each
    /// twice the one before it.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "2,16,64,256", value_parser = cores)]
    cores: Vec<Span>,
    /// Cores that share a cache; a transfer between two such groups costs `far`. Without it all cores are one group.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_CORES as u64))]
    group: Option<u64>,
    /// Take the costs that are recorded in the program, and measure none.
    #[arg(long)]
    recorded: bool,
    /// A cost in nanoseconds (`stream` and `jitter`: a share), in place of the measured or recorded one. The first line of the output
    /// has their names. `far` follows `transfer` unless it is given.
    #[arg(long = "cost", value_name = "NAME=NS", value_parser = cost)]
    costs: Vec<(String, f64)>,
    /// Seed of the random numbers: another run.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Run the real pool on one core and two beside the model, and fail if they differ by more than 20 %.
    #[arg(long, conflicts_with_all = ["cores", "group", "recorded", "costs"])]
    check: bool,
    /// Rounds of the check.
    #[arg(long, value_name = "N", default_value_t = 5, requires = "check", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
}

/// A number of cores, or those that a range stands for.
#[derive(Clone, Debug)]
struct Span(Vec<usize>);

/// Reads a part of the value of `--cores`.
fn cores(text: &str) -> Result<Span, String> {
    let read = |number: &str| {
        let number = number.parse().ok();
        number.filter(|&number: &usize| number % 2 == 0 && (2..=MAX_CORES).contains(&number))
    };
    let span = match text.split_once("..") {
        None => read(text).map(|number| vec![number]),
        Some((first, last)) => read(first).zip(read(last)).map(|(first, last)| {
            let doubled = iter::successors(Some(first), |number| Some(2 * number));
            doubled.take_while(|&number| number < last).chain([last]).collect()
        }),
    };
    span.map(Span).ok_or_else(|| {
        format!("must be an even number from 2 to {MAX_CORES}, or a range such as 2..{MAX_CORES}")
    })
}

/// Reads a value of `--cost`.
fn cost(text: &str) -> Result<(String, f64), String> {
    let read = || {
        let (name, value) = text.split_once('=')?;
        let value = value.parse().ok().filter(|value| (0.0..=1e9).contains(value))?;
        Some((name.to_owned(), value))
    };
    read().ok_or_else(|| "must be a name, `=` and nanoseconds, such as transfer=90".to_owned())
}

fn main() -> Result<()> {
    let options = Simulate::parse();
    if options.check {
        return check::run(options.rounds.into(), options.seed);
    }
    let costs = if options.recorded { Costs::RECORDED } else { Costs::measure()? };
    let group = options.group.map_or(usize::MAX, |group| group as usize);
    let setting = Setting { costs: costs.with(&options.costs)?, group, seed: options.seed };
    println!("{}", setting.costs.line());
    let cores: Vec<_> = options.cores.iter().flat_map(|span| span.0.clone()).collect();
    TABLES.iter().for_each(|table| println!("{}", table.text(&setting, &cores)));
    Ok(())
}

/// What a workload comes to on some cores.
struct Row {
    /// Two numbers with their units.
    numbers: [(f64, &'static str); 2],
    run: Run,
}

/// A workload of the model.
struct Table {
    /// What it is, with `{}` cores.
    title: &'static str,
    /// The names of the two numbers.
    names: [&'static str; 2],
    row: fn(&Setting, usize) -> Row,
}

/// Nanoseconds of a job of the chains.
const WORK: f64 = 1_000.0;
/// Nanoseconds of a child.
const CHILD: f64 = 20_000.0;

const TABLES: &[Table] = &[
    Table {
        title: "throughput from outside: half of the cores submit empty jobs, each of which spawns another",
        names: ["jobs/s", "of a worker"],
        row: |setting, cores| {
            let half = cores / 2;
            let one = Throughput {
                workers: half,
                producers: half,
                messages: 10_000,
                amplification: 1,
                pre: 0.0,
                post: 0.0,
            };
            rate(one.run(setting, cores), one.jobs(), half)
        },
    },
    Table {
        title: "throughput of chains: 4 for each core, whose jobs compute for 1 µs and then spawn the next",
        names: ["jobs/s", "of a worker"],
        row: |setting, cores| chains(setting, cores, WORK, 0.0),
    },
    Table {
        title: "the same with jobs that spawn the next and then compute, so that it can be stolen meanwhile",
        names: ["jobs/s", "of a worker"],
        row: |setting, cores| chains(setting, cores, 0.0, WORK),
    },
    Table {
        title: "fan-out: 32 children of 20 µs for each core; 640 µs is ideal",
        names: ["time", "× ideal"],
        row: |setting, cores| {
            let one = FanOut { workers: cores, children: 32 * cores as u32, work: CHILD, shots: 5 };
            let run = one.run(setting, cores);
            Row { numbers: [(run.time, "s"), (run.time / (32.0 * CHILD / 1e9), "")], run }
        },
    },
    Table {
        title: "wake: one job for an idle pool",
        names: ["start", "submit"],
        row: |setting, cores| {
            let run = Wake { workers: cores, shots: 20 }.run(setting, cores);
            Row { numbers: [(run.time, "s"), (run.submit, "s")], run }
        },
    },
    Table {
        title: "single jobs: half of the cores submit an empty job, wait for its end, and submit the next",
        names: ["jobs/s", "of a worker"],
        row: |setting, cores| {
            let half = cores / 2;
            let one = Stream { workers: half, submitters: half, jobs: 1_000 };
            rate(one.run(setting, cores), half as u64 * one.jobs, half)
        },
    },
];

fn chains(setting: &Setting, cores: usize, pre: f64, post: f64) -> Row {
    let messages = 4 * cores as u64;
    let one =
        Throughput { workers: cores, producers: 1, messages, amplification: 1_000, pre, post };
    rate(one.run(setting, cores), one.jobs(), cores)
}

fn rate(run: Run, jobs: u64, workers: usize) -> Row {
    let rate = jobs as f64 / run.time;
    Row { numbers: [(rate, "/s"), (rate / workers as f64, "/s")], run }
}

impl Table {
    fn text(&self, setting: &Setting, cores: &[usize]) -> String {
        let [first, second] = self.names;
        let mut text = format!(
            "\n{}\n  {:>5}{first:>14}{second:>14}{:>14}  {:<14}{:>5}",
            self.title, "cores", "wake-ups/s", "busiest line", "busy"
        );
        for &cores in cores {
            let Row { numbers, run } = (self.row)(setting, cores);
            let [first, second] = numbers.map(|(value, unit)| figures::short(value, unit));
            let wakes = figures::short(run.wake_rate, "/s");
            let (line, busy) = run.busiest;
            text += &format!(
                "\n  {cores:>5}{first:>14}{second:>14}{wakes:>14}  {line:<14}{:>3.0} %",
                100.0 * busy
            );
        }
        text
    }
}
