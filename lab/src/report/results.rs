//! The measurements so far, and the result file with them.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use indicatif::HumanCount;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::speedup::{Speedup, pairs};
use crate::limits::MAX_ROUNDS;
use crate::machine::Machine;
use crate::noise::{Record, Span};
use crate::stats::{Numbers, middle};
use crate::stop::Stop;
use crate::target::{Class, Entry};
use crate::targets;
use crate::usage::Spent;
use crate::workload::{self, Metric, Params};

/// The version of the result file. A reader of another version must not guess.
pub(crate) const SCHEMA: u32 = 2;

/// Bytes of a result file at most: a thousand rounds of everything on every target have less than half of that.
const LONGEST: u64 = 64 << 20;

/// The part of the file read first.
#[derive(Deserialize)]
struct Version {
    /// See [`SCHEMA`].
    schema: u32,
}

/// Everything measured so far, as the result file has it.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Results {
    /// See [`SCHEMA`].
    pub(crate) schema: u32,
    /// Whether it has everything that was asked for.
    pub(crate) complete: bool,
    /// The measuring machine.
    pub(crate) machine: Machine,
    /// Other work of the machine.
    #[serde(default)]
    pub(crate) noise: Record,
    /// A sheet per row.
    pub(crate) sheets: Vec<Sheet>,
}

/// A row: a workload with options, as it is measured or as a result file has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Sheet {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The action, as the beginning of a sentence.
    pub(crate) done: String,
    /// A sentence: which programs look like it.
    pub(crate) like: String,
    /// The target that the others are compared with, by name, or the first of several by the beginning of a name.
    pub(crate) own: String,
    /// Whether it is the user's own: each target is compared, and the failure of any fails the run.
    #[serde(rename = "yours")]
    pub(crate) is_yours: bool,
    /// The metric to compare if there is to be a single one.
    pub(crate) headline: usize,
    /// The options.
    #[serde(deserialize_with = "distinct")]
    pub(crate) params: Params,
    /// The metrics of each run.
    pub(crate) metrics: Vec<Metric>,
    /// A line for the reader of the table.
    pub(crate) note: Option<String>,
    /// The objections to other work of the machine.
    pub(crate) noise: Option<String>,
    /// The machine's work meanwhile, once the row has ended.
    pub(crate) meanwhile: Option<Span>,
    /// A lane per target.
    pub(crate) lanes: Vec<Lane>,
}

/// A target in a row.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Lane {
    /// The name of the target.
    pub(crate) name: String,
    /// Whether brigade is compared with it.
    #[serde(rename = "peer")]
    pub(crate) is_peer: bool,
    /// Which targets it is compared with.
    #[serde(skip)]
    pub(crate) class: Class,
    /// The median of each metric, for other readers of the file.
    #[serde(skip_deserializing)]
    pub(crate) medians: Vec<Option<f64>>,
    /// The values of the rounds, in order, of each metric.
    #[serde(default, deserialize_with = "numbers")]
    pub(crate) values: Vec<Vec<f64>>,
    /// The total cost of each of these runs.
    #[serde(default)]
    pub(crate) spent: Vec<Spent>,
    /// Why there is no number.
    pub(crate) failure: Option<String>,
}

/// Reads options by name, none of which may stand twice.
fn distinct<'de, D: Deserializer<'de>>(file: D) -> Result<Params, D::Error> {
    struct Options;
    impl<'de> Visitor<'de> for Options {
        type Value = Params;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("options by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
            let mut params = Params::new();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if params.insert(name.clone(), value).is_some() {
                    return Err(Error::custom(format!("duplicate option `{name}`")));
                }
            }
            Ok(params)
        }
    }
    file.deserialize_map(Options)
}

/// Reads the rounds of each metric.
fn numbers<'de, D: Deserializer<'de>>(file: D) -> Result<Vec<Vec<f64>>, D::Error> {
    Ok(Vec::<Numbers>::deserialize(file)?.into_iter().map(|numbers| numbers.0).collect())
}

impl Lane {
    /// How many single values are behind the percentiles of all rounds together.
    pub(crate) fn values_behind(&self) -> u64 {
        // Even of a file with arbitrary content.
        self.spent.iter().map(|spent| spent.count).fold(0, u64::saturating_add)
    }

    /// A target without a number yet.
    pub(crate) fn new(name: &str, is_peer: bool, class: Class) -> Self {
        Lane { name: name.to_owned(), is_peer, class, ..Lane::default() }
    }

    /// The values of a metric in the rounds. None at all if the target failed: a number from a target that loses tasks is
    /// worthless. A value the system does not tell is NaN.
    pub(crate) fn rounds(&self, metric: usize) -> &[f64] {
        let valid = self.values.get(metric).filter(|_| self.failure.is_none());
        valid.map(Vec::as_slice).unwrap_or_default()
    }

    /// The median of a metric over the rounds, if any.
    pub(crate) fn median(&self, metric: usize) -> Option<f64> {
        middle(&self.samples(metric))
    }

    /// The numbers among them.
    pub(crate) fn samples(&self, metric: usize) -> Vec<f64> {
        self.rounds(metric).iter().copied().filter(|value| !value.is_nan()).collect()
    }
}

/// Single values that must lie beyond a percentile: the position of fewer is chance. Each round must have one of them, as a
/// percentile is computed in each round.
pub(crate) const BEYOND: f64 = 10.0;

impl Sheet {
    /// How many times as good `ours` is as `theirs` by this metric, if known.
    pub(crate) fn speedup(&self, metric: usize, ours: &Lane, theirs: &Lane) -> Option<Speedup> {
        let rounds: Vec<_> = pairs(ours.rounds(metric), theirs.rounds(metric)).collect();
        let Metric { direction, unit, .. } = &self.metrics[metric];
        Speedup::of(&rounds, *direction, unit)
    }

    /// How many single values are behind the percentiles of a target, in words, if known.
    pub(crate) fn values_behind(&self) -> Option<String> {
        let counts = self.lanes.iter().filter(|lane| lane.failure.is_none());
        let counts: Vec<_> = counts.map(Lane::values_behind).filter(|count| *count > 0).collect();
        let (least, most) = (counts.iter().min()?, counts.iter().max()?);
        let to = if least == most { String::new() } else { format!(" to {}", HumanCount(*most)) };
        Some(format!("of {}{to} values", HumanCount(*least)))
    }

    /// Why this metric is not shown, if it is a percentile near an end, and less than ten of the single values of some lane with a
    /// number are beyond it, or none of the values of a round.
    pub(crate) fn lacking(&self, metric: usize) -> Option<String> {
        let beyond = self.metrics[metric].tail()?;
        let lanes = || self.lanes.iter().filter(|lane| !lane.samples(metric).is_empty());
        // A run in another process does not say how many there were.
        let few = |counts: Vec<u64>, beyond_it: f64, which: &str| {
            let least = counts.into_iter().filter(|count| *count > 0).min()?;
            let needed = (beyond_it / beyond).round() as u64;
            (least < needed)
                .then(|| format!("{least} values{which} are too few: it takes {needed}"))
        };
        let rounds = lanes().flat_map(|lane| lane.spent.iter().map(|spent| spent.count));
        few(lanes().map(Lane::values_behind).collect(), BEYOND, "")
            .or_else(|| few(rounds.collect(), 1.0, " of a round"))
    }

    /// The same row with these targets, none of which has a number yet.
    pub(crate) fn on(&self, targets: &[&Entry]) -> Self {
        let lane = |target: &&Entry| Lane::new(target.name, target.is_peer, target.class);
        Sheet { lanes: targets.iter().map(lane).collect(), ..self.clone() }
    }

    /// The workload with the options.
    pub(crate) fn row(&self) -> String {
        format!("{} {}", self.workload, workload::line(&self.params)).trim_end().to_owned()
    }

    /// Whether the others are compared with this lane, in any configuration.
    pub(crate) fn is_own(&self, lane: &Lane) -> bool {
        let rest = lane.name.strip_prefix(&*self.own);
        let is_one = |rest: &str| !lane.is_peer && (rest.is_empty() || rest.starts_with('-'));
        if self.is_yours { rest == Some("") } else { rest.is_some_and(is_one) }
    }

    /// The lane with the best median among these.
    pub(crate) fn best(&self, metric: usize, is_one: impl Fn(&Lane) -> bool) -> Option<&Lane> {
        let lanes = self.lanes.iter().filter(|lane| is_one(lane));
        let medians = lanes.filter_map(|lane| Some((lane.median(metric)?, lane)));
        let direction = self.metrics[metric].direction;
        medians.min_by(|one, other| direction.order(one.0, other.0)).map(|(_, lane)| lane)
    }

    /// The CPU time, which stands beside every other metric as a column, where there is CPU time.
    pub(crate) fn cpu(&self) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == Metric::CPU.name)
    }

    /// The other metrics, each with the index in the rounds.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (usize, &Metric)> {
        let cpu = self.cpu();
        self.metrics.iter().enumerate().filter(move |(index, _)| Some(*index) != cpu)
    }

    /// The options in which it differs from others of the workload.
    pub(crate) fn differences(&self, sheets: &[Sheet]) -> String {
        let others: Vec<_> =
            sheets.iter().filter(|other| other.workload == self.workload).collect();
        let differs =
            |name: &str| others.iter().any(|other| other.params.get(name) != self.params.get(name));
        let params = self.params.iter().filter(|(name, _)| differs(name));
        workload::line(&params.map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

/// The first repeated name of these.
fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut known = HashSet::new();
    names.into_iter().find(|name| !known.insert(*name))
}

/// The mistake in this row, if any.
fn wrong(sheet: &Sheet) -> Option<String> {
    let Sheet { metrics, lanes, headline, .. } = sheet;
    let twice = twice(lanes.iter().map(|lane| &*lane.name))
        .or_else(|| twice(metrics.iter().map(|metric| &*metric.name)));
    if let Some(name) = twice {
        return Some(format!("it has {name} in {} twice", sheet.row()));
    }
    if *headline >= metrics.len() || lanes.iter().any(|lane| lane.values.len() > metrics.len()) {
        return Some(format!("{} names a metric that it does not have", sheet.row()));
    }
    let is_long = |lane: &&Lane| lane.values.iter().any(|of| of.len() as u64 > MAX_ROUNDS);
    let name = &lanes.iter().find(is_long)?.name;
    Some(format!("{name} has more than {MAX_ROUNDS} rounds in {}", sheet.row()))
}

impl Results {
    /// The command to measure this row.
    pub(crate) fn command(&self, sheet: &Sheet) -> String {
        let rounds = sheet.lanes.iter().flat_map(|lane| lane.values.iter().map(Vec::len)).max();
        let mut options = sheet.params.clone();
        options.insert("rounds".to_owned(), rounds.unwrap_or_default().into());
        options.extend(self.machine.pin.iter().map(|pin| ("pin".to_owned(), pin.as_str().into())));
        if self.machine.hogs > 0 {
            options.insert("hogs".to_owned(), self.machine.hogs.into());
        }
        // A user's program has the targets in the options.
        let targets: Vec<_> = sheet.lanes.iter().map(|lane| &*lane.name).collect();
        if !sheet.is_yours && !targets.is_empty() {
            options.insert("target".to_owned(), targets.join(",").into());
        }
        format!("brigade-lab {} {}", workload::quoted(&sheet.workload), workload::line(&options))
    }

    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Stop> {
        let mut content = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut content));
        let read = read.map_err(|error| {
            let reason = format!("{} can't be read: {error}", path.display());
            match error.kind() {
                ErrorKind::NotFound | ErrorKind::IsADirectory => Stop::Usage(reason),
                _ => Stop::Refused(reason),
            }
        })?;
        let results = match read as u64 {
            ..=LONGEST => Results::parse(&content),
            _ => Err(format!("it goes on after byte {LONGEST}, the most that one may have")),
        };
        results.map_err(|reason| {
            let path = path.display();
            Stop::Usage(format!("{path} is not a result file of the laboratory: {reason}"))
        })
    }

    /// Reads the content of a result file.
    fn parse(content: &[u8]) -> Result<Self, String> {
        let why = |error: serde_json::Error| error.to_string();
        let Version { schema } = serde_json::from_slice(content).map_err(why)?;
        if schema != SCHEMA {
            return Err(format!(
                "its schema is {schema}, and this program reads schema {SCHEMA}: measure again, or read it with the version that wrote it"
            ));
        }
        let mut results: Results = serde_json::from_slice(content).map_err(why)?;
        let rows: Vec<_> = results.sheets.iter().map(Sheet::row).collect();
        let wrong = results.sheets.iter().find_map(wrong);
        let twice =
            || twice(rows.iter().map(|row| &**row)).map(|row| format!("it has {row} twice"));
        if let Some(reason) = wrong.or_else(twice) {
            return Err(reason);
        }
        for lane in results.sheets.iter_mut().flat_map(|sheet| &mut sheet.lanes) {
            lane.class = targets::named(&lane.name).map(|one| one.class).unwrap_or_default();
        }
        Ok(results)
    }

    /// The content of the result file.
    pub(crate) fn file(&mut self) -> Result<Vec<u8>, Stop> {
        for Sheet { metrics, lanes, .. } in &mut self.sheets {
            for lane in lanes {
                lane.medians = (0..metrics.len()).map(|one| lane.median(one)).collect();
            }
        }
        let written = serde_json::to_vec_pretty(&self);
        let mut text = written.map_err(|error| Stop::Failed(format!("no result file: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }

    /// Every lane, with the sheet it stands in.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (&Sheet, &Lane)> {
        self.sheets.iter().flat_map(|sheet| sheet.lanes.iter().map(move |lane| (sheet, lane)))
    }

    /// Every failure, with both.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&Sheet, &Lane, &str)> {
        self.lanes().filter_map(|(sheet, lane)| Some((sheet, lane, lane.failure.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, Results, Sheet};
    use crate::target::Class;
    use crate::workload::Metric;

    /// A lane with these rates.
    fn lane(name: &str, rates: &[f64]) -> Lane {
        Lane {
            values: vec![rates.to_vec()],
            ..Lane::new(name, !name.starts_with("brigade"), Class::Threads)
        }
    }

    /// A row with these rates.
    fn sheet(rates: &[(&str, &[f64])]) -> Sheet {
        let rate = Metric::more("rate", "tasks/s");
        let lanes = rates.iter().map(|(name, rates)| lane(name, rates)).collect();
        Sheet { metrics: vec![rate], lanes, ..Sheet::default() }
    }

    #[test]
    fn a_round_without_a_number_moves_no_other() {
        let mut sheet = sheet(&[("brigade", &[f64::NAN, 5.0, 6.0]), ("rayon", &[1.0, 5.0, 3.0])]);
        let middle = |sheet: &Sheet, ours: usize, theirs: usize| {
            let speedup = sheet.speedup(0, &sheet.lanes[ours], &sheet.lanes[theirs]);
            speedup.expect("comparable").middle
        };
        // 5.5 to 4, over the last two rounds.
        assert_eq!(middle(&sheet, 0, 1), 1.375);
        sheet.lanes.swap(0, 1);
        assert_eq!(middle(&sheet, 1, 0), 1.375);
    }

    #[test]
    fn another_schema_is_not_read() {
        let error = Results::parse(br#"{ "schema": 1, "results": 7 }"#).expect_err("an error");
        assert!(error.contains("its schema is 1, and this program reads schema 2: measure again"));
    }
}
