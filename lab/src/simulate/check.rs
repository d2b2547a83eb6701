//! The model beside the real pool, on as many cores as there are here.

use super::costs::Costs;
use super::workloads::{self, Setting};
use crate::census::Census;
use crate::machine;
use crate::pins::Pin;
use crate::report::{quantity, write_line};
use crate::rounds::Rules;
use crate::row::Row;
use crate::stats::{middle, quantile, sorted};
use crate::stop::Stop;
use crate::workload::{Direction, Terms, line};
use crate::workloads::fan_out::FanOut;
use crate::workloads::throughput::Throughput;
use crate::workloads::wake::{Then, Wake};

/// By how much the model may differ.
const TOLERANCE: f64 = 0.2;

/// Runs of the real pool in a round. They are short, and the second best counts: costs, too, are measured where nothing disturbs.
const RUNS: usize = 20;

/// Attempts at each round.
const ATTEMPTS: u64 = 4;

/// What the model says on so many CPUs.
type Model = Box<dyn Fn(&Setting, usize) -> f64>;

/// A real row, and what the model says of its first metric.
struct Case {
    row: Box<dyn Row>,
    /// Where its threads are: each that has something to do at a time on a CPU of its own, as in the model.
    pin: Pin,
    model: Model,
}

fn throughput(threads: u64, messages: u64, amplification: u64) -> Case {
    let row = Throughput { threads, producers: 1, messages, amplification, pre: 0, post: 0 };
    let model = workloads::Throughput {
        workers: threads as usize,
        producers: 1,
        messages,
        amplification: amplification as u32,
        pre: 0.0,
        post: 0.0,
    };
    let model = move |setting: &Setting, cpus| model.jobs() as f64 / model.run(setting, cpus).time;
    Case { row: Box::new(row), pin: Pin::Apart, model: Box::new(model) }
}

fn fan_out(threads: u64) -> Case {
    let (children, work_us) = (64, 20);
    let model = workloads::FanOut {
        workers: threads as usize,
        children,
        work: 1e3 * work_us as f64,
        shots: 5,
    };
    let row = FanOut { threads, children: children.into(), work_us, shots: 5 };
    let model = move |setting: &Setting, cpus| model.run(setting, cpus).time;
    Case { row: Box::new(row), pin: Pin::Apart, model: Box::new(model) }
}

fn wake(threads: u64) -> Case {
    let model = workloads::Wake { workers: threads as usize, shots: 15 };
    let row = Wake { threads, shots: 15, rate: None, then: Then::Sleep, work_us: 0 };
    let model = move |setting: &Setting, cpus| model.run(setting, cpus).time;
    // Only one worker is woken.
    Case { row: Box::new(row), pin: Pin::Beside, model: Box::new(model) }
}

/// The second best of [`RUNS`] values.
fn second_best(values: Vec<f64>, direction: Direction) -> f64 {
    quantile(&sorted(values), if direction == Direction::Higher { 0.95 } else { 0.1 })
}

/// Whether the machine was the same before and after: on some a transfer has two values, and changes between them within seconds; a
/// wake-up takes longer while another program has the CPU.
fn is_steady(before: &Costs, after: &Costs) -> bool {
    let costs = [(before.transfer, after.transfer), (before.wake, after.wake)];
    costs.iter().all(|(before, after)| (before / after - 1.0).abs() <= TOLERANCE)
}

/// Compares them in so many rounds. In each the row runs between two measurements of the costs, and the model's number is the mean for
/// these. A round between costs that differ says nothing, and is made again.
pub(super) fn run(rules: &Rules, seed: u64) -> Result<(), Stop> {
    let cpus = machine::cpus();
    let mut cases = vec![throughput(1, 64, 1_000), throughput(1, 20_000, 1), fan_out(1), wake(1)];
    if cpus > 1 {
        cases.extend([throughput(2, 64, 1_000), fan_out(2), wake(2)]);
    }
    write_line(&format!("{:>12}{:>12}  {:<22}", "model", "measured", "ratio (min, max)"))?;
    let mut far = Vec::new();
    for Case { row, pin, model } in cases {
        let Some(target) = row.targets().into_iter().find(|target| target.name == "brigade") else {
            continue;
        };
        let metric = &row.metrics()[0];
        let terms = Terms { pin: Census::POSSIBLE.then_some(pin), ..rules.terms(target) };
        let real = || {
            let runs: Result<Vec<_>, _> = (0..RUNS).map(|_| row.run(target, terms)).collect();
            let runs =
                runs.map_err(|failure| Stop::Failed(format!("{}: {failure}", row.name())))?;
            let runs = runs.iter().map(|values| values[0]).collect();
            Ok::<_, Stop>(second_best(runs, metric.direction))
        };
        // These runs warm up.
        real()?;
        let (mut models, mut reals, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = Costs::measure()?;
        for round in 1..=ATTEMPTS * rules.rounds {
            if ratios.len() as u64 == rules.rounds {
                break;
            }
            let (real, after) = (real()?, Costs::measure()?);
            if is_steady(&before, &after) {
                let said = [&before, &after].map(|costs| {
                    let (costs, seed) = (costs.clone(), seed + round);
                    model(&Setting { costs, group: usize::MAX, seed }, cpus)
                });
                let model = said[0].midpoint(said[1]);
                models.push(model);
                reals.push(real);
                ratios.push(model / real);
            }
            before = after;
        }
        let name = format!("{} {}", row.name(), line(&row.params()));
        let ratios = sorted(ratios);
        let (Some(ratio), [least, .., most] | [least @ most]) = (middle(&ratios), &ratios[..])
        else {
            far.push(format!("no round of {name} was steady"));
            continue;
        };
        let [model, real] = [models, reals].map(|values| middle(&values).unwrap_or_default());
        let [model, real] = [model, real].map(|value| quantity::short(value, metric.unit));
        write_line(&format!(
            "{model:>12}{real:>12}  {ratio:.2} ({least:.2}, {most:.2})     {name}"
        ))?;
        if (ratio - 1.0).abs() > TOLERANCE {
            far.push(name);
        }
    }
    match far.is_empty() {
        true => write_line("The model is within 20 % of what was measured."),
        false => {
            Err(Stop::Failed(format!("the model differs by more than 20 %: {}", far.join("; "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Costs, RUNS, is_steady, second_best};
    use crate::workload::Direction;

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

    #[test]
    fn the_second_best_is_the_second_whichever_way_is_better() {
        let values: Vec<_> = (1..=RUNS).map(|value| value as f64).collect();
        assert_eq!(second_best(values.clone(), Direction::Lower), 2.0);
        assert_eq!(second_best(values, Direction::Higher), RUNS as f64 - 1.0);
    }
}
