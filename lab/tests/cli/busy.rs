//! What `ramp-up` and `busy-io` say of a target is what is known of it.

use crate::{code, errors, json, lab, run};

/// The median of this metric in one round of this workload on one target.
fn median(arguments: &str, metric: &str) -> f64 {
    let output = run(lab(arguments.split(' ')).args(["--rounds", "1", "--json", "-"]));
    assert_eq!(code(&output), Some(0), "{arguments}: {}", errors(&output));
    let report = json(&output);
    let mut results = report["results"].as_array().expect("results").iter();
    let result = results.find(|result| result["metric"] == metric).expect("a result");
    result["median"].as_f64().expect("a number")
}

#[test]
fn jobs_that_share_a_thread_begin_one_after_the_other() {
    let row = "ramp-up --threads 2 --jobs 6 --block-ms 20 --shots 2 --target brigade";
    assert!(median(row, "p50") >= 0.04, "two of them had to end before the last could begin");
}

#[test]
fn jobs_that_have_a_thread_each_begin_while_all_others_block() {
    let row = "ramp-up --threads 5 --block-ms 400 --shots 1 --target brigade";
    assert!(median(row, "max") < 0.4);
}

#[test]
fn a_timer_that_is_due_while_the_only_worker_computes_is_late() {
    let row = "busy-io --chains 1 --work-us 30000 --millis 200 --target tokio-current-thread";
    assert!(median(row, "timer-p50") >= 0.015);
    let row = "busy-io --chains 1 --work-us 30000 --millis 200 --target brigade-one-thread";
    assert!(median(row, "timer-p50") >= 0.015);
}
