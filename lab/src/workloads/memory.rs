//! The memory of a waiting task: resident and reserved bytes for each, by regression.
//!
//! Tasks are made in four steps, and after each of them the process reads its resident and its total size. The slope is
//! the memory of a task; the memory of the runtime without tasks is excluded. A run has a separate process, see [`apart`]:
//! where tasks have ended already, new ones reuse their memory.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_lite::future::yield_now;

use crate::apart;
use crate::workloads::prelude::*;

/// Options of `memory`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Memory {
    /// Waiting tasks at the end; there are a quarter of them, half, and three quarters before.
    #[arg(
        long, default_value_t = 8_000,
        value_parser = whole::<{ limits::MIN_RESIDENT }, { limits::MAX_CHILDREN }>
    )]
    pub(crate) tasks: u64,
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
}

/// Steps in which the tasks are created.
const STEPS: u64 = 4;

/// Pause between two looks for tasks that don't wait yet.
const LOOK: Duration = Duration::from_micros(50);

impl Workload for Memory {
    const DONE: &'static str = "keep waiting tasks in memory";
    const LIKE: &'static str =
        "It stands for many idle connections: chat, push notifications, long polling.";
    type Family = Runtimes;
    const APART: bool = true;

    const METRICS: &'static [Metric] = metrics! {
        less "B": "bytes";
        detail "B": "virtual";
    };

    fn tasks(&self) -> u64 {
        self.tasks
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.tasks, 1)
    }
}

impl RuntimeWorkload for Memory {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        let (mut made, mut points) = (0, [Vec::new(), Vec::new()]);
        for step in 1..=STEPS {
            let size = self.tasks * step / STEPS;
            for index in bench.fault.tasks(made..size as u32) {
                runtime.spawner().detach(Waiting::Fresh(index, bench.tally))?;
            }
            made = size as u32;
            runtime.block_on(all_wait(size, bench.tally))?;
            for (points, place) in points.iter_mut().zip([apart::BYTES, apart::RESERVED]) {
                points.push((size as f64, apart::bytes(place)? as f64));
            }
        }
        meter.end(&lap);
        // Memory given back to the system while tasks are made, such as the stack of an ended thread, was never theirs.
        let of_task = points.iter().map(|points| slope(points).max(0.0));
        Ok(of_task.chain([meter.cpus()]).collect())
    }
}

/// Ends when this many tasks wait, and lets them run until then.
async fn all_wait(count: u64, tally: &Tally) -> Result<(), Failure> {
    while tally.count() < count {
        tally.go_on()?;
        // In this order: on a runtime without threads they run while this thread has yielded.
        yield_now().await;
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Waits forever, and keeps the waker: a task without any waker may be dropped.
///
/// It is small, three words, so the memory a target adds to a task is visible.
enum Waiting {
    /// Not polled yet: the number, and the count of waiting tasks.
    Fresh(u32, &'static Tally),
    /// The waker.
    Polled { _waker: Waker },
}

impl Future for Waiting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // It may be polled again, when the runtime ends.
        if let Waiting::Fresh(index, tally) = *self {
            *self = Waiting::Polled { _waker: context.waker().clone() };
            tally.ran(index, 0);
        }
        Poll::Pending
    }
}

/// The slope of the line closest to these points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let (x, y) = (sum(|point| point.0) / count, sum(|point| point.1) / count);
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    both / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn the_slope_leaves_out_the_taskless_part() {
        assert_eq!(slope(&[(1.0, 1_100.0), (2.0, 1_200.0), (3.0, 1_300.0)]), 100.0);
        // Errors of the same size on both sides of the line make up for each other.
        let points = [(1.0, 1_110.0), (2.0, 1_190.0), (3.0, 1_290.0), (4.0, 1_410.0)];
        assert!((slope(&points) - 100.0).abs() < 1e-9);
    }
}
