//! A report shows what a result file says, on one page that needs no other. Nothing in the file becomes a part of the page.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{TINY, code, errors, lab, run, sheet, text};

/// A name that HTML, SVG, a shell and a terminal would interpret.
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

/// The page of this result file.
fn page(report: &Value) -> String {
    let output = shown(report, &["--html", "-"]);
    assert_eq!((code(&output), errors(&output)), (Some(0), String::new()));
    text(&output)
}

/// The parts of `page` from `start` to the next `end`.
fn parts<'a>(page: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    page.split(start).skip(1).map(|part| part.split(end).next().unwrap_or_default()).collect()
}

#[test]
fn every_row_has_picture_tables_and_command() {
    let page = page(&report());
    let row = |index: usize| parts(&page, &format!("<section id=\"row-{index}\""), "</section>")[0];
    for index in 0..5 {
        assert_eq!(row(index).matches("<svg ").count(), 1, "{}", row(index));
    }
    for word in
        ["It stands for burst.", "A note on burst.", "burst-pool                   no number: &lt;"]
    {
        assert!(row(3).contains(word), "{word}: {page}");
    }
    let command = "brigade-lab throughput --threads 4 --rounds 5 --target rayon,brigade,tokio";
    assert!(row(2).contains(command), "{page}");
    assert!(page.contains("\nboard: a board</pre>"), "{page}");
}

#[test]
fn the_answer_comes_first_with_links() {
    let page = page(&report());
    let (answer, burst) = (page.find("id=\"answer\""), page.find("id=\"row-3\""));
    assert!(answer.is_some_and(|answer| burst.is_some_and(|burst| answer < burst)), "{page}");
    let line = parts(&page, "href=\"#row-2\"", "</tr>").concat();
    for part in ["--threads 4", "4.00 (", "12.0 M/s", "rayon 3.00 M/s", "faster"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let ids = parts(&page, " id=\"", "\"");
    for link in parts(&page, "href=\"#", "\"") {
        assert!(ids.contains(&link), "{link}: {ids:?}");
    }
    assert_eq!(page.matches("<table").count(), page.matches("<caption").count());
    assert_eq!(page.matches("<th ").count(), page.matches("scope=").count());
}

#[test]
fn the_page_is_self_contained() {
    let page = page(&report());
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{page}");
    // The name of SVG, which nothing loads.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for part in
        ["http:", "https:", "src=", "url(", "@import", "<link", "<script", "<iframe", "\u{1b}"]
    {
        assert!(!page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("</style>").count(), 1, "{page}");
    let escaped =
        "&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;'&quot;&amp;|`$(id)\\u{1b}[31m";
    assert!(page.matches(escaped).count() > 5, "{page}");
    // What is to be copied into a shell is one word there.
    assert!(page.contains("brigade-lab '&lt;/style&gt;"), "{page}");
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
fn a_report_without_a_place_is_the_tables() {
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
    assert!(!said.contains("sender") && !said.contains('\u{1b}'), "{said}");
    assert!(text(&shown(&report(), &["--verbose"])).contains("\n  sender (less is better)"));
}

#[test]
fn a_poor_file_is_shown_as_far_as_it_goes() {
    let mut short = report();
    short.as_object_mut().expect("a file").remove("noise");
    for sheet in short["sheets"].as_array_mut().expect("sheets") {
        sheet.as_object_mut().expect("a row").remove("note");
    }
    let short = page(&short);
    assert!(
        short.contains("4.00 (4.00 to 4.00)") && short.matches("<svg ").count() == 5,
        "{short}"
    );

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
    let odd = page(&odd);
    let drawn = parts(&odd, "<svg", "</svg>").concat();
    for number in ["NaN", "inf", "e308", "\"-"] {
        assert!(!drawn.replace("1.00e308", "").contains(number), "{number}: {drawn}");
    }
    let mut empty = report();
    let mut failed = sheet("wake", json!({}), &[("start", "s", "lower")], &[]);
    let failure =
        |name: &str| json!({ "name": name, "peer": name == "rayon", "failure": "lost a job" });
    failed["lanes"] = json!(["brigade", "rayon"].map(failure));
    empty["sheets"] = json!([failed]);
    assert_eq!(
        page(&empty).matches(" no number: lost a job\n").count()
            + page(&empty).matches(" no number: lost a job<").count(),
        4
    );
    assert!(text(&shown(&empty, &[])).contains("nothing to compare in 1"));
    empty["sheets"] = json!([]);
    empty["complete"] = json!(false);
    assert!(page(&empty).contains("Not complete"), "an interrupted run");
}

#[test]
fn a_damaged_file_gets_one_line_and_no_page() {
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
        let (folder, results) = folder(content.as_bytes());
        let page = folder.path().join("page.html");
        let output = run(lab(["report"]).arg(results).arg("--html").arg(&page));
        assert_eq!(code(&output), Some(2), "{reason}: {}", errors(&output));
        assert!(errors(&output).contains("results.json is not a result file of the laboratory: "));
        assert!(errors(&output).contains(reason), "{reason}: {}", errors(&output));
        assert!(!page.exists() && text(&output).is_empty());
    }
}

#[test]
fn no_file_is_replaced_by_mistake() {
    let good = report().to_string();
    let (folder, results) = folder(good.as_bytes());
    let page = folder.path().join("page.html");
    fs::write(&page, "old").expect("an old page");
    let paths = [&results, &page].map(|path| path.to_str().expect("a path"));
    for (arguments, reason) in [
        (&["--html", paths[1]][..], "exists; --force replaces it"),
        (&["--html", paths[0], "--force"], "must not replace its result file"),
        (&["--html", paths[1], "--json", "-"], "--json"),
        (&["--force"], "--force replaces the file of --json or --html"),
        (&["--html", "page.html", "--rounds", "3"], "--rounds"),
        (&["--json", "-"], "--json"),
    ] {
        let output = run(lab(["report"]).arg(&results).args(arguments));
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(reason), "{reason}: {}", errors(&output));
    }
    assert_eq!(fs::read_to_string(&page).expect("a page"), "old");
    assert_eq!(fs::read_to_string(&results).expect("the results"), good);
    let output = run(lab(["report"]).arg(&results).args(["--html", paths[1], "--force"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(fs::read_to_string(&page).expect("a page").starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_run_writes_its_result_files_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    // What is named twice is measured once, or the file would have it twice.
    let output = run(lab(TINY)
        .args(["--threads", "1,1", "--json"])
        .arg(path("results.json"))
        .arg("--html")
        .arg(path("page.html")));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let again = text(&run(lab(["report"]).arg(path("results.json")).args(["--html", "-"])));
    assert_eq!(fs::read_to_string(path("page.html")).expect("a page"), again);
    assert!(again.contains("It stands for"), "{again}");
}
