//! What `elastic` says of a pool is what is known of it.

use std::process::Command;

use serde_json::Value;

use crate::{code, errors, json, lab, run, text};

/// Runs `elastic` with these options for one round.
fn elastic(options: &[&str]) -> Command {
    let mut command = lab(["elastic", "--rounds", "1"]);
    command.args(options);
    command
}

/// The median of this metric for this target.
fn median(report: &Value, target: &str, metric: &str) -> f64 {
    let results = report["results"].as_array().expect("results").iter();
    let mut results = results.filter(|result| result["target"] == target);
    let result = results.find(|result| result["metric"] == metric).expect("a result");
    result["median"].as_f64().expect("a number")
}

#[test]
fn what_is_left_is_the_core_size_where_there_is_one() {
    let output = run(elastic(&["--core", "2", "--max", "6", "--jobs", "6", "--bursts", "5"])
        .args(["--keep-alive-ms", "20", "--block-ms", "20", "--json", "-"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    for (target, left) in
        [("brigade", 2.0), ("rusty_pool", 2.0), ("threadpool", 6.0), ("tokio-blocking", 0.0)]
    {
        assert_eq!(median(&report, target, "left"), left, "{target}: {report}");
    }
}

#[test]
fn as_many_jobs_run_at_once_as_the_pool_may_have_threads() {
    // All threads are there from the start: no pool has an excuse.
    let output = run(elastic(&["--core", "4", "--max", "4", "--jobs", "8", "--bursts", "1"])
        .args(["--keep-alive-ms", "1", "--block-ms", "100", "--json", "-"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    for target in ["brigade", "rusty_pool", "threadpool", "tokio-blocking"] {
        // Two turns of 100 ms: with eight threads it were one, and with two of them four.
        let (grown, all) = (median(&report, target, "grown"), median(&report, target, "all"));
        assert!((0.2..0.4).contains(&all), "{target}: {all} s");
        assert!(grown < 0.1, "{target}: {grown} s");
        assert_eq!(median(&report, target, "at-once"), 4.0, "{target}");
    }
}

#[test]
fn a_pool_that_grows_with_each_job_has_them_all_at_once() {
    let output = run(elastic(&["--max", "64", "--jobs", "3", "--bursts", "1"])
        .args(["--keep-alive-ms", "1", "--block-ms", "100", "--json", "-"])
        .args(["--target", "threadpool,tokio-blocking"]));
    let report = json(&output);
    for target in ["threadpool", "tokio-blocking"] {
        let (grown, all) = (median(&report, target, "grown"), median(&report, target, "all"));
        assert!(grown < 0.1 && (0.1..0.2).contains(&all), "{target}: {grown} s of {all} s");
    }
}

#[test]
fn a_pool_that_never_has_all_its_threads_has_grown_at_the_end() {
    // rusty_pool counts the one idle thread for each job of a volley, until that has woken up.
    let output = run(elastic(&["--max", "64", "--jobs", "60", "--bursts", "1", "--block-ms", "1"])
        .args(["--keep-alive-ms", "1", "--json", "-", "--target", "rusty_pool"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    let (grown, all) =
        (median(&report, "rusty_pool", "grown"), median(&report, "rusty_pool", "all"));
    assert!(grown == all && all > 0.001, "{grown} s of {all} s");
    let at_once = median(&report, "rusty_pool", "at-once");
    assert!((1.0..60.0).contains(&at_once), "{at_once}");
}

#[test]
fn a_count_of_threads_is_shown_as_a_number_and_compared_with_none_that_is_0() {
    let options = ["--max", "4", "--jobs", "4", "--bursts", "1", "--keep-alive-ms", "5"];
    let table = text(&run(&mut elastic(&options)));
    let left = table.lines().skip_while(|line| !line.contains("left (less is better)"));
    // The name, three counts, the ratio and the CPUs.
    let left: Vec<Vec<&str>> = left.map(|line| line.split_whitespace().collect()).collect();
    let of = |name: &str| {
        let line = left.iter().find(|line| line.first() == Some(&name));
        line.unwrap_or_else(|| panic!("{name}: {table}"))[1..5].to_vec()
    };
    assert_eq!(of("threadpool"), ["4", "4", "4", "–"], "{table}");
    assert_eq!(of("tokio-blocking"), ["0", "0", "0", "–"], "{table}");
}
