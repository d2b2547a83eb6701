//! A check of the CPUs: a loop of a known length on each of them, whose pieces should all take the same time.

use std::io;
use std::sync::RwLock;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::pins::put;
use crate::stats::sorted;
use crate::work::grind;

/// The test of the CPUs by a loop of a known length: a thread on each of them computes alone.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct Spin {
    /// The share of time in which the worst of the CPUs did not compute: other work, the host, or a clock that changed meanwhile.
    pub(super) lost: f64,
    /// Nanoseconds of a piece of the loop at its fastest, on the slowest of the CPUs.
    pub(super) piece_ns: f64,
}

/// Length of a check: more than a scheduler's slice. A build without optimisation measures nothing, and is quick.
const SPIN: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1 } else { 15 });
/// Arithmetic between two looks at the clock: some 20 µs.
const PIECE: u64 = 10_000;
/// The most checked CPUs.
const MOST_SPINS: usize = 256;

impl Spin {
    /// Checks all CPUs of this process, at once. `None` if it can't have a thread on each of them.
    pub(super) fn check(kernel: &Kernel, cpus: usize) -> Option<Self> {
        let mut places: Vec<_> =
            kernel.allowed().unwrap_or_default().into_iter().map(Some).collect();
        if places.is_empty() {
            places = vec![None; cpus];
        }
        places.truncate(MOST_SPINS);
        Spin::of(&all(places, Builder::new)?)
    }

    /// The result for these CPUs: each with the times of all pieces, in seconds.
    fn of(cpus: &[Vec<f64>]) -> Option<Self> {
        let each = cpus.iter().filter_map(|pieces| {
            let fastest = pieces.iter().copied().min_by(f64::total_cmp)?;
            Some((1.0 - fastest * pieces.len() as f64 / pieces.iter().sum::<f64>(), fastest))
        });
        let (lost, fastest): (Vec<_>, Vec<_>) = each.unzip();
        Some(Spin { lost: *sorted(lost).last()?, piece_ns: *sorted(fastest).last()? * 1e9 })
    }
}

/// Computes at all of these places once there is a thread at each; `None` if a thread can't be started.
fn all(places: Vec<Option<usize>>, thread: impl Fn() -> Builder) -> Option<Vec<Vec<f64>>> {
    let gate = &RwLock::new(false);
    thread::scope(|scope| {
        // Each thread waits for this guard.
        let mut is_open = gate.write().ok()?;
        let start = |place: Option<usize>| {
            thread().spawn_scoped(scope, move || {
                // As far as the system allows it.
                let _ = place.map(|cpu| put(None, cpu));
                let may = gate.read().is_ok_and(|is_open| *is_open);
                may.then(|| spin(SPIN))
            })
        };
        let threads = places.into_iter().map(start).collect::<io::Result<Vec<_>>>();
        *is_open = threads.is_ok();
        drop(is_open);
        threads.ok()?.into_iter().map(|thread| thread.join().ok()?).collect()
    })
}

/// Computes for this long; the time of each piece.
fn spin(length: Duration) -> Vec<f64> {
    let (begun, mut pieces) = (Instant::now(), Vec::with_capacity(4_096));
    let mut before = begun;
    while before - begun < length {
        grind(PIECE);
        let now = Instant::now();
        pieces.push((now - before).as_secs_f64());
        before = now;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Spin, all};
    use std::cell::Cell;
    use std::thread::Builder;

    #[test]
    fn a_failed_start_ends_the_other_checks() {
        let started = Cell::new(0);
        let third = || {
            started.set(started.get() + 1);
            // No address space has room for such a stack.
            let size = if started.get() == 3 { 1 << 60 } else { 1 << 20 };
            Builder::new().stack_size(size)
        };
        assert_eq!(all(vec![None; 4], third), None);
        assert_eq!(started.get(), 3);
        assert_eq!(all(vec![None; 2], Builder::new).map(|seen| seen.len()), Some(2));
    }

    #[test]
    fn a_long_piece_is_lost_time_on_the_worst_cpu() {
        let quiet = vec![1e-5; 100];
        let disturbed: Vec<_> =
            (0..100).map(|piece| if piece == 50 { 1e-3 } else { 1e-5 }).collect();
        let alone = Spin::of(&[quiet.clone(), quiet.clone()]).expect("CPUs");
        assert!(alone.lost.abs() < 1e-9 && (alone.piece_ns - 1e4).abs() < 1e-6, "{alone:?}");
        let beside = Spin::of(&[quiet, disturbed]).expect("CPUs");
        assert!((0.49..0.51).contains(&beside.lost), "{beside:?}");
        assert_eq!((Spin::of(&[]), Spin::of(&[vec![]])), (None, None));
    }
}
