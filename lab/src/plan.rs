//! The command lines of `all` and of `check`. `--full` is the table of the project's goals; `--quick` is small enough for a first
//! look.

use std::collections::HashSet;
use std::ffi::OsString;

use clap::{Command, Error, FromArgMatches, Subcommand};

use crate::report::write_line;
use crate::row::Row;
use crate::stop::Stop;
use crate::sweep;
use crate::targets::FAMILIES;
use crate::workload;
use crate::workloads::Choice;

/// A short selection of all workloads, in some 80 seconds on two CPUs.
const QUICK: &str = "
    throughput --messages 100000
    throughput --messages 200 --amplification 1000
    throughput --producers 1 --messages 1 --amplification 100000
    fan-out --shots 24
    fork-join --program fib --size 22
    fork-join --program skynet --size 4
    fork-join --program nqueens --size 9
    fork-join --program nqueens-scope --size 9
    fork-join --program quicksort --size 200000
    fork-join --program nbody --size 100
    fork-join --program short --size 1000
    steal --shots 25
    latency --sleep-ms 5 --bursts 12
    submit --pattern contended --messages 10000
    wake --shots 40
    ramp-up --block-ms 5 --shots 4
    fairness --chains 4 --millis 60 --limit-ms 60
    busy-io --millis 80
    timers --pattern spread --timers 2000 --millis 50
    timers --pattern instant --timers 2000
    timers --pattern unfired --timers 20000
    channels --kind tokio --capacity 100 --senders 1 --messages 50000
    channels --kind flume --capacity unbounded --senders 4 --receivers 4 --messages 50000
    elastic --keep-alive-ms 10 --block-ms 10 --bursts 1
    queue --pattern push-pop-small --repetitions 200
    queue --pattern executor --repetitions 50
    queue --pattern injector --repetitions 200
    burst --messages 1 --receivers 3 --gap-ms 1 --bursts 20
    burst --messages 6 --receivers 6 --gap-ms 1 --bursts 20
    bucket-brigade --over pipe --tasks 100 --iterations 100
    bucket-brigade --over pipe --tasks 100 --iterations 500 --in-flight 64
    bucket-brigade --over channel --tasks 100 --iterations 200
    creation --kind task --tasks 1000 --repetitions 20
    creation --kind thread --tasks 100 --repetitions 5
    memory --tasks 2000
    echo --connections 64 --requests 5000
    server --protocol resp --connections 64 --requests 3000 --pipeline 16
";

/// Everything behind the project's numbers.
const FULL: &str = "
    throughput --threads 1 --messages 500000
    throughput --threads 2 --messages 500000
    throughput --threads 4 --messages 500000
    throughput --threads 1 --messages 200 --amplification 5000
    throughput --threads 2 --messages 200 --amplification 5000
    throughput --threads 4 --messages 200 --amplification 5000
    throughput --producers 1 --messages 1 --amplification 500000
    fan-out --shots 200
    fork-join --program all
    steal --before-us 100
    steal --before-us 1000
    latency --sleep-ms 10 --bursts 100
    submit --pattern sleepers --messages 1000000
    submit --pattern contended --messages 100000
    submit --pattern empty --messages 1000000
    wake --shots 300
    ramp-up --shots 40
    fairness --chains 4
    fairness --chains 1000
    busy-io
    timers --pattern all
    timers --pattern all --by closure
    channels --kind all --capacity 100,unbounded --senders 1,4
    channels --kind async-channel,flume --capacity 100,unbounded --senders 4 --receivers 4
    elastic --keep-alive-ms 50 --block-ms 20 --bursts 5
    queue --pattern push-pop-small --repetitions 400
    queue --pattern push-pop-large --repetitions 200
    queue --pattern executor --repetitions 200
    queue --pattern steal --batch 1
    queue --pattern steal --batch 8
    queue --pattern steal --batch 32
    queue --pattern steal --batch 128
    queue --pattern injector --producers 1
    queue --pattern injector --producers 2
    burst --messages 1,2,3,5 --receivers 3 --gap-ms 5 --bursts 80
    burst --messages 6 --receivers 6 --gap-ms 5 --bursts 80
    burst --messages 1 --receivers 3 --gap-ms 0.01,0.1 --bursts 200
    burst --messages 1 --receivers 3 --gap-ms 1 --bursts 100
    burst --messages 1 --receivers 3 --gap-ms 10 --bursts 20
    burst --messages 1 --receivers 3 --gap-ms 100 --bursts 10
    bucket-brigade --over pipe --in-flight 1 --iterations 500
    bucket-brigade --over pipe --in-flight 64 --iterations 2000
    bucket-brigade --over tcp --in-flight 1 --iterations 500
    bucket-brigade --over tcp --in-flight 64 --iterations 2000
    bucket-brigade --over unix --in-flight 1 --iterations 500
    bucket-brigade --over unix --in-flight 64 --iterations 2000
    bucket-brigade --over channel --in-flight 1 --iterations 500
    bucket-brigade --over channel --in-flight 64 --iterations 2000
    creation --kind task --tasks 10000 --repetitions 20
    creation --kind thread --tasks 1000 --repetitions 10
    creation --shape chain --tasks 1000 --repetitions 200
    creation --shape ping-pong --tasks 1000 --repetitions 50
    memory --tasks 8000
    echo --connections 1 --requests 30000
    echo --connections 64 --requests 30000
    echo --connections 1000 --requests 30000
    server --protocol resp --connections 1,64,512 --pipeline 1,16
";

/// Runs of all workloads, so small that they take milliseconds.
const CHECK: &str = "
    throughput --messages 500 --amplification 3
    throughput --threads 4 --producers 4 --messages 100 --amplification 0
    latency --messages 20 --amplification 5 --bursts 5 --sleep-ms 1
    submit --pattern sleepers --messages 100
    submit --pattern contended --messages 50
    submit --pattern empty --messages 500
    wake --shots 5
    ramp-up --block-ms 1 --shots 3
    fan-out --children 20 --shots 5
    fork-join --program fib --size 12
    fork-join --program skynet --size 2
    fork-join --program nqueens --size 6
    fork-join --program nqueens-scope --size 6
    fork-join --program quicksort --size 500
    fork-join --program uts --size 10
    fork-join --program short --size 20
    steal --shots 5 --sibling-us 100
    fairness --chains 4 --millis 20 --limit-ms 20
    elastic --jobs 9 --keep-alive-ms 1 --block-ms 1 --bursts 3
    queue --pattern push-pop-small --repetitions 20
    queue --pattern push-pop-large --repetitions 20
    queue --pattern executor --repetitions 20
    queue --pattern steal --batch 8 --repetitions 5
    queue --pattern injector --producers 2 --repetitions 5
    burst --messages 2 --bursts 20
    burst --messages 9 --receivers 2 --bursts 20
    bucket-brigade --over pipe --tasks 20 --iterations 50 --in-flight 8
    bucket-brigade --over tcp --tasks 20 --iterations 50 --in-flight 8
    bucket-brigade --over unix --tasks 20 --iterations 50 --in-flight 8
    bucket-brigade --over channel --tasks 20 --iterations 50 --in-flight 8
    creation --kind task --tasks 50 --repetitions 5
    creation --kind thread --tasks 20 --repetitions 2
    creation --shape chain --tasks 50 --repetitions 5
    creation --shape ping-pong --tasks 50 --repetitions 5
    memory --tasks 1000
    echo --connections 9 --requests 200
    busy-io --millis 20
    timers --pattern spread --timers 50 --millis 10
    timers --pattern instant --timers 50
    timers --pattern unfired --timers 500
    channels --kind tokio --capacity 3 --senders 4 --messages 1000
    channels --kind flume --capacity unbounded --senders 4 --receivers 4 --messages 1000
    channels --kind async-channel --capacity 1 --senders 4 --receivers 4 --messages 1000
    server --protocol resp --connections 5 --pipeline 7 --requests 100
";

/// Rows for a build with all features only: of the project's numbers, and to check.
#[cfg(feature = "full")]
const WITH_HTTP: [&str; 2] = [
    "
    server --protocol http,https,http2 --connections 1,64,512
",
    "
    server --protocol http --connections 5 --requests 100
    server --protocol http2 --connections 2 --pipeline 5 --requests 100
",
];
#[cfg(not(feature = "full"))]
const WITH_HTTP: [&str; 2] = [""; 2];

/// The small runs of this workload, or of all.
pub(crate) fn check(name: &str) -> Vec<Row> {
    let mut rows = possible(&[CHECK, WITH_HTTP[1]].concat());
    rows.retain(|row| name == "all" || row.sheet.workload == name);
    rows
}

/// This name, if it has small runs.
pub(crate) fn to_check(name: &str) -> Result<String, String> {
    let is_known = name == "all" || !check(name).is_empty();
    is_known
        .then(|| name.to_owned())
        .ok_or("must be `all` or a workload that `brigade-lab list` names, but `run`".to_owned())
}

/// The rows of the small plan.
pub(crate) fn quick() -> Vec<Row> {
    possible(QUICK)
}

/// The rows of the large plan.
pub(crate) fn full() -> Vec<Row> {
    possible(&[FULL, WITH_HTTP[0]].concat())
}

/// Names the workloads and the targets.
pub(crate) fn list() -> Result<(), Stop> {
    let mut text = String::from("workloads\n");
    for workload in Choice::augment_subcommands(Command::new("list")).get_subcommands() {
        let about = workload.get_about().map(ToString::to_string).unwrap_or_default();
        text += &format!("  {:<28}{}\n", workload.get_name(), about);
    }
    let further: HashSet<_> = full().iter().flat_map(|row| row.further).collect();
    text += "\ntargets, in families (without --target, * takes part, and + in some workloads)\n";
    for (family, targets) in FAMILIES {
        text += &format!("\n{family}\n");
        for target in targets {
            let mark = match target.is_default {
                true => '*',
                false if further.contains(&target.name) => '+',
                false => ' ',
            };
            text += &format!("{mark} {:<28}{}\n", target.name, target.about);
        }
    }
    write_line(text.trim_end())
}

/// Names these rows and their targets.
pub(crate) fn show(rows: &[Row]) -> Result<(), Stop> {
    let line = |Row { sheet, targets, .. }: &Row| {
        let targets: Vec<_> = targets.iter().map(|target| target.name).collect();
        format!("{} {}: {}", sheet.workload, workload::line(&sheet.params), targets.join(", "))
    };
    write_line(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The metrics of this workload with their units, if it runs without further options.
pub(crate) fn metrics(workload: &str) -> Option<String> {
    let row = choices(workload).first()?.as_ref().ok()?.row().ok()?;
    let text = row.sheet.metrics.iter().map(|metric| format!("{} in {}", metric.name, metric.unit));
    Some(text.collect::<Vec<_>>().join(", "))
}

/// The rows of this plan for this system.
fn possible(plan: &str) -> Vec<Row> {
    rows(plan).into_iter().filter_map(Result::ok).collect()
}

/// The rows of this plan, or why they can't be measured.
fn rows(plan: &str) -> Vec<Result<Row, Stop>> {
    let lines = plan.lines().map(str::trim).filter(|line| !line.is_empty());
    let choices = lines.flat_map(choices);
    choices.map(|choice| choice.expect("a line is a command line").row()).collect()
}

/// The choices of this command line: a row for each value of an option.
fn choices(line: &str) -> Vec<Result<Choice, Error>> {
    let command = Choice::augment_subcommands(Command::new("plan").no_binary_name(true));
    let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
    let lines = sweep::lines(&command, &words).expect("few rows").into_iter();
    let read = |line| Choice::from_arg_matches(&command.clone().try_get_matches_from(line)?);
    lines.map(read).collect()
}

#[cfg(test)]
mod tests {
    use crate::targets::FAMILIES;
    use std::collections::HashSet;

    #[test]
    fn every_plan_has_a_row_for_every_target() {
        for plan in [super::quick(), super::full(), super::check("all")] {
            let measured: HashSet<_> =
                plan.iter().flat_map(|row| &row.targets).map(|one| (one.name, one.about)).collect();
            for target in FAMILIES.iter().flat_map(|(_, targets)| targets.iter()) {
                // A name is unique within its family only.
                assert!(measured.contains(&(target.name, target.about)), "{target:?}");
            }
        }
    }

    #[test]
    fn unnamed_targets_of_a_row_are_in_its_family() {
        for row in super::full() {
            for name in row.further {
                assert!(row.targets.iter().any(|target| target.name == *name), "{name}");
            }
        }
    }

    #[test]
    fn a_rows_options_are_its_command_line() {
        for row in super::quick().iter().chain(&super::full()) {
            let line = row.sheet.row();
            let again = super::possible(&line);
            assert_eq!(again.len(), 1, "{line}");
            assert_eq!(again[0].sheet.row(), line);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_planned_row_is_within_the_limits() {
        let [full, check] = super::WITH_HTTP;
        let plans = [super::QUICK, super::FULL, super::CHECK, full, check].map(super::rows);
        for row in plans.into_iter().flatten() {
            assert_eq!(row.err().map(|stop| stop.reason().to_owned()), None);
        }
    }
}
