//! A run of several workloads ends with one table that says how brigade compares.

use std::fs;

use crate::{code, errors, flat, lab, run, text};

/// The answer of this output: from its heading to the line that counts.
fn answer(output: &str) -> &str {
    let (_, rest) = output.split_once("The answer: ").unwrap_or_else(|| panic!("none: {output}"));
    rest.split("\n\n").next().unwrap_or_default()
}

#[test]
fn each_row_has_its_best_median_peer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    let rows = [
        "channels",
        "--kind",
        "all",
        "--capacity",
        "100,unbounded",
        "--messages",
        "200",
        "--target",
        "brigade,tokio,smol",
    ];
    let output = run(lab(rows).arg("--json").arg(&path));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let said = text(&output);
    let lines: Vec<_> =
        answer(&said).lines().filter(|line| line.starts_with("  send messages")).collect();
    let report = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("results");
    let report = flat(report);
    let results = report["results"].as_array().expect("results");
    let messages = |target: &str| {
        let of = results.iter().filter(move |result| result["target"] == target);
        let of = of.filter(|result| result["metric"] == "message");
        of.map(|result| result["median"].as_f64().expect("a number")).collect::<Vec<_>>()
    };
    let (tokio, smol) = (messages("tokio"), messages("smol"));
    assert_eq!((lines.len(), tokio.len()), (6, 6), "three kinds, bounded and not: {said}");
    for (line, (tokio, smol)) in lines.iter().zip(tokio.iter().zip(&smol)) {
        let best = if tokio < smol { " tokio " } else { " smol " };
        assert!(line.contains(best), "{best}: {said}");
        // Other tests run beside this one.
        let line = line.trim_end_matches(" *");
        let words = ["faster", "slower", "no difference", "unclear"];
        let verdict = words.iter().any(|word| line.ends_with(word));
        assert!(verdict && line.contains(" to "), "{line}");
    }
    assert!(said.contains("\nIt stands for producers and consumers"), "{said}");
    assert!(said.contains("\n    --kind flume --capacity unbounded\n"), "{said}");
    assert!(said.trim_end().ends_with("says more."), "{said}");
}

#[test]
fn all_has_a_metric_per_workload_and_warns_of_few_rounds() {
    let rows = ["all", "--rounds", "1", "--target", "segqueue,brigade-injector,spmc,brigade-burst"];
    for (further, is_verbose) in [(None, false), (Some("--verbose"), true)] {
        let output = run(lab(rows).args(further));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        let said = text(&output);
        // Two workloads of two targets each, one of them with two tables.
        assert!(said.contains("\n3 rows, 12 runs\n"), "{said}");
        assert!(
            answer(&said).contains("too few rounds to tell in 3: take 5 rounds or more"),
            "{said}"
        );
        assert!(answer(&said).contains(" segqueue ") && answer(&said).contains(" spmc "), "{said}");
        for metric in ["p50", "p1", "sender"] {
            let heading = format!("\n  {metric} (less is better)");
            assert_eq!(said.contains(&heading), is_verbose, "{metric}: {said}");
        }
    }
}

#[test]
fn one_workload_or_side_alone_has_no_answer() {
    for (rows, expected) in [
        (
            &["wake", "--shots", "2", "--target", "brigade,rayon", "--rounds", "1"][..],
            "\n1 row, 4 runs\n",
        ),
        (
            &[
                "channels",
                "--senders",
                "1",
                "--messages",
                "50",
                "--target",
                "brigade",
                "--rounds",
                "1",
            ],
            "\n1 row, 2 runs\n",
        ),
    ] {
        let output = run(&mut lab(rows));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        assert!(!text(&output).contains("The answer"), "{}", text(&output));
        assert_eq!(text(&output).matches(expected).count(), 1, "{}", text(&output));
    }
}
