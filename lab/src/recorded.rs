//! A result file as a reader has it: the rows that `report::json` wrote.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::limits::MAX_ROUNDS;
use crate::noise;
use crate::report::results::{Lane, Sheet, is_of};
use crate::schema::{Document, Meaning, Outcome, Runs, SCHEMA};
use crate::spent::Spent;
use crate::stop::{Stop, printable};
use crate::targets;
use crate::usage::Usage;
use crate::workload::{self, Direction, Metric, Params};

/// Bytes of a result file at most: a thousand rounds of everything on every target have a tenth of that.
const LONGEST: u64 = 256 << 20;

/// Rows of a report at most, and targets and metrics of a row: the largest plan has a tenth of that.
const MOST: usize = 1_000;
const WIDEST: usize = 200;

/// A result file.
pub(crate) type Recorded = Document<noise::Shown>;

/// What of the file is read first.
#[derive(Deserialize)]
struct Version {
    /// See [`SCHEMA`].
    schema: u32,
}

/// Everything that the file says of the machine.
#[derive(Deserialize)]
struct Setting {
    /// It by name.
    machine: Map<String, Value>,
}

/// Whether brigade is compared with this target; older files do not say so.
pub(crate) fn is_peer(said: Option<bool>, target: &str) -> bool {
    said.unwrap_or(!is_of("brigade", target))
}

impl Recorded {
    /// The rows of the file, as they were when they were measured, or what is wrong with them.
    pub(crate) fn sheets(&self) -> Result<Vec<Sheet>, String> {
        let meanings =
            self.rows.iter().map(|row| ((&*row.workload, workload::line(&row.params)), row));
        let meanings: HashMap<_, _> = meanings.collect();
        let (mut sheets, mut places) = (Vec::<Sheet>::new(), HashMap::new());
        let mut place = |sheets: &mut Vec<Sheet>, workload, params: &Params| {
            let key = (workload, workload::line(params));
            let meaning = meanings.get(&key).copied();
            let place = *places.entry(key).or_insert(sheets.len());
            if place == sheets.len() {
                sheets.push(blank(workload, params, meaning));
            }
            (place, meaning)
        };
        for result in &self.results {
            let (place, meaning) = place(&mut sheets, &*result.workload, &result.params);
            add(&mut sheets[place], result, meaning)?;
        }
        for failure in &self.failures {
            let (place, _) = place(&mut sheets, &failure.workload, &failure.params);
            let lane =
                lane(&mut sheets[place], &failure.target, is_peer(failure.peer, &failure.target))?;
            lane.failure = Some(printable(&failure.reason));
        }
        let place = |workload, params| places.get(&(workload, workload::line(params))).copied();
        for row in &self.noise.rows {
            if let Some(place) = place(&row.workload, &row.params) {
                sheets[place].noise = row.span.line(self.machine.cpus);
            }
        }
        for runs in &self.runs {
            let lanes = place(&runs.workload, &runs.params).map(|place| &mut sheets[place].lanes);
            let target = printable(&runs.target);
            let lane = lanes.into_iter().flatten().find(|lane| lane.name == target);
            if let Some(lane) = lane {
                (lane.spent, lane.migrations) = (runs.spent(), runs.migrations);
            }
        }
        for sheet in sheets.iter_mut().filter(|sheet| sheet.metrics.is_empty()) {
            // Every target of it failed. What the values would have been is nowhere in the file.
            let [name, unit] = ["no number", ""].map(str::to_owned);
            let direction = Direction::Lower;
            sheet.metrics.push(Metric { name, unit, direction, is_detail: false });
        }
        match sheets.len() {
            0..=MOST => Ok(sheets),
            rows => Err(format!("it has {rows} rows, and a report {MOST} at most")),
        }
    }

    /// The command that measures this row.
    pub(crate) fn command(&self, sheet: &Sheet) -> String {
        let rounds = sheet.lanes.iter().flat_map(|lane| lane.values.iter().map(Vec::len)).max();
        let mut words = vec![sheet.workload.clone()];
        words.extend(workload::words(&sheet.params));
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--rounds", rounds.unwrap_or_default().to_string());
        if let Some(pin) = &self.machine.pin {
            option("--pin", pin.clone());
        }
        if self.machine.hogs > 0 {
            option("--hogs", self.machine.hogs.to_string());
        }
        // A program of the user's has its targets in its options.
        let targets: Vec<_> = sheet.lanes.iter().map(|lane| &*lane.name).collect();
        if !sheet.is_yours && !targets.is_empty() {
            option("--target", targets.join(","));
        }
        let words: Vec<_> = words.iter().map(|word| workload::quoted(word)).collect();
        format!("brigade-lab {}", words.join(" "))
    }

    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Stop> {
        Recorded::parse(&content(path)?).map_err(|reason| refused(path, &reason))
    }

    /// Reads what a result file contains.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, String> {
        let why = |error: serde_json::Error| error.to_string();
        let Version { schema } = serde_json::from_slice(content).map_err(why)?;
        if schema != SCHEMA {
            return Err(format!("its schema is {schema}, and this program reads schema {SCHEMA}"));
        }
        let mut recorded: Recorded = serde_json::from_slice(content).map_err(why)?;
        let is_long = |result: &&Outcome| result.samples.0.len() as u64 > MAX_ROUNDS;
        if let Some(Outcome { metric, target, .. }) = recorded.results.iter().find(is_long) {
            let what = printable(&format!("{metric} of {target}"));
            return Err(format!("{what} has more than {MAX_ROUNDS} rounds"));
        }
        let Setting { machine } = serde_json::from_slice(content).map_err(why)?;
        recorded.setting = machine;
        Ok(recorded)
    }
}

impl Runs {
    /// What each of them took, as far as the file says it.
    fn spent(&self) -> Vec<Spent> {
        let values = self.values.as_deref().unwrap_or_default();
        let each = |round: usize| {
            let at = |values: &[f64]| values.get(round).copied().unwrap_or(f64::NAN);
            Spent {
                wall: at(&self.wall_seconds),
                usage: Usage {
                    user: at(&self.cpu_seconds),
                    voluntary: at(&self.voluntary_switches),
                    involuntary: at(&self.involuntary_switches),
                    ..Usage::default()
                },
                count: values.get(round).copied().unwrap_or_default(),
                peak: self.peak_bytes.as_deref().map_or(f64::NAN, at),
            }
        };
        (0..self.wall_seconds.len().max(values.len())).map(each).collect()
    }
}

/// A row that has no targets yet.
fn blank(workload: &str, params: &Params, meaning: Option<&Meaning>) -> Sheet {
    let text = |value: &Value| Value::from(printable(&workload::word(value)));
    // An option may have several words.
    let words_of = |value: &Value| match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => text(value),
    };
    let [done, own] = [workload, "brigade"].map(str::to_owned);
    let unknown = Meaning { done, own, ..Meaning::default() };
    let Meaning { done, like, own, yours, note, .. } = meaning.unwrap_or(&unknown);
    Sheet {
        workload: printable(workload),
        done: printable(done),
        like: printable(like),
        params: params.iter().map(|(name, value)| (printable(name), words_of(value))).collect(),
        own: printable(own),
        is_yours: *yours,
        note: note.as_deref().map(printable),
        ..Sheet::default()
    }
}

/// This target of the row, which may be new.
fn lane<'a>(sheet: &'a mut Sheet, target: &str, is_peer: bool) -> Result<&'a mut Lane, String> {
    let target = &printable(target);
    let lanes = &sheet.lanes;
    let place = lanes.iter().position(|lane| lane.name == *target).unwrap_or(lanes.len());
    if place == WIDEST {
        return Err(too_many(sheet, "targets"));
    }
    if place == lanes.len() {
        sheet.lanes.push(Lane::new(target, is_peer, targets::class(target)));
    }
    Ok(&mut sheet.lanes[place])
}

/// Adds a result to its row.
fn add(sheet: &mut Sheet, result: &Outcome, meaning: Option<&Meaning>) -> Result<(), String> {
    let Outcome { target, metric: name, unit, direction, samples, .. } = result;
    let [name, unit] = [name, unit].map(|text| printable(text));
    let metrics = &mut sheet.metrics;
    let index = metrics.iter().position(|metric| metric.name == name).unwrap_or(metrics.len());
    if index == metrics.len() {
        let is_detail = meaning.is_some_and(|meaning| meaning.details.contains(&name));
        metrics.push(Metric { name: name.clone(), unit, direction: *direction, is_detail });
    }
    if index == WIDEST {
        return Err(too_many(sheet, "metrics"));
    }
    if meaning.is_some_and(|meaning| meaning.headline == name) {
        sheet.headline = index;
    }
    let lane = lane(sheet, target, is_peer(result.peer, target))?;
    lane.values.resize(lane.values.len().max(index + 1), Vec::new());
    if !lane.values[index].is_empty() {
        return Err(format!("it has {name} of {target} in {} twice", result.workload));
    }
    lane.values[index].clone_from(&samples.0);
    Ok(())
}

/// The error of a row with more than a report can show.
fn too_many(sheet: &Sheet, what: &str) -> String {
    format!("a row of {} has more than {WIDEST} {what}", sheet.workload)
}

/// Why the file at `path` is none.
pub(crate) fn refused(path: &Path, reason: &str) -> Stop {
    Stop::Usage(format!("{} is not a result file of the laboratory: {reason}", path.display()))
}

/// All bytes of the file at `path`.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, Stop> {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| {
        // A sparse file has as many bytes as it likes; a pipe does not say how many.
        match file.metadata()?.len() {
            ..=LONGEST => file.take(LONGEST + 1).read_to_end(&mut content).map(|read| read as u64),
            length => Ok(length),
        }
    });
    match read {
        Ok(read) if read > LONGEST => Err(refused(
            path,
            &format!("it goes on after byte {LONGEST}, the most that one may have"),
        )),
        Ok(_) => Ok(content),
        Err(error) => {
            let reason = format!("{} can't be read: {error}", path.display());
            Err(match error.kind() {
                ErrorKind::NotFound | ErrorKind::IsADirectory => Stop::Usage(reason),
                _ => Stop::Refused(reason),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Recorded;

    #[test]
    fn another_schema_is_not_read_whatever_else_it_has() {
        let error = Recorded::parse(br#"{ "schema": 2, "results": 7 }"#).expect_err("an error");
        assert_eq!(error, "its schema is 2, and this program reads schema 1");
    }
}
