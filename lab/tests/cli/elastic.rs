//! The results of `elastic` match the known behaviour of the pools.

use std::process::Command;

use serde_json::Value;

use crate::{code, errors, json, lab, median, run, until};

/// Runs `elastic` with these options for one round.
fn elastic(options: &[&str]) -> Command {
    let mut command = lab(["elastic", "--rounds", "1"]);
    command.args(options);
    command
}

/// The results of `elastic` with these options, again until they are `right`: on a busy machine a thread may
/// start or end too late for one of them, but not for all.
fn eventually(options: &str, right: impl Fn(&Value) -> bool) {
    until(options, || {
        let output = run(elastic(&options.split(' ').collect::<Vec<_>>()).args(["--json", "-"]));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        right(&json(&output))
    });
}

#[test]
fn the_rest_is_the_core_size_if_any() {
    let options = "--core 2 --max 6 --jobs 6 --bursts 3 --keep-alive-ms 20 --block-ms 20";
    eventually(options, |report| {
        let left = |target| median(report, target, "left");
        // These threads never end.
        assert_eq!(left("threadpool"), 6.0, "{report}");
        assert!(left("brigade") >= 2.0 && left("rusty_pool") >= 2.0, "{report}");
        (left("brigade"), left("rusty_pool"), left("tokio-blocking")) == (2.0, 2.0, 0.0)
    });
    let options = "--core 0 --max 6 --jobs 6 --bursts 3 --keep-alive-ms 20 --block-ms 20 --target";
    eventually(&format!("{options} brigade,rusty_pool,brigade-fixed"), |report| {
        let left = |target| median(report, target, "left");
        assert_eq!((left("brigade-fixed"), median(report, "brigade-fixed", "at-once")), (1.0, 1.0));
        (left("brigade"), left("rusty_pool")) == (0.0, 0.0)
    });
}

#[test]
fn as_many_jobs_run_as_the_pool_may_have_threads() {
    // All threads exist from the start, so every pool must use them.
    let options = "--core 4 --max 4 --jobs 8 --bursts 1 --keep-alive-ms 1 --block-ms 100";
    eventually(options, |report| {
        ["brigade", "rusty_pool", "threadpool", "tokio-blocking"].iter().all(|target| {
            let [grown, all, at_once] =
                ["grown", "all", "at-once"].map(|metric| median(report, target, metric));
            // Two turns of 100 ms: with eight threads it would be one, with two threads four.
            assert!(all >= 0.2 && at_once <= 4.0, "{target}: {all} s, {at_once} at once");
            all < 0.4 && grown < 0.1 && at_once == 4.0
        })
    });
}

#[test]
fn a_pool_growing_per_job_has_all_at_once() {
    let options = "--max 64 --jobs 3 --bursts 1 --keep-alive-ms 1 --block-ms 100 --target";
    eventually(&format!("{options} threadpool,tokio-blocking"), |report| {
        ["threadpool", "tokio-blocking"].iter().all(|target| {
            let [grown, all] = ["grown", "all"].map(|metric| median(report, target, metric));
            assert!(all >= 0.1, "{target}: {all} s");
            grown < 0.1 && all < 0.2
        })
    });
}

#[test]
fn a_pool_without_all_its_threads_has_grown_at_the_end() {
    // rusty_pool counts the one idle thread for each job of a burst, until that has woken up.
    let options =
        "--max 64 --jobs 60 --bursts 1 --block-ms 1 --keep-alive-ms 1 --target rusty_pool";
    eventually(options, |report| {
        let [grown, all, at_once] =
            ["grown", "all", "at-once"].map(|metric| median(report, "rusty_pool", metric));
        assert!(all > 0.001 && at_once >= 1.0, "{all} s, {at_once} at once");
        grown == all && at_once < 60.0
    });
}
