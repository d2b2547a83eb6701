//! What a chart says in words: its heading, and where its numbers come from.

use super::selection::Selection;
use crate::machine::Machine;
use crate::report::speedup::ROUNDS;
use crate::schema::Outcome;
use crate::workload::{self, Direction, Params, quoted};

/// The heading of a chart that is given none.
pub(super) fn title(result: &Outcome) -> String {
    format!("{}: {}", result.workload, result.metric)
}

/// A metric, and which way is better.
pub(crate) fn better(metric: &str, direction: Direction) -> String {
    match direction {
        Direction::Higher => format!("{metric}, more is better"),
        Direction::Lower => format!("{metric}, less is better"),
    }
}

/// How to read the bars of a metric.
pub(crate) fn key(metric: &str, direction: Direction, rounds: usize) -> String {
    let bars = match rounds {
        1 => "one round".to_owned(),
        rounds => {
            let whiskers = if rounds < ROUNDS { "" } else { ", whiskers: 95 % interval of it" };
            format!("median of {rounds} rounds{whiskers}, thin lines: minimum to maximum")
        }
    };
    format!("{} · {bars}", better(metric, direction))
}

/// The machine, and what the laboratory was built from: a line each.
pub(crate) fn origin(machine: &Machine) -> [String; 2] {
    let Machine { cpus, cpu_model, kernel, arch, rustc, version, date, .. } = machine;
    let day = date.split('T').next().unwrap_or_default();
    let warning = if machine.debug { " · built without optimisation" } else { "" };
    [
        format!("{cpus} × {cpu_model}, {kernel} {arch}"),
        format!("{rustc} · brigade-lab {version}, {day}{warning}"),
    ]
}

/// The command that measures a workload with these options on these targets.
pub(crate) fn command(
    workload: &str,
    params: &Params,
    rounds: usize,
    targets: &[&str],
    machine: &Machine,
) -> String {
    let options = workload::line(params);
    let mut text = format!("brigade-lab {} {options}", quoted(workload)).trim_end().to_owned();
    text += &format!(" --rounds {rounds}");
    if let Some(pin) = &machine.pin {
        text += &format!(" --pin {}", quoted(pin));
    }
    if machine.hogs > 0 {
        text += &format!(" --hogs {}", machine.hogs);
    }
    if !targets.is_empty() {
        text += &format!(" --target {}", quoted(&targets.join(",")));
    }
    text
}

/// What is missing from the chart, if something is.
pub(super) fn gaps(selection: &Selection<'_>) -> Option<String> {
    let short = selection.bars.iter().filter(|result| !result.complete);
    let short = short.map(|result| {
        let count = result.samples.0.len();
        format!("{}: {count} {}", result.target, if count == 1 { "round" } else { "rounds" })
    });
    let failed = selection.failures.iter().map(|failure| failure.target.clone());
    let parts = [("interrupted", short.collect::<Vec<_>>()), ("no number", failed.collect())];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<_> =
        parts.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}
