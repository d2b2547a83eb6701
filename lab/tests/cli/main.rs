//! The laboratory as a program, with exit codes, tables and a result file.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

mod answer;
mod burst;
mod busy;
mod chart;
mod compare;
mod detection;
mod elastic;
mod environment;
mod hogs;
mod hostile;
mod output;
mod own;
mod report;
mod results;
mod seeds;
mod signals;
mod sweeps;
mod usage;

use std::ffi::OsStr;
use std::iter;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A short run of any workload.
const TINY: &[&str] = &["wake", "--shots", "2", "--rounds", "1", "--target", "threadpool"];

/// A run that takes a minute.
const LONG: &[&str] = &["wake", "--shots", "200", "--rounds", "50", "--target", "threadpool,rayon"];

/// The laboratory, with these arguments and an empty standard input.
fn lab<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade-lab"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs `command` to its end.
fn run(command: &mut Command) -> Output {
    command.output().expect("the laboratory starts")
}

/// The exit code; a signal has none.
fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// The output on stderr.
fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output on stdout.
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The results on stdout, see [`flat`].
fn json(output: &Output) -> Value {
    flat(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error} in {:?}, stderr {:?}", text(output), errors(output))
    }))
}

/// The parts of a list.
fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// A result file with two lists more: `results`, one for each row, target and metric that has a number, and `failures`.
fn flat(mut report: Value) -> Value {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for sheet in list(&report["sheets"]) {
        for lane in list(&sheet["lanes"]) {
            let one = json!({
                "workload": sheet["workload"], "params": sheet["params"], "target": lane["name"],
                "peer": lane["peer"], "reason": lane["failure"],
            });
            failures.extend(lane["failure"].is_string().then(|| one.clone()));
            for (index, metric) in list(&sheet["metrics"]).iter().enumerate() {
                let mut result = one.clone();
                result["metric"] = metric["name"].clone();
                result["median"] = lane["medians"][index].clone();
                result["samples"] = lane["values"][index].clone();
                results.extend((!result["median"].is_null()).then_some(result));
            }
        }
    }
    (report["results"], report["failures"]) = (results.into(), failures.into());
    report
}

/// A row of a result file: its metrics with unit and direction, and of each target the rounds of each metric.
fn sheet(
    workload: &str,
    params: Value,
    metrics: &[(&str, &str, &str)],
    lanes: &[(&str, Vec<Vec<f64>>)],
) -> Value {
    let metrics = metrics.iter().map(
        |(name, unit, direction)| json!({ "name": name, "unit": unit, "direction": direction }),
    );
    let lanes = lanes.iter().map(|(name, values)| {
        json!({ "name": name, "peer": !name.starts_with("brigade"), "values": values })
    });
    json!({
        "workload": workload, "params": params, "done": "run jobs", "like": format!("It stands for {workload}."),
        "own": "brigade", "yours": false, "headline": 0, "note": format!("A note on {workload}."),
        "metrics": metrics.collect::<Vec<_>>(), "lanes": lanes.collect::<Vec<_>>(),
    })
}

/// The results for this target and metric, in the order of the rows.
fn results_of<'a>(report: &'a Value, target: &str, metric: &str) -> Vec<&'a Value> {
    let results = list(&report["results"]).iter();
    results.filter(|result| result["target"] == target && result["metric"] == metric).collect()
}

/// The only median for this target and metric.
fn median(report: &Value, target: &str, metric: &str) -> f64 {
    let [result] = results_of(report, target, metric)[..] else { panic!("one result: {report}") };
    result["median"].as_f64().expect("a number")
}

/// Checks all of `items`, ten at a time: most of what runs here waits.
fn check_all<T: Sync>(items: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let rest = || iter::from_fn(|| items.get(next.fetch_add(1, Ordering::Relaxed)));
    thread::scope(|scope| {
        for _ in 0..items.len().min(10) {
            scope.spawn(|| rest().for_each(&check));
        }
    });
}

/// Calls `ready` until it returns `true`; panics after a time that no machine should need.
fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(80), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
