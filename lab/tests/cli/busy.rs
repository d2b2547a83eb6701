//! The results of `ramp-up` and `busy-io` match the known behaviour of their targets.

use crate::{code, errors, json, lab, median, run};

/// The median of this metric in one round of this workload on this target.
fn measured(target: &str, arguments: &str, metric: &str) -> f64 {
    let alone = ["--rounds", "1", "--json", "-", "--target", target];
    let output = run(lab(arguments.split(' ')).args(alone));
    assert_eq!(code(&output), Some(0), "{arguments}: {}", errors(&output));
    median(&json(&output), target, metric)
}

#[test]
fn jobs_of_one_thread_begin_in_turn() {
    let row = "ramp-up --threads 2 --jobs 6 --block-ms 20 --shots 2";
    assert!(
        measured("brigade", row, "p50") >= 0.04,
        "two of them had to end before the last could begin"
    );
}

#[test]
fn jobs_on_their_own_threads_begin_beside_blocked_ones() {
    let row = "ramp-up --threads 5 --block-ms 400 --shots 1";
    assert!(measured("brigade", row, "max") < 0.4);
}

#[test]
fn a_timer_due_beside_a_computing_worker_is_late() {
    let row = "busy-io --chains 1 --work-us 30000 --millis 200";
    assert!(measured("tokio-current-thread", row, "timer-p50") >= 0.015);
    let row = "busy-io --chains 1 --work-us 30000 --millis 200";
    assert!(measured("brigade-one-thread", row, "timer-p50") >= 0.015);
}
