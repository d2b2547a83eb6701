//! A chart shows what a result file says. What it cannot show is answered in one line, and no file changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{TINY, code, errors, lab, run, sheet, text};

/// A row with these options, and of each target a rate between 0.5 and 1.5 of this median.
fn row(workload: &str, params: Value, medians: &[(&str, f64)]) -> Value {
    let rounds = |median: f64| vec![vec![median * 0.5, median, median * 1.5]];
    let lanes: Vec<_> = medians.iter().map(|(name, median)| (*name, rounds(*median))).collect();
    sheet(workload, params, &[("rate", "tasks/s", "higher")], &lanes)
}

/// A result file with one set of options of `throughput` and two of `fairness`.
fn report() -> Value {
    let threads = |threads: u64| json!({ "threads": threads, "millis": 20 });
    json!({
        "schema": 2, "complete": true,
        "machine": {
            "cpus": 2, "affinity": null, "cpu_model": "a <model>", "kernel": "Linux 6.1",
            "arch": "x86_64", "rustc": "rustc 1.85.0", "debug": false, "version": "0.1.0",
            "date": "2025-01-02T03:04:05Z", "seed": 7, "hogs": 0,
        },
        "sheets": [
            row("throughput", json!({ "pre": 0, "threads": 2 }), &[("rayon", 3e6), ("brigade", 38.2e6)]),
            row("fairness", threads(1), &[("brigade", 1e6)]),
            row("fairness", threads(2), &[("brigade", 2e6)]),
        ],
    })
}

/// A folder with `results.json` in it.
fn folder(report: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results.json");
    fs::write(&results, report).expect("a result file");
    (folder, results)
}

/// A chart of `results` to stdout.
fn chart(results: &Path, arguments: &[&str]) -> Output {
    run(lab(["chart"]).arg(results).args(["--svg", "-"]).args(arguments))
}

/// The texts of an SVG document, in their order.
fn texts(svg: &str) -> Vec<&str> {
    let texts = svg.split("</t").filter_map(|part| part.rsplit_once('>'));
    texts.map(|(_, text)| text.trim()).filter(|text| !text.is_empty()).collect()
}

#[test]
fn a_chart_has_a_bar_per_target_and_its_source() {
    let (_folder, results) = folder(&report().to_string());
    let output = chart(&results, &["--workload", "throughput"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert_eq!(errors(&output), "");
    let svg = text(&output);
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for said in [
        "throughput: rate (more is better)",
        "brigade",
        "38.2 M/s",
        "rayon",
        "3.00 M/s",
        "brigade-lab 0.1.0 on 2 × a &lt;model&gt;, Linux 6.1 x86_64",
        "rustc 1.85.0, 2025-01-02T03:04:05Z, seed 7",
        "brigade-lab throughput --pre 0 --threads 2 --rounds 3 --target rayon,brigade",
    ] {
        assert!(texts(&svg).contains(&said), "{said}: {svg}");
    }
}

#[test]
fn chart_options_choose_its_content() {
    let (_folder, results) = folder(&report().to_string());
    let shown = |arguments: &[&str], expected: &str| {
        let output = chart(&results, arguments);
        assert_eq!(code(&output), Some(0), "{arguments:?}: {}", errors(&output));
        let svg = text(&output);
        assert!(texts(&svg).contains(&expected), "{arguments:?}: {svg}");
        svg
    };
    for choice in ["threads=2", "threads=2,millis=20", "millis=20,threads=2"] {
        shown(&["--workload", "fairness", "--where", choice], "2.00 M/s");
    }
    shown(&["--workload", "throughput", "--title", "Tasks & more"], "Tasks &amp; more");
    let svg = shown(&["--workload", "throughput", "--targets", "rayon"], "rayon");
    assert!(!texts(&svg).contains(&"brigade"), "{svg}");
}

#[test]
fn a_missing_row_is_answered_with_the_present_ones() {
    let (_folder, results) = folder(&report().to_string());
    for (arguments, reason) in [
        (
            &["--workload", "wake"][..],
            "leave 0 rows, and not one, of: throughput --pre 0 --threads 2; fairness ",
        ),
        (
            &["--workload", "fairness"],
            "leave 2 rows, and not one, of: throughput --pre 0 --threads 2; fairness --threads 1",
        ),
        (&["--workload", "fairness", "--where", "threads=3"], "leave 0 rows"),
        (&["--workload", "fairness", "--where", "core=3"], "leave 0 rows"),
        (&["--workload", "throughput", "--metric", "p50"], "it has rate"),
        (&["--workload", "throughput", "--targets", "tokio"], "has no result of tokio"),
        (&["--workload", "throughput", "--where", "threads"], "leave 0 rows"),
        (&["--workload", "throughput", "--target", "rayon"], "--target"),
        (&["--workload", "throughput", "--rounds", "3"], "--rounds"),
        (&[], "--workload"),
    ] {
        let output = chart(&results, arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(reason), "{arguments:?}: {}", errors(&output));
        assert_eq!(errors(&output).lines().count(), 2, "{arguments:?}: {}", errors(&output));
        assert_eq!(text(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_file_without_results_says_so() {
    let mut other = report();
    other["schema"] = 1.into();
    let mut without = report();
    without["sheets"][0]["lanes"] = Value::Null;
    for content in ["", "{", "[]", "{}", "{\"schema\": 2}", "<svg/>"]
        .map(str::to_owned)
        .into_iter()
        .chain([other.to_string(), without.to_string()])
    {
        let (_folder, results) = folder(&content);
        let output = chart(&results, &["--workload", "throughput"]);
        assert_eq!(code(&output), Some(2), "{content}: {}", errors(&output));
        let reason = "results.json is not a result file of the laboratory: ";
        assert!(errors(&output).contains(reason), "{content}: {}", errors(&output));
    }
    let (folder, _) = folder("");
    let missing = folder.path().join("missing");
    for (path, reason) in [(&*missing, "can't be read"), (folder.path(), "directory")] {
        let output = chart(path, &["--workload", "throughput"]);
        assert_eq!(code(&output), Some(2), "{}", errors(&output));
        assert!(errors(&output).contains(reason), "{}", errors(&output));
    }
}

#[test]
fn only_force_replaces_an_old_chart() {
    let (folder, results) = folder(&report().to_string());
    let path = folder.path().join("chart.svg");
    fs::write(&path, "old").expect("an old file");
    let draw = |arguments: &[&str]| {
        run(lab(["chart"]).arg(&results).arg("--svg").arg(&path).args(arguments))
    };
    for arguments in [&["--workload", "throughput"][..], &["--workload", "wake", "--force"]] {
        let output = draw(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", errors(&output));
        assert_eq!(fs::read_to_string(&path).expect("still there"), "old", "{arguments:?}");
    }
    let output = draw(&["--workload", "throughput", "--force"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(fs::read_to_string(&path).expect("a chart").starts_with("<svg "));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2, "nothing else left");
}

#[test]
fn no_chart_replaces_its_result_file() {
    let report = report().to_string();
    let (folder, results) = folder(&report);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&results, &link).expect("a link");
    for svg in [&results, &link] {
        let output = run(lab(["chart", "--workload", "throughput", "--force", "--svg"])
            .arg(svg)
            .arg(&results));
        assert_eq!(code(&output), Some(2), "{}", errors(&output));
        assert_eq!(fs::read_to_string(&results).expect("the results"), report);
    }
}

#[test]
fn an_unwritable_place_is_refused() {
    let (folder, results) = folder(&report().to_string());
    let missing = folder.path().join("missing/chart.svg");
    let output = run(lab(["chart", "--workload", "throughput", "--svg"]).arg(missing).arg(results));
    assert_eq!(code(&output), Some(3), "{}", errors(&output));
}

#[test]
fn the_laboratorys_files_can_be_drawn() {
    let measured = run(lab(TINY).args(["--json", "-"]));
    let (_folder, results) = folder(&text(&measured));
    for metric in ["start", "submit", "cpu"] {
        let output = chart(&results, &["--workload", "wake", "--metric", metric]);
        assert_eq!(code(&output), Some(0), "{metric}: {}", errors(&output));
        let title = format!("wake: {metric} (less is better)");
        assert!(texts(&text(&output)).contains(&title.as_str()), "{}", text(&output));
    }
}
