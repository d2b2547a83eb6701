//! A report shows what a result file says. Nothing in the file commands the terminal.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{TINY, code, errors, json as json_of, lab, list, run, sheet, text};

/// A name that a shell and a terminal would interpret.
const HOSTILE: &str = "</style><script>alert(1)</script>'\"&|`$(id)\u{1b}[31m\u{202e}";

/// A result file: a sweep over threads, a row with percentiles, and one with hostile words.
fn report() -> Value {
    let row = |workload: &str, params, metrics: &[(&str, &str, &str)], values: &[(&str, f64)]| {
        let rounds = |value: f64| [0.9, 1.0, 1.1, 1.0, 1.2].map(|factor| factor * value).to_vec();
        let lane = |&(name, value): &(_, f64)| (name, vec![rounds(value); metrics.len()]);
        sheet(workload, params, metrics, &values.iter().map(lane).collect::<Vec<_>>())
    };
    let sweep = [1, 2, 4].map(|threads| {
        let values = [("rayon", 3e6), ("brigade", 3e6 * f64::from(threads)), ("tokio", 1e6)];
        row("throughput", json!({ "threads": threads }), &[("rate", "tasks/s", "higher")], &values)
    });
    let percentiles = ["p50", "p90", "p99", "max", "sender"].map(|name| (name, "s", "lower"));
    let values = [("brigade", 1e-5), ("spmc", 2e-5)];
    let mut burst = row("burst", json!({ "gap-ms": 1 }), &percentiles, &values);
    let failed = json!({ "name": "burst-pool", "peer": true, "failure": HOSTILE });
    burst["lanes"].as_array_mut().expect("lanes").push(failed);
    let values = [(HOSTILE, 1.0), ("brigade", 2.0)];
    let hostile = row(HOSTILE, json!({ HOSTILE: HOSTILE }), &[(HOSTILE, "s", "lower")], &values);
    let sheets: Vec<_> = sweep.into_iter().chain([burst, hostile]).collect();
    json!({
        "schema": 2, "complete": true,
        "machine": {
            "cpus": 2, "cpu_model": HOSTILE, "kernel": "Linux 6.1", "arch": "x86_64",
            "rustc": "rustc 1.85.0", "debug": false, "version": "0.1.0",
            "date": "2025-01-02T03:04:05Z", "seed": 7, "hogs": 0, "affinity": null, "board": "a board",
        },
        "noise": {
            "before": { "load": 0.31, "governor": "performance" },
            "after": { "load": 1.9, "governor": "powersave" },
            "whole": { "seconds": 9.0, "other_cpus": 0.02, "stolen_cpus": 0.1 },
        },
        "sheets": sheets,
    })
}

/// A folder with `results.json` in it.
fn folder(content: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results.json");
    fs::write(&results, content).expect("a result file");
    (folder, results)
}

/// What becomes of this result file with these arguments.
fn shown(report: &Value, arguments: &[&str]) -> Output {
    let (_folder, results) = folder(report.to_string().as_bytes());
    run(lab(["report"]).arg(results).args(arguments))
}

/// The tables of this result file.
fn tables(report: &Value) -> String {
    let output = shown(report, &[]);
    assert_eq!((code(&output), errors(&output)), (Some(0), String::new()));
    text(&output)
}

#[test]
fn a_percentile_of_few_values_is_refused() {
    let shown_with = |values: &[u64]| {
        let mut report = report();
        report["sheets"] = json!([report["sheets"][3]]);
        let spent: Vec<_> = values.iter().map(|count| json!({ "count": count })).collect();
        report["sheets"][0]["lanes"][1]["spent"] = spent.into();
        text(&shown(&report, &[]))
    };
    let line = |said: &str| {
        said.lines().find(|line| line.starts_with("  p99 ")).expect("a line").trim().to_owned()
    };
    let said = line(&shown_with(&[400, 300, 100, 99, 101]));
    assert!(said.ends_with("99 values of a round are too few: it takes 100"), "{said}");
    let said = line(&shown_with(&[300, 200, 100, 299, 100]));
    assert!(said.ends_with("999 values are too few: it takes 1000"), "{said}");
    let said = line(&shown_with(&[300, 200, 100, 300, 100]));
    assert!(said.ends_with("CPUs  of 1,000 values"), "{said}");
    assert!(line(&shown_with(&[u64::MAX; 5])).contains("CPUs  of "), "whatever a file says");
}

#[test]
fn a_report_has_the_tables_and_the_answer() {
    let output = shown(&report(), &[]);
    assert_eq!((code(&output), errors(&output)), (Some(0), String::new()));
    let said = text(&output);
    for part in [
        "\nthroughput --threads 4\n",
        "\n  rate (more is better)",
        "The answer: ",
        "\nrustc 1.85.0, 2025-01-02T03:04:05Z, seed 7\n",
        "\nboard: a board\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_poor_file_is_shown_as_far_as_it_goes() {
    let mut short = report();
    short.as_object_mut().expect("a file").remove("noise");
    for sheet in short["sheets"].as_array_mut().expect("sheets") {
        sheet.as_object_mut().expect("a row").remove("note");
    }
    let short = tables(&short);
    assert!(short.contains("4.00 (4.00 to 4.00)"), "{short}");

    let mut odd = report();
    let samples = [json!([1e308, -1e308, 1e-308, 0.0]), json!([]), json!([0.0]), json!([-1.0])];
    let mut samples = samples.iter().cycle();
    for sheet in odd["sheets"].as_array_mut().expect("sheets") {
        for lane in sheet["lanes"].as_array_mut().expect("lanes") {
            for of in lane.get_mut("values").and_then(Value::as_array_mut).into_iter().flatten() {
                *of = samples.next().expect("endless").clone();
            }
        }
    }
    let odd = tables(&odd);
    for number in ["NaN", "inf"] {
        assert!(!odd.contains(number), "{number}: {odd}");
    }
    let mut empty = report();
    let mut failed = sheet("wake", json!({}), &[("start", "s", "lower")], &[]);
    let failure =
        |name: &str| json!({ "name": name, "peer": name == "rayon", "failure": "lost a job" });
    failed["lanes"] = json!(["brigade", "rayon"].map(failure));
    empty["sheets"] = json!([failed]);
    assert_eq!(tables(&empty).matches(" no number: lost a job\n").count(), 2);
    assert!(tables(&empty).contains("nothing to compare in 1"));
    empty["sheets"] = json!([]);
    empty["complete"] = json!(false);
    assert!(tables(&empty).contains("not complete"), "an interrupted run");
}

#[test]
fn a_damaged_file_gets_one_line() {
    let good = report().to_string();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut report = report();
        change(&mut report["sheets"]);
        report.to_string()
    };
    let twice = with(&|sheets| sheets[1] = sheets[0].clone());
    let same = with(&|sheets| sheets[0]["lanes"][1] = sheets[0]["lanes"][0].clone());
    let alike = with(&|sheets| sheets[3]["metrics"][1] = sheets[3]["metrics"][0].clone());
    let long = with(&|sheets| sheets[0]["lanes"][0]["values"][0] = json!(vec![1.0; 1_001]));
    let headless = with(&|sheets| sheets[0]["headline"] = json!(1));
    let wide = with(&|sheets| sheets[0]["lanes"][0]["values"] = json!([[1.0], [1.0]]));
    for (content, reason) in [
        (String::new(), "EOF while parsing a value at line 1 column 0"),
        (good[..good.len() / 2].to_owned(), "EOF while parsing"),
        (good.replacen("\"schema\":2", "\"schema\":3", 1), "its schema is 3"),
        (good.replacen("\"schema\":2", "\"schema\":1", 1), "reads schema 2: measure again"),
        (good.replacen("[2700000.0", "[NaN", 1), "expected value at line 1 column"),
        (format!("{{\"schema\": 2, \"x\": {}", "[".repeat(100_000)), "at line 1 column"),
        (long, "rayon has more than 1000 rounds in throughput --threads 1"),
        (twice, "it has throughput --threads 1 twice"),
        (same, "it has rayon in throughput --threads 1 twice"),
        (alike, "it has p50 in burst --gap-ms 1 twice"),
        (headless, "throughput --threads 1 names a metric that it does not have"),
        (wide, "throughput --threads 1 names a metric that it does not have"),
    ] {
        let (_folder, results) = folder(content.as_bytes());
        let output = run(lab(["report"]).arg(results));
        assert_eq!(code(&output), Some(2), "{reason}: {}", errors(&output));
        assert!(errors(&output).contains("results.json is not a result file of the laboratory: "));
        assert!(errors(&output).contains(reason), "{reason}: {}", errors(&output));
        assert!(text(&output).is_empty());
    }
}

#[test]
fn a_report_writes_no_file() {
    let (_folder, results) = folder(report().to_string().as_bytes());
    for option in [&["--json", "-"][..], &["--force"], &["--rounds", "3"]] {
        let output = run(lab(["report"]).arg(&results).args(option));
        assert_eq!(code(&output), Some(2), "{option:?}: {}", errors(&output));
        assert!(errors(&output).contains(option[0]), "{}", errors(&output));
    }
}

#[test]
fn a_value_named_twice_is_measured_once() {
    let output = run(lab(TINY).args(["--threads", "1,1", "--json", "-"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert_eq!(list(&json_of(&output)["sheets"]).len(), 1);
}
