//! The laboratory detects a lost and a repeated task, whatever the workload, and prints no number
//! for the target it happened to.

use crate::{code, errors, json, lab, run};

/// A run of each workload that is over at once.
const WORKLOADS: &[&[&str]] = &[
    &["throughput", "--messages", "50"],
    &["latency", "--messages", "5", "--amplification", "3", "--bursts", "2", "--sleep-ms", "1"],
    &["submit", "--pattern", "sleepers", "--messages", "50"],
    &["submit", "--pattern", "contended", "--messages", "50"],
    &["submit", "--pattern", "empty", "--messages", "50"],
    &["wake", "--shots", "3"],
    &["fan-out", "--shots", "3", "--children", "5"],
];

/// Runs `workload` with `fault` in threadpool and none in rayon.
fn detects(workload: &[&str], fault: &str, word: &str) {
    let faulty = ["--target", "threadpool,rayon", "--inject", &format!("{fault}:threadpool")];
    let output =
        run(lab(workload).args(faulty).args(["--rounds", "1", "--patience", "2", "--json", "-"]));
    assert_eq!(code(&output), Some(1), "{workload:?}: {}", errors(&output));
    assert!(errors(&output).contains(&format!("threadpool: {word} ")), "{}", errors(&output));
    let report = json(&output);
    let results = report["results"].as_array().expect("results");
    assert!(results.iter().all(|result| result["target"] == "rayon"), "{workload:?}: {report}");
    assert!(!results.is_empty(), "{workload:?}: the other target has numbers");
    assert_eq!(report["failures"][0]["target"], "threadpool");
    assert_eq!(report["complete"], false);
}

#[test]
fn a_lost_task_is_an_error_without_a_number() {
    WORKLOADS.iter().for_each(|workload| detects(workload, "lost", "lost"));
}

#[test]
fn a_repeated_task_is_an_error_without_a_number() {
    WORKLOADS.iter().for_each(|workload| detects(workload, "repeated", "repeated"));
}
