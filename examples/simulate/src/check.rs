//! The model beside the real pool, on as many cores as there are here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use brigade::Pool;

use crate::costs::{Costs, link};
use crate::figures::{median, middle, quantile, short, sorted};
use crate::place::Place;
use crate::workloads::{FanOut, Setting, Throughput, Wake};

/// By how much the model may differ.
const TOLERANCE: f64 = 0.2;

/// Runs of the real pool in a round. They are short, and the second best counts: costs, too, are measured where nothing disturbs.
const RUNS: usize = 20;

/// Attempts at each round.
const ATTEMPTS: usize = 4;

/// Seconds of a workload by the model on so many CPUs.
type Model = Box<dyn Fn(&Setting, usize) -> f64>;

/// A workload of the model, and the same on the real pool. Both return seconds.
struct Case {
    name: String,
    workers: usize,
    /// Where its threads are: each that has something to do at a time on a CPU of its own, as in the model.
    place: Place,
    model: Model,
    real: Box<dyn Fn(&Pool) -> f64 + Sync>,
}

fn throughput(workers: usize, messages: u64, amplification: u32) -> Case {
    let model = Throughput { workers, producers: 1, messages, amplification, pre: 0.0, post: 0.0 };
    let real = move |pool: &Pool| {
        let begun = Instant::now();
        for _ in 0..messages {
            let inside = pool.handle();
            pool.execute(move || link(inside, amplification));
        }
        pool.wait_idle();
        begun.elapsed().as_secs_f64()
    };
    Case {
        name: format!(
            "throughput of {messages} chains of {}, {workers} workers",
            amplification + 1
        ),
        workers,
        place: Place::Apart,
        model: Box::new(move |setting, cpus| model.run(setting, cpus).time),
        real: Box::new(real),
    }
}

/// Sleep before each shot, which lets the workers fall asleep, and after a submission, so that the thread that submits disturbs none.
const PAUSE: Duration = Duration::from_micros(1_600);
const MEANWHILE: Duration = Duration::from_micros(400);

fn fan_out(workers: usize) -> Case {
    let (children, work) = (64, 20_000.0);
    let model = FanOut { workers, children, work, shots: 5 };
    let shot = move |pool: &Pool| {
        thread::sleep(PAUSE);
        let (inside, (send, receive)) = (pool.handle(), std::sync::mpsc::channel());
        pool.execute(move || {
            let begun = Instant::now();
            for _ in 0..children {
                inside.execute(move || {
                    let child = Instant::now();
                    while (child.elapsed().as_nanos() as f64) < work {}
                });
            }
            let _ = send.send(begun);
        });
        pool.wait_idle();
        receive.recv().map_or(0.0, |begun| begun.elapsed().as_secs_f64())
    };
    Case {
        name: format!("fan-out to {children} children of 20 µs, {workers} workers"),
        workers,
        place: Place::Apart,
        model: Box::new(move |setting, cpus| model.run(setting, cpus).time),
        real: Box::new(move |pool| median((0..5).map(|_| shot(pool)).collect())),
    }
}

fn wake(workers: usize) -> Case {
    let model = Wake { workers, shots: 15 };
    let shot = |pool: &Pool| {
        thread::sleep(PAUSE);
        let (begun, took) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let inside = took.clone();
        pool.execute(move || inside.store(begun.elapsed().as_nanos() as u64, Ordering::Release));
        thread::sleep(MEANWHILE);
        pool.wait_idle();
        took.load(Ordering::Acquire) as f64 / 1e9
    };
    Case {
        name: format!("wake of one of {workers} workers"),
        workers,
        // Only one worker is woken.
        place: Place::Beside,
        model: Box::new(move |setting, cpus| model.run(setting, cpus).time),
        real: Box::new(move |pool| median((0..15).map(|_| shot(pool)).collect())),
    }
}

impl Case {
    /// Seconds of the second best of [`RUNS`] runs, each on a fresh pool.
    fn measure(&self) -> Result<f64> {
        let real = &self.real;
        let run = |_| self.place.with_pool(self.workers, |pool| real(pool));
        let runs = (0..RUNS).map(run).collect::<Result<_>>()?;
        Ok(quantile(&sorted(runs), 2.0 / RUNS as f64))
    }
}

/// Whether the machine was the same before and after: on some a transfer has two values, and changes between them within seconds; a
/// wake-up takes longer while another program has the CPU.
fn is_steady(before: &Costs, after: &Costs) -> bool {
    let costs = [(before.transfer, after.transfer), (before.wake, after.wake)];
    costs.iter().all(|(before, after)| (before / after - 1.0).abs() <= TOLERANCE)
}

/// Compares them in so many rounds. In each the workload runs between two measurements of the costs, and the model's number is the mean
/// for these. A round between costs that differ says nothing, and is made again.
pub(crate) fn run(rounds: usize, seed: u64) -> Result<()> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut cases = vec![throughput(1, 64, 1_000), throughput(1, 20_000, 1), fan_out(1), wake(1)];
    if cpus > 1 {
        cases.extend([throughput(2, 64, 1_000), fan_out(2), wake(2)]);
    }
    println!("{:>12}{:>12}  {:<22}", "model", "measured", "ratio (min, max)");
    let mut far = Vec::new();
    for case in cases {
        // These runs warm up.
        case.measure()?;
        let (mut models, mut reals, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = Costs::measure()?;
        for round in 0..ATTEMPTS * rounds {
            if ratios.len() == rounds {
                break;
            }
            let (real, after) = (case.measure()?, Costs::measure()?);
            if is_steady(&before, &after) {
                let said = [&before, &after].map(|costs| {
                    let (costs, seed) = (costs.clone(), seed + 1 + round as u64);
                    (case.model)(&Setting { costs, group: usize::MAX, seed }, cpus)
                });
                let model = said[0].midpoint(said[1]);
                models.push(model);
                reals.push(real);
                ratios.push(model / real);
            }
            before = after;
        }
        let (name, ratios) = (case.name, sorted(ratios));
        let ([least, .., most] | [least @ most]) = &ratios[..] else {
            far.push(format!("no round of {name} was steady"));
            continue;
        };
        let ratio = middle(ratios.clone());
        let [model, real] = [models, reals].map(|times| short(middle(times), "s"));
        println!("{model:>12}{real:>12}  {ratio:.2} ({least:.2}, {most:.2})     {name}");
        if (ratio - 1.0).abs() > TOLERANCE {
            far.push(name);
        }
    }
    if !far.is_empty() {
        bail!("the model differs by more than 20 %: {}", far.join("; "));
    }
    println!("The model is within 20 % of what was measured.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Costs, is_steady};

    #[test]
    fn costs_of_another_value_are_another_machine() {
        let wake = |wake| Costs { wake, ..Costs::RECORDED };
        assert!(is_steady(&wake(14_000.0), &wake(14_900.0)));
        assert!(!is_steady(&wake(14_000.0), &wake(34_000.0)));
        let transfer = |transfer| Costs { transfer, ..Costs::RECORDED };
        assert!(is_steady(&transfer(19.0), &transfer(17.4)));
        assert!(!is_steady(&transfer(19.0), &transfer(77.0)));
        assert!(!is_steady(&transfer(77.0), &transfer(19.0)));
    }
}
