//! Several values of an option are several tables and one of all of them, and what is measured can be appended to CSV files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{code, errors, json, lab, run, text};

/// A run that takes no time, on one target.
const SHORT: &[&str] = &["--shots", "2", "--rounds", "2", "--target", "threadpool"];

/// The records of a CSV file that has no quoted cells.
fn records(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_list_is_a_table_for_each_value_and_a_summary() {
    let output = run(lab(["wake", "--threads", "1,2..4"]).args(SHORT));
    assert_eq!(code(&output), Some(2), "a range is no part of a list: {}", errors(&output));

    let output = run(lab(["wake", "--threads", "1..3"]).args(SHORT));
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
fn a_sweep_is_as_many_rows_of_the_result_file() {
    let row = ["throughput", "--messages=1e1..1e2", "--producers", "1,3", "--rounds", "1"];
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
fn results_are_appended_to_a_table_with_one_heading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.csv");
    for runs in 1..=2 {
        let output = run(lab(["wake", "--threads", "1"]).args(SHORT).arg("--csv").arg(&path));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        let records = records(&path);
        assert_eq!(records.len(), 1 + 6 * runs, "{records:?}");
        let column = |name: &str| {
            let index = records[0].iter().position(|column| column == name).expect("a column");
            records[1..].iter().map(|record| record[index].as_str()).collect::<Vec<_>>()
        };
        assert_eq!(column("options")[0], "--threads 1 --shots 2");
        assert_eq!(column("target"), ["threadpool"].repeat(6 * runs));
        let metrics = ["start", "start-p99", "start-p99.9", "start-max", "submit", "cpu"];
        assert_eq!(column("metric"), metrics.repeat(runs));
        assert_eq!(column("rounds"), ["2"].repeat(6 * runs));
        assert_eq!(column("complete"), ["true"].repeat(6 * runs));
        for median in column("median") {
            assert!(median.parse::<f64>().expect("a number") >= 0.0, "{median}");
        }
    }
}

#[test]
fn a_file_that_is_no_such_table_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("letter.txt");
    fs::write(&path, "Dear reader,\n").expect("a letter");
    for option in ["--csv", "--samples"] {
        let row = ["latency", "--bursts", "1", "--rounds", "1", "--target", "rayon"];
        let output = run(lab(row).arg(option).arg(&path));
        assert_eq!(code(&output), Some(2), "{}", errors(&output));
        assert!(errors(&output).contains("other columns"), "{}", errors(&output));
        assert_eq!(fs::read_to_string(&path).expect("the letter"), "Dear reader,\n");
        let output = run(lab(row).arg(option).arg(folder.path()));
        assert_eq!(code(&output), Some(2), "{}", errors(&output));
    }
    let output = run(lab(["wake"]).arg("--csv").arg(folder.path().join("no/such/folder")));
    assert_eq!(code(&output), Some(3), "{}", errors(&output));
}

#[test]
fn the_single_values_are_those_of_the_rounds_that_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.csv");
    let row = ["latency", "--bursts", "3", "--messages", "5", "--sleep-ms", "0", "--rounds", "2"];
    let output = run(lab(row).args(["--target", "rayon,brigade", "--samples"]).arg(&path));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let records = records(&path);
    assert_eq!(records[0], ["workload", "options", "target", "round", "seconds"]);
    assert_eq!(records.len(), 1 + 2 * 2 * 3, "of two targets, two rounds and three bursts");
    for target in ["rayon", "brigade"] {
        for round in ["1", "2"] {
            let of = |record: &&Vec<String>| record[2] == target && record[3] == round;
            let values: Vec<f64> = records[1..]
                .iter()
                .filter(of)
                .map(|record| record[4].parse().expect("seconds"))
                .collect();
            assert!(values.len() == 3 && values.iter().all(|&value| value > 0.0), "{values:?}");
        }
    }
    let output = run(lab(["throughput"]).arg("--samples").arg(&path));
    assert_eq!(code(&output), Some(2), "it has none: {}", errors(&output));
}

#[test]
fn a_latency_goes_on_until_its_mean_is_certain() {
    let row = "latency --messages 1 --amplification 0 --sleep-ms 0 --bursts 2 --rounds 1 --target brigade";
    let folder = tempfile::tempdir().expect("a folder");
    // 100 per cent is certain enough after two, and one per cent never is after three.
    for (rse, most, bursts) in [("100", "50", 2..=50), ("1", "3", 2..=3)] {
        let path = folder.path().join(rse);
        let options = ["--rse", rse, "--most-bursts", most, "--json", "-", "--samples"];
        let output = run(lab(row.split(' ')).args(options).arg(&path));
        let report = json(&output);
        let of = |metric: &str| crate::median(&report, "brigade", metric);
        let ran = records(&path).len() - 1;
        assert!(bursts.contains(&ran), "{ran}");
        assert!(of("rse") <= 100.0 && (ran == 3 || of("rse") <= rse.parse().expect("a number")));
        // The farthest burst is at least as far from the mean as a quantile is, but for rounding.
        assert!(of("bound") >= (of("p99") - of("mean")).abs() * 0.999_999, "{report}");
    }
    assert_eq!(code(&run(&mut lab(["latency", "--most-bursts", "5"]))), Some(2), "needs --rse");
}

#[test]
fn details_are_in_the_tables_when_they_are_wanted() {
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

#[test]
fn two_results_that_would_go_to_one_file_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("s").display().to_string();
    for (one, other) in [
        (["--json", "s"], ["--csv", "s"]),
        (["--json", "s"], ["--html", "./s"]),
        (["--markdown", "s"], ["--samples", &whole]),
        (["--csv", "./s"], ["--samples", "s"]),
    ] {
        let output = run(lab(["fan-out", "--children", "2"])
            .args(SHORT)
            .args(one)
            .args(other)
            .current_dir(&folder));
        assert_eq!(code(&output), Some(2), "{one:?} {other:?}: {}", errors(&output));
        assert!(errors(&output).contains("only one of the files can be"), "{}", errors(&output));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    }
}
