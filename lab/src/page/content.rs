//! What there is to show.

use serde_json::Value;

use crate::chart::wording;
use crate::recorded::Recorded;
use crate::report::answer;
use crate::report::results::Sheet;
use crate::report::table::{self, Detail};
use crate::stop::printable;

/// A result file in rows.
pub(super) struct Content {
    /// The file.
    pub(super) recorded: Recorded,
    /// Its rows.
    pub(super) sheets: Vec<Sheet>,
}

impl Content {
    /// Reads what a result file contains.
    pub(super) fn read(results: &[u8]) -> Result<Self, String> {
        let recorded = Recorded::parse(results)?;
        let sheets = recorded.sheets()?;
        Ok(Content { recorded, sheets })
    }

    /// The tables of the terminal.
    pub(super) fn text(&self, is_verbose: bool) -> String {
        let detail = match is_verbose {
            true => Detail::Verbose,
            false => self.detail(),
        };
        let head = self.machine().map(|(name, value)| format!("{name}: {value}\n"));
        let tables = self.sheets.iter().map(|sheet| table::of(sheet, detail) + "\n");
        let answer = answer::of(&self.sheets, true).map(|answer| answer + "\n");
        let warnings = self.warnings().into_iter().map(|warning| format!("\n{warning}"));
        head.chain(tables).chain(answer).chain(warnings).collect::<String>().trim_end().to_owned()
    }

    /// Which metrics have tables: of several workloads one each, as there is an answer above them.
    pub(super) fn detail(&self) -> Detail {
        if self.workloads().len() > 1 { Detail::Headline } else { Detail::Usual }
    }

    /// The rows of each workload, in the order of the file.
    pub(super) fn workloads(&self) -> Vec<(&str, Vec<&Sheet>)> {
        let mut workloads = Vec::<(&str, Vec<&Sheet>)>::new();
        for sheet in &self.sheets {
            match workloads.iter_mut().find(|(name, _)| *name == sheet.workload) {
                Some((_, sheets)) => sheets.push(sheet),
                None => workloads.push((&sheet.workload, vec![sheet])),
            }
        }
        workloads
    }

    /// What it was measured on and what that did besides, by name.
    pub(super) fn machine(&self) -> impl Iterator<Item = (String, String)> {
        let fields = self.recorded.setting.iter().filter(|(_, value)| !value.is_null());
        let machine = fields.map(|(name, value)| {
            let name = match &**name {
                "cpus" => "CPUs",
                "cpu_model" => "CPU",
                "rustc" => "compiler",
                "arch" => "architecture",
                "debug" => "built without optimisation",
                "version" => "brigade-lab",
                "hogs" => "computing threads beside it",
                "pin" => "threads pinned",
                name => &printable(&name.replace('_', " ")),
            };
            let value = match value {
                Value::Bool(true) => "yes".to_owned(),
                Value::Bool(false) => "no".to_owned(),
                value => printable(&words(value)),
            };
            (name.to_owned(), value)
        });
        let course = self.recorded.noise.course().into_iter();
        machine.chain(course.map(|(when, words)| (when.to_owned(), printable(&words))))
    }

    /// What there is to doubt about all of it.
    pub(super) fn warnings(&self) -> Vec<String> {
        let Recorded { machine, noise, .. } = &self.recorded;
        let busy = noise.busy.as_deref().map(|busy| capital(&printable(busy)) + ".");
        let warnings = [
            (machine.debug, "Built without optimisation: these numbers say nothing.".to_owned()),
            (
                !self.recorded.complete,
                "Not complete: something failed or was interrupted.".to_owned(),
            ),
            (
                machine.hogs > 0,
                format!("Measured beside {} computing threads of another process.", machine.hogs),
            ),
        ];
        let warnings = warnings.into_iter().filter(|(is_true, _)| *is_true);
        warnings.map(|(_, warning)| warning).chain(busy).collect()
    }

    /// The command that measures this row.
    pub(super) fn command(&self, sheet: &Sheet) -> String {
        // A program of the user's has its targets in its options.
        let lanes = sheet.lanes.iter().filter(|_| !sheet.is_yours);
        let targets: Vec<_> = lanes.map(|lane| &*lane.name).collect();
        wording::command(
            &sheet.workload,
            &sheet.params,
            rounds(sheet),
            &targets,
            &self.recorded.machine,
        )
    }
}

/// What a file says of the machine, without the signs of JSON. It is no deeper than the file is.
fn words(value: &Value) -> String {
    let list = |parts: &mut dyn Iterator<Item = String>| {
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    };
    match value {
        Value::Null => String::new(),
        Value::Array(values) => values.iter().map(words).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => list(&mut fields.iter().map(|(name, value)| {
            let value = words(value);
            if value.is_empty() { value } else { format!("{} {value}", name.replace('_', " ")) }
        })),
        value => crate::workload::word(value),
    }
}

/// `text` as the beginning of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// The rounds of the target that has the most.
pub(super) fn rounds(sheet: &Sheet) -> usize {
    let counts = sheet.lanes.iter().flat_map(|lane| lane.values.iter().map(Vec::len));
    counts.max().unwrap_or_default()
}
