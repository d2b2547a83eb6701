//! What a chart says in words: its heading, and where its numbers come from.

use super::selection::Selection;
use crate::recorded::{Machine, Outcome};
use crate::workload::Direction;

/// The heading of a chart that is given none.
pub(super) fn title(result: &Outcome) -> String {
    format!("{}: {}", result.workload, result.metric)
}

/// How to read the bars.
pub(super) fn key(selection: &Selection<'_>) -> String {
    let Some(result) = selection.bars.first() else { return String::new() };
    let better = match result.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    };
    let bars = match rounds(selection) {
        1 => "one round".to_owned(),
        rounds => format!("median of {rounds} rounds, whiskers from minimum to maximum"),
    };
    format!("{}, {better} · {bars}", result.metric)
}

/// The machine, and what the laboratory was built from: a line each.
pub(super) fn origin(machine: &Machine) -> [String; 2] {
    let Machine { cpus, cpu_model, kernel, arch, rustc, version, date, .. } = machine;
    let day = date.split('T').next().unwrap_or_default();
    let warning = if machine.debug { " · built without optimisation" } else { "" };
    [
        format!("{cpus} × {cpu_model}, {kernel} {arch}"),
        format!("{rustc} · brigade-lab {version}, {day}{warning}"),
    ]
}

/// The command that measures what the chart shows.
pub(super) fn command(selection: &Selection<'_>, machine: &Machine) -> String {
    let Some(result) = selection.bars.first() else { return String::new() };
    let options = selection.params.line();
    let mut text = format!("brigade-lab {} {options}", result.workload).trim_end().to_owned();
    text += &format!(" --rounds {}", rounds(selection));
    if let Some(pin) = &machine.pin {
        text += &format!(" --pin {pin}");
    }
    if machine.hogs > 0 {
        text += &format!(" --hogs {}", machine.hogs);
    }
    let targets: Vec<_> = selection.bars.iter().map(|result| result.target.as_str()).collect();
    text + " --target " + &targets.join(",")
}

/// What is missing from the chart, if something is.
pub(super) fn gaps(selection: &Selection<'_>) -> Option<String> {
    let short = selection.bars.iter().filter(|result| !result.complete);
    let short = short.map(|result| {
        let count = result.samples.len();
        format!("{}: {count} {}", result.target, if count == 1 { "round" } else { "rounds" })
    });
    let failed = selection.failures.iter().map(|failure| failure.target.clone());
    let parts = [("interrupted", short.collect::<Vec<_>>()), ("no number", failed.collect())];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<_> =
        parts.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The rounds of the target that has the most.
fn rounds(selection: &Selection<'_>) -> usize {
    selection.bars.iter().map(|result| result.samples.len()).max().unwrap_or_default()
}
