//! What has become faster or slower between two result files, beyond the noise of their rounds.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::limits::MAX_ROUNDS;
use crate::machine::Machine;
use crate::recorded::{Recorded, is_peer};
use crate::report::destination::path;
use crate::report::quantity;
use crate::report::speedup::{ROUNDS, Speedup, Verdict, pairs};
use crate::report::write_line;
use crate::schema::Outcome;
use crate::stats::middle;
use crate::stop::{Stop, printable};
use crate::workload::{self, Direction, Params};

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// The old result file and the new one, as `--json` writes them. Further pairs have further rounds.
    #[arg(value_names = ["OLD", "NEW"], num_args = 2.., required = true, value_parser = path())]
    files: Vec<PathBuf>,
    /// Fail if anything is slower by more than this beyond the noise (the whole interval is), or if a target that is no peer has
    /// failed or is missing.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_above: Option<f64>,
}

/// Reads a percentage, such as the value of `--fail-above`, as a share.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let number = number.ok().filter(|number| (0.0..=1000.0).contains(number));
    number.map(|number| number / 100.0).ok_or_else(|| "must be from 0% to 1000%".to_owned())
}

/// What a value is of: a metric of a target in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The workload with its options.
    row: String,
    /// The target.
    target: String,
    /// The metric.
    metric: String,
    /// Its unit.
    unit: String,
    /// Which way is better.
    direction: Direction,
}

/// A result file.
struct File {
    /// The machine.
    machine: Machine,
    /// The samples by what they are of, and whether that is a peer's.
    results: Vec<(Key, bool, Vec<f64>)>,
    /// Targets that are no peers and have no number.
    failed: Vec<String>,
}

/// The rounds of a metric, each with the new value and the old one, and what they come to.
struct Series {
    /// What the values are of.
    key: Key,
    /// The values.
    rounds: Vec<(f64, f64)>,
    /// What they come to, once all rounds are there, if they can be compared.
    speedup: Option<Speedup>,
}

/// Everything that both files of a pair have, in the order of the files.
#[derive(Default)]
struct Comparison {
    /// Each metric.
    all: Vec<Series>,
    /// Where in that a metric is.
    index: HashMap<Key, usize>,
    /// Metrics that one file of a pair has and the other has not.
    alone: usize,
    /// What the new file of a pair has lost, in words: of targets that are no peers.
    lost: Vec<String>,
    /// Whether the machines or their settings differ.
    moved: bool,
}

impl Compare {
    /// Prints what differs, or everything; an error if something is worse by more than is allowed.
    pub(crate) fn run(&self, is_verbose: bool, is_quiet: bool) -> Result<(), Stop> {
        let mut comparison = Comparison::default();
        for pair in self.files.chunks(2) {
            let [old, new] = pair else {
                return Err(Stop::Usage("each old result file needs a new one".to_owned()));
            };
            comparison.add(&file(old)?, file(new)?);
        }
        if comparison.all.is_empty() {
            return Err(Stop::Usage("the files have no workload and target in common".to_owned()));
        }
        for Series { key, rounds, speedup } in &mut comparison.all {
            if rounds.len() as u64 > MAX_ROUNDS {
                let reason = format!("{} has more than {MAX_ROUNDS} rounds in all", key.text());
                return Err(Stop::Usage(reason));
            }
            *speedup = Speedup::of(rounds, key.direction, &key.unit);
        }
        if !is_quiet {
            write_line(&(comparison.table(is_verbose) + "\n" + &comparison.notes().join("\n")))?;
        }
        self.fail_above.map_or(Ok(()), |bound| comparison.gate(bound))
    }
}

/// Reads a result file, in which nothing may stand twice.
fn file(path: &Path) -> Result<File, Stop> {
    let Recorded { machine, results, failures, .. } = Recorded::read(path)?;
    let result = |of: Outcome| (Key::of(&of), is_peer(of.peer, &of.target), of.samples.0);
    let results: Vec<_> = results.into_iter().map(result).collect();
    let failed =
        failures.iter().filter(|failure| !is_peer(failure.peer, &failure.target)).map(|of| {
            let row = row(&of.workload, &of.params);
            printable(&format!("{} in {row}: {}", of.target, of.reason))
        });
    let mut known = HashSet::new();
    match results.iter().find(|(key, ..)| !known.insert(key)) {
        Some((key, ..)) => Err(Stop::Usage(format!("{} has {} twice", path.display(), key.text()))),
        None => Ok(File { machine, failed: failed.collect(), results }),
    }
}

/// A workload with its options.
fn row(workload: &str, params: &Params) -> String {
    format!("{workload} {}", workload::line(params)).trim_end().to_owned()
}

impl Key {
    /// What this result is of, with no character that a terminal would interpret.
    fn of(result: &Outcome) -> Self {
        let row = row(&result.workload, &result.params);
        let [row, target, metric, unit] = [&row, &result.target, &result.metric, &result.unit]
            .map(|text| printable(text.trim_end()));
        Key { row, target, metric, unit, direction: result.direction }
    }

    /// It in words.
    fn text(&self) -> String {
        format!("{} of {} in {}", self.metric, self.target, self.row)
    }
}

impl Series {
    /// The verdict, if there is one.
    fn verdict(&self) -> Option<Verdict> {
        self.speedup.map(|speedup| speedup.verdict)
    }

    /// Its line of the table.
    fn line(&self) -> String {
        let Series { key, rounds, speedup } = self;
        let median = |side: fn(&(f64, f64)) -> f64| {
            let value = middle(&rounds.iter().map(side).collect::<Vec<_>>());
            value.map_or_else(|| "–".to_owned(), |value| quantity::short(value, &key.unit))
        };
        let [old, new] = [median(|round| round.1), median(|round| round.0)];
        let ratio = speedup.map_or_else(|| "–".to_owned(), |speedup| speedup.text());
        let word = self.verdict().map_or("nothing to compare", |verdict| verdict.word(&key.unit));
        let Key { target, metric, .. } = key;
        format!("  {target:<27}{metric:<15}{old:>12}{new:>12}  {ratio:<22}{word}\n")
    }
}

impl Comparison {
    /// Adds the rounds that both files have.
    fn add(&mut self, old: &File, new: File) {
        self.moved |= setting(&old.machine) != setting(&new.machine);
        let known: HashSet<_> = new.results.iter().map(|(key, ..)| key).collect();
        let missing =
            old.results.iter().filter(|(key, is_peer, _)| !is_peer && !known.contains(key));
        self.lost.extend(missing.map(|(key, ..)| key.text()));
        self.lost.extend(new.failed);
        let by_key: HashMap<_, _> = old.results.iter().map(|(key, _, of)| (key, of)).collect();
        let (of_both, of_new): (Vec<_>, Vec<_>) =
            new.results.into_iter().partition(|(key, ..)| by_key.contains_key(key));
        self.alone += of_new.len() + old.results.len() - of_both.len();
        for (key, _, samples) in of_both {
            let rounds = pairs(&samples, by_key[&key]);
            let place = *self.index.entry(key.clone()).or_insert(self.all.len());
            if place == self.all.len() {
                self.all.push(Series { key, rounds: Vec::new(), speedup: None });
            }
            self.all[place].rounds.extend(rounds);
        }
    }

    /// What differs, or everything, in a block for each row.
    fn table(&self, is_verbose: bool) -> String {
        let (mut text, mut row) = (String::new(), "");
        let differs = |verdict| matches!(verdict, Some(Verdict::Better | Verdict::Worse));
        for series in self.all.iter().filter(|series| is_verbose || differs(series.verdict())) {
            if row != series.key.row {
                row = &series.key.row;
                let [target, metric, old, new] = ["target", "metric", "old", "new"];
                text += &format!("\n{row}\n  {target:<27}{metric:<15}{old:>12}{new:>12}");
                text += "  speed-up (95 %)\n";
            }
            text += &series.line();
        }
        text
    }

    /// What it comes to, and what there is to doubt.
    fn notes(&self) -> Vec<String> {
        let count = |verdict| self.all.iter().filter(|series| series.verdict() == verdict).count();
        let [better, worse, same, unclear, few] =
            [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Unclear, Verdict::TooFew]
                .map(|verdict| count(Some(verdict)));
        let notes = [
            (few, format!("too few rounds to tell in {few}: it takes {ROUNDS} or more")),
            (count(None), format!("nothing to compare in {}: near 0, or no number", count(None))),
            (self.alone, format!("{} only in one of two files", self.alone)),
            (
                self.moved.into(),
                "the machines, their kernels or the settings differ: that may be all".to_owned(),
            ),
        ];
        let notes = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note);
        let unclear = if unclear > 0 { format!(", unclear in {unclear}") } else { String::new() };
        let first =
            format!("faster in {better}, slower in {worse}, no difference in {same}{unclear}");
        [first].into_iter().chain(notes).collect()
    }

    /// An error if something is lost, or worse by more than `bound` with the whole interval, or if nothing can be told.
    fn gate(&self, bound: f64) -> Result<(), Stop> {
        if !self.lost.is_empty() {
            return Err(Stop::Failed(format!("without a number now: {}", self.lost.join("; "))));
        }
        if self.all.iter().all(|series| matches!(series.verdict(), None | Some(Verdict::TooFew))) {
            let reason = format!("--fail-above can't tell: nothing has {ROUNDS} rounds to compare");
            return Err(Stop::Usage(reason));
        }
        let is_over = |speedup: &Speedup| {
            speedup.verdict == Verdict::Worse && speedup.high < 1.0 / (1.0 + bound)
        };
        let failed = self.all.iter().filter_map(|series| {
            let speedup = series.speedup.filter(is_over)?;
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

/// What must be the same for two files to be comparable.
fn setting(machine: &Machine) -> (usize, &str, &str, &str, bool, u64, Option<&str>) {
    let Machine { cpus, cpu_model, kernel, arch, debug, hogs, pin, .. } = machine;
    (*cpus, cpu_model, kernel, arch, *debug, *hogs, pin.as_deref())
}
