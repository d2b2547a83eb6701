//! Fourteen fork-join programs, each written once for all pools, with the answer of one thread.
//!
//! A run has a separate process, see [`apart`]: there the peak of the memory belongs to a single target.

mod collect;
mod fib;
mod mandelbrot;
mod map;
mod matmul;
mod nbody;
mod nqueens;
mod search;
mod short;
mod skynet;
mod sort;
mod uts;
mod wc;

use std::ops::RangeInclusive;

use self::search::Search;
use crate::apart;
use crate::setup::started;
use crate::target::fork::{self, Start};
use crate::targets::forks::Forks;
use crate::targets::forks::sequential::Sequential;
use crate::workload::ForkWorkload;
use crate::workloads::prelude::*;

/// A program in a pool.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct ForkJoin {
    /// The program.
    #[arg(long, value_enum, default_value = "fib")]
    program: Kind,
    /// How large the input is [default: the program's]
    #[arg(long, value_parser = whole::<1, { limits::MAX_TASKS }>)]
    size: Option<u64>,
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
    /// Counted runs of the program, after a warm-up.
    #[arg(long, default_value_t = 3, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    repetitions: u64,
}

/// Runs of the program before the counted ones.
const WARM_UP: u64 = 1;

/// The most items to sort.
const MANY: u64 = 1_000_000_000;

/// Chunks of a loop over the input.
const CHUNKS: usize = 8;

impl Workload for ForkJoin {
    const DONE: &'static str = "compute by divide and conquer";
    const LIKE: &'static str =
        "It stands for parallel algorithms: sorting, tree walks, matrix products, simulations.";
    type Family = Forks;
    const APART: bool = true;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "time" "cpu-time";
        less "B": "peak";
    };

    fn params(&self) -> Params {
        fields(&ForkJoin { size: Some(self.size()), ..self.clone() })
    }

    fn check(&self) -> Result<(), Stop> {
        let (_, sizes, _) = self.program.facts();
        let (name, least, most) = (name(&self.program), sizes.start(), sizes.end());
        let reason = format!("the size of {name} is from {least} to {most}");
        Stop::usage_if(!sizes.contains(&self.size()), reason)
    }

    fn program(&self) -> Option<String> {
        Some(name(&self.program))
    }

    fn expected(&self) -> Sum {
        // A run of the program is a single task here: counting the tasks inside would be a part of their time.
        Sum::grid(self.runs(), 1)
    }

    fn note(&self) -> Option<String> {
        let (_, _, parts) = self.program.facts();
        Some(parts(self.size()))
    }
}

impl ForkWorkload for ForkJoin {
    fn run<F: fork::ForkJoin>(&self, start: Start<F>, bench: &Bench) -> Outcome {
        match self.program {
            // As a tree of calls a fork of other pools would take longer.
            Kind::Fib if !F::BORROWS => self.measure::<Search<fib::Call, false>, F>(start, bench),
            Kind::Fib => self.measure::<fib::Fib, F>(start, bench),
            Kind::Skynet => self.measure::<Search<skynet::Node, true>, F>(start, bench),
            Kind::Nqueens => self.measure::<Search<nqueens::Board, true>, F>(start, bench),
            Kind::NqueensScope => self.measure::<Search<nqueens::Board, false>, F>(start, bench),
            Kind::Uts => self.measure::<Search<uts::Node, false>, F>(start, bench),
            Kind::Quicksort => self.measure::<sort::Sort<false>, F>(start, bench),
            Kind::Mergesort => self.measure::<sort::Sort<true>, F>(start, bench),
            Kind::Matmul => self.measure::<matmul::Matmul, F>(start, bench),
            Kind::Mandelbrot => self.measure::<mandelbrot::Mandelbrot, F>(start, bench),
            Kind::Nbody => self.measure::<nbody::Nbody, F>(start, bench),
            Kind::Short => self.measure::<short::Short, F>(start, bench),
            Kind::Wc => self.measure::<wc::Wc, F>(start, bench),
            Kind::Map => self.measure::<map::Map, F>(start, bench),
            Kind::Collect => self.measure::<collect::Collect, F>(start, bench),
        }
    }
}

impl ForkJoin {
    /// How large the input is.
    fn size(&self) -> u64 {
        let (usual, ..) = self.program.facts();
        self.size.unwrap_or(usual)
    }

    /// Measures the program in a pool.
    fn measure<P: Program, F: fork::ForkJoin>(&self, start: Start<F>, bench: &Bench) -> Outcome {
        let mut program = P::prepare(self.size() as usize)?;
        let before = apart::bytes(apart::PEAK)?;
        let target = started(start, self.threads())?;
        let (mut meter, mut times, mut answers) = (Meter::default(), Vec::new(), Vec::new());
        let grown = target.attach(|outside| {
            for repetition in 0..self.runs() {
                program.reset();
                let lap = Lap::begin();
                for _ in 0..bench.fault.copies(repetition as u32) {
                    program.run::<F>(outside);
                    bench.tally.ran(repetition as u32, 0);
                }
                if repetition >= WARM_UP {
                    times.push(meter.end(&lap).as_secs_f64());
                }
                answers.push(program.answer());
            }
            // Here no thread of the pool has ended yet, and one thread has not computed the answer.
            apart::bytes(apart::PEAK).map(|most| most.saturating_sub(before))
        });
        drop(target);
        bench.tally.check(bench.tally.expected())?;
        program.reset();
        program.run::<Sequential>(&mut ());
        let right = program.answer();
        if let Some(wrong) = answers.iter().find(|answer| **answer != right) {
            return Err(Failure::Told(format!("answered {wrong}, and one thread {right}")));
        }
        let cpu = meter.cpu.as_secs_f64() / self.repetitions as f64;
        Ok(vec![median(times), cpu, grown? as f64, meter.cpus()])
    }

    /// Runs of the program, warm-up included.
    fn runs(&self) -> u64 {
        WARM_UP + self.repetitions
    }
}

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Fibonacci numbers without a cut-off.
    Fib,
    /// A tree of ten children a node.
    Skynet,
    /// Queens on a board, by joins.
    Nqueens,
    /// The same, with a job of one scope for each placement.
    NqueensScope,
    /// Unbalanced tree search.
    Uts,
    /// Quicksort in place.
    Quicksort,
    /// Mergesort with parallel merges.
    Mergesort,
    /// The product of two matrices.
    Matmul,
    /// The Mandelbrot set.
    Mandelbrot,
    /// Bodies that attract each other.
    Nbody,
    /// Many short loops, one after the other, from a thread outside: `--size` is the items of a loop, of 3 ns each.
    Short,
    /// The words of many files.
    Wc,
    /// Maps over a square of numbers.
    Map,
    /// A hash table of pairs.
    Collect,
}

impl Kind {
    /// The size without `--size`, the possible sizes, and the parts of a program of a size, as far as known before.
    fn facts(self) -> (u64, RangeInclusive<u64>, fn(u64) -> String) {
        match self {
            Kind::Fib => (30, 1..=50, |index| format!("{} joins", fib::forks(index))),
            Kind::Skynet => (6, 1..=9, |levels| format!("{} joins", skynet::forks(levels))),
            Kind::Nqueens => (12, 1..=18, |_| "joins over the halves of each row".to_owned()),
            Kind::NqueensScope => (12, 1..=18, |_| "a task for each placement".to_owned()),
            Kind::Uts => (150, 1..=10_000, |_| "a task for each node".to_owned()),
            Kind::Quicksort => (4_000_000, 1..=MANY, |_| "a join for each pivot".to_owned()),
            Kind::Mergesort => (4_000_000, 1..=MANY, |_| {
                "joins over halves, and over those of each merge".to_owned()
            }),
            Kind::Matmul => {
                (768, 1..=20_000, |rows| format!("{} chunks of rows", matmul::forks(rows)))
            }
            Kind::Mandelbrot => (800, 1..=20_000, |rows| format!("{rows} rows")),
            Kind::Nbody => (1_000, 1..=10_000_000, |steps| {
                format!("{steps} steps of {} chunks", nbody::CHUNKS)
            }),
            Kind::Short => (1_000, 1..=1_000_000, |_| format!("{} loops", short::LOOPS)),
            Kind::Wc => (2_000, 1..=1_000_000, |files| format!("{files} files")),
            Kind::Map => {
                (500, 3..=20_000, |_| format!("{} loops of {CHUNKS} chunks", 4 * map::ROUNDS))
            }
            Kind::Collect => (20_000, 8..=100_000_000, |_| {
                format!("{} loops of {CHUNKS} chunks", 3 * collect::ROUNDS)
            }),
        }
    }
}

/// A program, the input and the last answer.
trait Program: Send + Sized {
    /// Makes the input for this size; it is not timed.
    fn prepare(size: usize) -> io::Result<Self>;

    /// Makes the input as it was before the first run; it is not timed either.
    fn reset(&mut self) {}

    /// Runs once, from a thread outside.
    fn run<F: fork::ForkJoin>(&mut self, outside: &mut F::Outside<'_>);

    /// The answer of the last run, or a fingerprint of it.
    fn answer(&self) -> u64;
}

/// A loop over chunks, from a thread outside.
fn each<F: fork::ForkJoin, T: Send>(
    outside: &mut F::Outside<'_>,
    items: &mut [T],
    length: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    F::enter(outside, |context| F::for_each_chunk(context, items, length, work));
}

/// A fingerprint of these words in this order.
fn fingerprint(words: impl IntoIterator<Item = u64>) -> u64 {
    // The multiplier is FNV-1a's, for 64 bits.
    words.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(5)
    })
}

#[cfg(test)]
mod tests;
