//! The words of many files, some of which are eight times as long as others.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Program, each};
use crate::workloads::prelude::*;

/// The fewest words of a file.
const LEAST: u32 = 250;
/// The most.
const MOST: u32 = 2_000;

/// Files.
pub(super) struct Wc {
    /// Their folder, which is removed at the end.
    _folder: TempDir,
    /// Their paths.
    files: Vec<PathBuf>,
    /// The words of each.
    counts: Vec<u64>,
}

impl Program for Wc {
    fn prepare(size: usize) -> io::Result<Self> {
        let (folder, mut random) = (TempDir::new()?, SmallRng::seed_from_u64(42));
        let mut write = |number: usize| {
            let words = random.random_range(LEAST..=MOST);
            let word =
                |_| " ".repeat(random.random_range(1..3)) + &"word"[random.random_range(0..4)..];
            let path = folder.path().join(number.to_string());
            fs::write(&path, (0..words).map(word).collect::<String>()).map(|()| path)
        };
        let files = (0..size).map(&mut write).collect::<io::Result<_>>()?;
        Ok(Wc { _folder: folder, files, counts: vec![0; size] })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let (files, counts) = (&self.files, &mut self.counts);
        each::<F, _>(outside, counts, 1, |index, of| of[0] = count(&files[index]));
    }

    fn reset(&mut self) {
        self.counts.fill(0);
    }

    fn answer(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// The words of this file. It has the same machine code for all pools.
#[inline(never)]
fn count(file: &Path) -> u64 {
    let text = fs::read(file).expect("it was written before");
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() as u64
}
