//! Several values of an option are several tables and one of all of them.

use std::fs;

use serde_json::Value;

use crate::{code, errors, json, lab, run, text};

/// A run that takes no time, on one target.
const SHORT: &[&str] = &["--shots", "2", "--rounds", "2", "--target", "threadpool"];

#[test]
fn a_list_is_a_table_per_value_and_a_summary() {
    let output = run(lab(["wake", "--threads", "1,2,x"]).args(SHORT));
    assert_eq!(code(&output), Some(2), "a word is no part of it: {}", errors(&output));

    let output = run(lab(["wake", "--threads", "1,2,3"]).args(SHORT));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let tables = text(&output);
    for threads in ["1", "2", "3"] {
        assert!(tables.contains(&format!("\nwake --threads {threads} --shots 2\n")), "{tables}");
    }
    let (_, summary) = tables.split_once("wake by --threads, medians\n").expect("a summary");
    let rows: Vec<Vec<_>> = summary.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["start", "(less", "is", "better)", "1", "2", "3"], "{summary}");
    // Three numbers with their units.
    assert_eq!((rows[1][0], rows[1].len()), ("threadpool", 7), "{summary}");
    // Of two values there is a greatest one, and no percentile.
    assert_eq!([rows[2][0], rows[4][0]], ["start-max", "submit"], "{summary}");
}

#[test]
fn a_sweep_is_as_many_result_rows() {
    let row = ["throughput", "--messages=10,100", "--producers", "1,3", "--rounds", "1"];
    let output = run(lab(row).args(["--target", "threadpool,rayon", "--json", "-"]));
    let report = json(&output);
    let results = report["results"].as_array().expect("results").iter();
    let rates = results.filter(|result| result["metric"] == "rate" && result["target"] == "rayon");
    let number = |value: &Value| value.as_u64().expect("a number");
    let params =
        rates.map(|rate| ["messages", "producers"].map(|name| number(&rate["params"][name])));
    assert_eq!(params.collect::<Vec<_>>(), [[10, 1], [10, 3], [100, 1], [100, 3]]);
    assert!(errors(&output).contains("throughput by --producers/--messages, medians"));
}

#[test]
fn a_latency_runs_until_its_mean_is_certain() {
    let row = "latency --messages 1 --amplification 0 --sleep-ms 0 --bursts 2 --rounds 1 --target brigade";
    // 100 per cent is certain enough after two, and one per cent never is after three.
    for (rse, most, bursts) in [("100", "50", 2..=50), ("1", "3", 2..=3)] {
        let options = ["--rse", rse, "--most-bursts", most, "--json", "-"];
        let output = run(lab(row.split(' ')).args(options));
        let report = json(&output);
        let of = |metric: &str| crate::median(&report, "brigade", metric);
        let ran = report["sheets"][0]["lanes"][0]["spent"][0]["count"].as_u64().expect("a count");
        assert!(bursts.contains(&ran), "{ran}");
        assert!(of("rse") <= 100.0 && (ran == 3 || of("rse") <= rse.parse().expect("a number")));
        // The farthest burst is at least as far from the mean as a quantile is, but for rounding.
        assert!(of("bound") >= (of("p99") - of("mean")).abs() * 0.999_999, "{report}");
    }
    assert_eq!(code(&run(&mut lab(["latency", "--most-bursts", "5"]))), Some(2), "needs --rse");
}

#[test]
fn details_are_in_the_tables_on_request() {
    let row = ["creation", "--tasks", "3", "--rounds", "1", "--target", "brigade"];
    let brief = text(&run(&mut lab(row)));
    assert!(brief.contains("\n  time ") && !brief.contains("\n  begin "), "{brief}");
    let verbose = text(&run(lab(row).arg("--verbose")));
    for metric in ["time", "create", "begin", "begin-sd"] {
        assert!(verbose.contains(&format!("\n  {metric} (less is better)")), "{metric}: {verbose}");
    }
    let output = run(lab(row).arg("--quiet"));
    assert_eq!((code(&output), text(&output)), (Some(0), String::new()), "{}", errors(&output));
}

#[test]
fn a_command_sees_the_tasks_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen");
    let line = format!("ls /proc/{{pid}}/task | wc -l >> {}; echo said", seen.display());
    let row = ["bucket-brigade", "--target", "threads", "--tasks", "20", "--iterations", "1"];
    let output = run(lab(row).args(["--rounds", "1", "--quiet", "--command", &line]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let plan = run(lab(row).args(["--dry-run", "--command", "a 'b' c"]));
    assert!(text(&plan).contains(r"--command 'a '\''b'\'' c': threads"), "{}", text(&plan));
    // One run to warm up and one that counts; a thread for each task, and those of the laboratory.
    assert_eq!(text(&output), "said\nsaid\n");
    let threads = fs::read_to_string(&seen).expect("counted");
    assert_eq!(threads.lines().count(), 2);
    for threads in threads.lines() {
        assert!(threads.trim().parse::<u64>().expect("a number") >= 20, "{threads}");
    }
}
