//! The programs by name, and their sizes.

use std::ops::RangeInclusive;

use clap::ValueEnum;
use serde::Serialize;

use super::{collect, fib, map, matmul, nbody, skynet};

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Fibonacci numbers without a cut-off.
    Fib,
    /// A tree of ten children a node.
    Skynet,
    /// Queens on a board.
    Nqueens,
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
    /// The words of many files.
    Wc,
    /// Maps over a square of numbers.
    Map,
    /// A hash table of pairs.
    Collect,
}

impl Kind {
    /// Its name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The size without `--size`.
    pub(super) fn default(self) -> u64 {
        match self {
            Kind::Fib => 30,
            Kind::Skynet => 6,
            Kind::Nqueens => 12,
            Kind::Uts => 150,
            Kind::Quicksort | Kind::Mergesort => 4_000_000,
            Kind::Matmul => 768,
            Kind::Mandelbrot => 800,
            Kind::Nbody => 1_000,
            Kind::Wc => 2_000,
            Kind::Map => 500,
            Kind::Collect => 20_000,
        }
    }

    /// The sizes that are possible.
    pub(super) fn sizes(self) -> RangeInclusive<u64> {
        match self {
            Kind::Fib => 1..=50,
            Kind::Skynet => 1..=9,
            Kind::Nqueens => 1..=18,
            Kind::Uts => 1..=10_000,
            Kind::Quicksort | Kind::Mergesort => 1..=1_000_000_000,
            Kind::Matmul | Kind::Mandelbrot => 1..=20_000,
            Kind::Nbody => 1..=10_000_000,
            Kind::Wc => 1..=1_000_000,
            Kind::Map => 3..=20_000,
            Kind::Collect => 8..=100_000_000,
        }
    }

    /// Whether its tasks need not borrow, and it is a tree whose nodes are known one by one.
    pub(super) fn is_tree(self) -> bool {
        matches!(self, Kind::Fib | Kind::Skynet | Kind::Nqueens | Kind::Uts)
    }

    /// Whether the programs in other languages have it.
    pub(super) fn is_foreign(self) -> bool {
        matches!(self, Kind::Fib | Kind::Skynet | Kind::Nqueens)
    }

    /// What it consists of at this size, as far as that is known before.
    pub(super) fn parts(self, size: u64) -> String {
        match self {
            Kind::Fib => format!("{} joins", fib::forks(size)),
            Kind::Skynet => format!("{} joins", skynet::forks(size)),
            Kind::Nqueens => "a task for each placement".to_owned(),
            Kind::Uts => "a task for each node".to_owned(),
            Kind::Quicksort => "a join for each pivot".to_owned(),
            Kind::Mergesort => "joins over halves, and over those of each merge".to_owned(),
            Kind::Matmul => format!("{} chunks of rows", matmul::forks(size)),
            Kind::Mandelbrot => format!("{size} rows"),
            Kind::Nbody => format!("{size} steps of {} chunks", nbody::CHUNKS),
            Kind::Wc => format!("{size} files"),
            Kind::Map => format!("{} loops of {} chunks", 4 * map::ROUNDS, map::CHUNKS),
            Kind::Collect => format!("{} loops of {} chunks", 3 * collect::ROUNDS, map::CHUNKS),
        }
    }
}
