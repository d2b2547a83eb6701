//! The speed-ups and slow-downs between two result files, beyond the noise of their rounds.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;

use crate::machine::Machine;
use crate::report::quantity;
use crate::report::results::Results;
use crate::report::speedup::{ROUNDS, Speedup, Verdict, counted, pairs};
use crate::report::write_line;
use crate::stats::middle;
use crate::stop::Stop;
use crate::workload::Metric;

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// The old and the new result file, as `--json` writes them. Further pairs have further rounds.
    #[arg(value_names = ["OLD", "NEW"], num_args = 2.., required = true)]
    files: Vec<PathBuf>,
    /// Fail if anything is slower by more than this beyond the noise (the whole interval is), or if a target has failed or is
    /// missing, peers excepted.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_above: Option<f64>,
    /// Take each file for a single round with the median of its rounds as the value, and compare the main metric of a row and the
    /// CPU time of the runs alone.
    #[arg(long, requires = "fail_above")]
    processes: bool,
}

/// Reads a percentage, such as the value of `--fail-above`, as a share.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let number = number.ok().filter(|number| (0.0..=1000.0).contains(number));
    number.map(|number| number / 100.0).ok_or_else(|| "must be from 0% to 1000%".to_owned())
}

/// The origin of a value: a metric of a target in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The workload with the options.
    row: String,
    /// The target.
    target: String,
    /// The metric.
    metric: Metric,
}

/// The rounds of a metric, each with the new and the old value, and the result of all.
struct Series {
    /// The origin of the values.
    key: Key,
    /// The values.
    rounds: Vec<(f64, f64)>,
    /// The result, once all rounds are there, if they can be compared.
    speedup: Option<Speedup>,
}

/// The values common to both files of a pair, in the order of the files.
#[derive(Default)]
struct Comparison {
    /// Each metric.
    all: Vec<Series>,
    /// The index of a metric there.
    index: HashMap<Key, usize>,
    /// Metrics in only one file of a pair.
    alone: usize,
    /// The losses of the new file of a pair, in words, peers excepted.
    lost: Vec<String>,
    /// Whether the machines or their settings differ.
    moved: bool,
    /// With `--processes`: by how much a series may be worse.
    bound: Option<f64>,
}

impl Compare {
    /// Prints the differences, or everything; an error if a value is worse by more than is allowed.
    pub(crate) fn run(&self, is_verbose: bool, is_quiet: bool) -> Result<(), Stop> {
        let bound = self.fail_above.filter(|_| self.processes);
        let mut comparison = Comparison { bound, ..Comparison::default() };
        for pair in self.files.chunks(2) {
            let [old, new] = pair else {
                return Err(Stop::Usage("each old result file needs a new one".to_owned()));
            };
            comparison.add(&Results::read(old)?, &Results::read(new)?);
        }
        let reason = "the files have no workload and target in common";
        Stop::usage_if(comparison.all.is_empty(), reason)?;
        for Series { key, rounds, speedup } in &mut comparison.all {
            *speedup = Speedup::of(rounds, key.metric.direction, &key.metric.unit);
        }
        if !is_quiet {
            write_line(&(comparison.table(is_verbose) + "\n" + &comparison.notes()))?;
        }
        self.fail_above.map_or(Ok(()), |bound| comparison.gate(bound))
    }
}

/// The rounds of a file by their origin, and whether it is a peer's. With the file as a single round: of each row the main metric, and
/// the CPU time of a run.
fn rounds(file: &Results, is_one: bool) -> Vec<(Key, bool, Vec<f64>)> {
    let mut all = Vec::new();
    for (sheet, lane) in file.lanes() {
        let mut add = |metric: &Metric, rounds: Vec<f64>| {
            let (row, target, metric) = (sheet.row(), lane.name.clone(), metric.clone());
            if rounds.iter().any(|value| !value.is_nan()) {
                all.push((Key { row, target, metric }, lane.is_peer, rounds));
            }
        };
        if is_one {
            let main = sheet.headline;
            add(&sheet.metrics[main], lane.median(main).into_iter().collect());
            let spent: Vec<_> = lane.spent.iter().map(|spent| spent.usage.cpu()).collect();
            add(&Metric::less("CPU time", "s"), middle(&spent).into_iter().collect());
        } else {
            let metrics = sheet.metrics.iter().enumerate();
            metrics.for_each(|(index, metric)| add(metric, lane.rounds(index).to_vec()));
        }
    }
    all
}

impl Key {
    /// It in words.
    fn text(&self) -> String {
        format!("{} of {} in {}", self.metric.name, self.target, self.row)
    }
}

impl Series {
    /// The verdict, if any.
    fn verdict(&self) -> Option<Verdict> {
        self.speedup.map(|speedup| speedup.verdict)
    }

    /// The line in the table.
    fn line(&self, bound: Option<f64>) -> String {
        let Series { key: Key { target, metric, .. }, rounds, speedup } = self;
        let (new, old): (Vec<_>, Vec<_>) = rounds.iter().copied().unzip();
        let [old, new] = [old, new].map(|side| quantity::known(middle(&side), &metric.unit));
        let ratio = speedup.map_or_else(|| "–".to_owned(), |speedup| speedup.text());
        let word = match (speedup, bound) {
            (None, _) => "nothing to compare",
            (Some(speedup), None) => speedup.verdict.word(&metric.unit),
            (Some(speedup), Some(bound)) => speedup.beyond(bound),
        };
        let metric = &metric.name;
        format!("  {target:<27}{metric:<15}{old:>12}{new:>12}  {ratio:<22}{word}\n")
    }
}

impl Comparison {
    /// Adds the rounds common to both files.
    fn add(&mut self, old: &Results, new: &Results) {
        self.moved |= setting(&old.machine) != setting(&new.machine);
        let of = |file| rounds(file, self.bound.is_some());
        let (old_rounds, new_rounds) = (of(old), of(new));
        let mut before: HashMap<_, _> =
            old_rounds.iter().map(|(key, _, rounds)| (key.clone(), rounds)).collect();
        for (key, _, rounds) in new_rounds {
            let Some(earlier) = before.remove(&key) else {
                self.alone += 1;
                continue;
            };
            let place = *self.index.entry(key.clone()).or_insert(self.all.len());
            if place == self.all.len() {
                self.all.push(Series { key, rounds: Vec::new(), speedup: None });
            }
            self.all[place].rounds.extend(pairs(&rounds, earlier));
        }
        self.alone += before.len();
        let missing = old_rounds.iter().filter(|(key, peer, _)| !peer && before.contains_key(key));
        self.lost.extend(missing.map(|(key, ..)| key.text()));
        let failed = new.failures().filter(|(_, lane, _)| !lane.is_peer);
        self.lost.extend(
            failed.map(|(sheet, lane, why)| format!("{} in {}: {why}", lane.name, sheet.row())),
        );
    }

    /// The differences, or everything, in a block for each row.
    fn table(&self, is_verbose: bool) -> String {
        let (mut text, mut row) = (String::new(), "");
        let differs = |verdict| matches!(verdict, Some(Verdict::Better | Verdict::Worse));
        let is_shown = |verdict| is_verbose || self.bound.is_some() || differs(verdict);
        for series in self.all.iter().filter(|series| is_shown(series.verdict())) {
            if row != series.key.row {
                row = &series.key.row;
                let [target, metric, old, new] = ["target", "metric", "old", "new"];
                text += &format!("\n{row}\n  {target:<27}{metric:<15}{old:>12}{new:>12}");
                text += "  speed-up (95 %)\n";
            }
            text += &series.line(self.bound);
        }
        text
    }

    /// The conclusion, and any doubts.
    fn notes(&self) -> String {
        let moved = "the machines, their kernels or the settings differ: that may be all";
        let notes = [
            self.bound.is_none().then(|| counted(self.all.iter().map(Series::verdict))),
            (self.alone > 0).then(|| format!("{} only in one of two files", self.alone)),
            self.moved.then(|| moved.to_owned()),
        ];
        notes.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// An error if something is lost, or worse by more than `bound` with the whole interval, or if nothing can be told.
    fn gate(&self, bound: f64) -> Result<(), Stop> {
        if !self.lost.is_empty() {
            return Err(Stop::Failed(format!("without a number now: {}", self.lost.join("; "))));
        }
        let is_few = |series: &Series| matches!(series.verdict(), None | Some(Verdict::TooFew));
        let reason = format!("--fail-above can't tell: nothing has {ROUNDS} rounds to compare");
        Stop::usage_if(self.all.iter().all(is_few), reason)?;
        let failed = self.all.iter().filter_map(|series| {
            let speedup = series.speedup.filter(|speedup| speedup.is_worse(bound))?;
            Some(format!("{}, speed-up {}", series.key.text(), speedup.text()))
        });
        let failed: Vec<_> = failed.collect();
        if failed.is_empty() {
            return Ok(());
        }
        let (count, all, percent) = (failed.len(), self.all.len(), bound * 100.0);
        let what = failed.join("; ");
        Err(Stop::Failed(format!(
            "{count} of {all} slower by more than {percent}% beyond the noise: {what}"
        )))
    }
}

/// The settings that two comparable files must share.
fn setting(machine: &Machine) -> (usize, &str, &str, &str, bool, u64, Option<&str>) {
    let Machine { cpus, cpu_model, kernel, arch, debug, hogs, pin, .. } = machine;
    (*cpus, cpu_model, kernel, arch, *debug, *hogs, pin.as_deref())
}
