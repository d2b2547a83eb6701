//! A result file as a reader has it: the results that a run wrote, within limits.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;

use crate::limits::MAX_ROUNDS;
use crate::report::results::{Results, SCHEMA, Sheet};
use crate::stop::Stop;
use crate::targets;
use crate::workload;

/// Bytes of a result file at most: a thousand rounds of everything on every target have less than half of that.
const LONGEST: u64 = 64 << 20;

/// What of the file is read first.
#[derive(Deserialize)]
struct Version {
    /// See [`SCHEMA`].
    schema: u32,
}

/// The first of these names that stands twice.
fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut known = HashSet::new();
    names.into_iter().find(|name| !known.insert(*name))
}

/// What is wrong with this row, if something is.
fn wrong(sheet: &Sheet) -> Option<String> {
    let Sheet { metrics, lanes, headline, .. } = sheet;
    let longest = lanes.iter().find_map(|lane| {
        let values = lane.values.iter().zip(metrics);
        let (_, metric) = values.into_iter().find(|(of, _)| of.len() as u64 > MAX_ROUNDS)?;
        Some(format!("{} of {} has more than {MAX_ROUNDS} rounds", metric.name, lane.name))
    });
    let names =
        [twice(lanes.iter().map(|lane| &*lane.name)), twice(metrics.iter().map(|one| &*one.name))];
    let twice =
        names.into_iter().flatten().map(|name| format!("it has {name} in {} twice", sheet.row()));
    let is_short =
        *headline >= metrics.len() || lanes.iter().any(|lane| lane.values.len() > metrics.len());
    let short = is_short.then(|| format!("{} names a metric that it does not have", sheet.row()));
    twice.chain(short).chain(longest).next()
}

impl Results {
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

    /// Reads what a result file contains.
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
            lane.class = targets::class(&lane.name);
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::Results;

    #[test]
    fn another_schema_is_not_read_whatever_else_it_has() {
        let error = Results::parse(br#"{ "schema": 1, "results": 7 }"#).expect_err("an error");
        assert!(error.contains("its schema is 1, and this program reads schema 2: measure again"));
    }
}
