//! Two result files are compared beyond their noise, and files that are none are answered in one line.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{TINY, code, errors, lab, run, sheet, text};

/// The samples of one side.
const SAMPLES: [f64; 5] = [1.0e-6, 1.1e-6, 1.2e-6, 1.0e-6, 1.1e-6];

/// A result file in which brigade has these times and this rate.
fn report(times: &[f64], rates: &[f64]) -> Value {
    let metrics = [("start", "s", "lower"), ("rate", "tasks/s", "higher")];
    let values = vec![times.to_vec(), rates.to_vec()];
    json!({
        "schema": 2, "complete": true,
        "machine": {
            "cpus": 2, "cpu_model": "a model", "kernel": "Linux 6.1", "arch": "x86_64",
            "rustc": "rustc 1.85.0", "debug": false, "version": "0.1.0",
            "date": "2025-01-02T03:04:05Z", "seed": 7, "hogs": 0,
        },
        "sheets": [sheet("wake", json!({ "shots": 2 }), &metrics, &[("brigade", values)])],
    })
}

/// The file with a peer more, which has the values of brigade.
fn with_peer(mut file: Value, name: &str) -> Value {
    let mut lane = file["sheets"][0]["lanes"][0].clone();
    (lane["name"], lane["peer"]) = (name.into(), true.into());
    file["sheets"][0]["lanes"].as_array_mut().expect("lanes").push(lane);
    file
}

/// The usual times, all of them this many times as long.
fn times(factor: f64) -> Value {
    report(&SAMPLES.map(|time| time * factor), &[1e6; 5])
}

/// A folder with these files.
fn folder(files: &[&[u8]]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |index| folder.path().join(format!("{index}.json"));
    let paths: Vec<_> = (0..files.len()).map(path).collect();
    paths.iter().zip(files).for_each(|(path, file)| fs::write(path, file).expect("a file"));
    (folder, paths)
}

/// Compares these files, with further arguments.
fn compare(files: &[Value], arguments: &[&str]) -> Output {
    let files: Vec<_> = files.iter().map(|file| file.to_string().into_bytes()).collect();
    let (_folder, paths) = folder(&files.iter().map(|file| &file[..]).collect::<Vec<_>>());
    run(lab(["compare"]).args(paths).args(arguments))
}

#[test]
fn a_file_does_not_differ_from_itself() {
    let output = compare(&[times(1.0), times(1.0)], &["--fail-above", "0%"]);
    assert_eq!((code(&output), errors(&output)), (Some(0), String::new()));
    assert_eq!(text(&output).trim(), "better in 0, worse in 0, no difference in 2");
    let output = compare(&[times(1.0), times(1.0)], &["--verbose"]);
    let said = text(&output);
    let line = |metric: &str| said.lines().find(|line| line.contains(metric)).expect("a line");
    assert!(line("start").contains("1.10 µs     1.10 µs  1.00 (1.00 to 1.00)"), "{said}");
    assert!(
        line("start").ends_with("no difference") && said.contains("\nwake --shots 2\n"),
        "{said}"
    );
}

#[test]
fn only_twice_the_time_or_half_the_rate_fails() {
    let slow_rate = report(&SAMPLES, &[5e5; 5]);
    for (new, metric, shown) in
        [(times(2.0), "start", "worse in 1"), (slow_rate, "rate", "worse in 1")]
    {
        let output = compare(&[times(1.0), new], &["--fail-above", "10%"]);
        assert_eq!(code(&output), Some(1), "{}", text(&output));
        let expected = format!(
            "1 of 2 slower by more than 10% beyond the noise: {metric} of brigade in wake --shots 2, speed-up 0.50 \
             (0.50 to 0.50)"
        );
        assert!(errors(&output).contains(&expected), "{}", errors(&output));
        assert!(text(&output).contains(shown), "{}", text(&output));
    }
    for arguments in [&[][..], &["--fail-above", "150"]] {
        let output = compare(&[times(1.0), times(2.0)], arguments);
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
    }
    let output = compare(&[times(2.0), times(1.0)], &["--fail-above", "10%"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(text(&output).contains("2.00 (2.00 to 2.00)   faster"), "{}", text(&output));
}

#[test]
fn only_a_lost_target_fails_not_a_peer() {
    let with_rayon = |file: Value| with_peer(file, "rayon");
    let mut without = with_rayon(times(1.0));
    without["sheets"][0]["lanes"][0]["values"][0] = json!([]);
    let output = compare(&[with_rayon(times(1.0)), without], &["--fail-above", "10%"]);
    assert_eq!(code(&output), Some(1), "{}", text(&output));
    let lost = "without a number now: start of brigade in wake --shots 2";
    assert!(errors(&output).contains(lost), "{}", errors(&output));
    let output = compare(&[with_rayon(times(1.0)), times(1.0)], &["--fail-above", "10%"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));

    for (target, expected) in [("brigade-lifo", 1), ("rayon", 0)] {
        let mut failed = times(1.0);
        failed["sheets"][0]["lanes"].as_array_mut().expect("lanes").push(json!({
            "name": target, "peer": target == "rayon", "failure": "lost a\u{1b} task",
        }));
        let output = compare(&[times(1.0), failed], &["--fail-above", "10%"]);
        assert_eq!(code(&output), Some(expected), "{target}: {}", errors(&output));
        let reason = format!("{target} in wake --shots 2: lost a\\u{{1b}} task");
        assert_eq!(errors(&output).contains(&reason), expected == 1, "{}", errors(&output));
    }
}

#[test]
fn noise_passes_and_few_rounds_cannot_tell() {
    let noisy = report(&[1.3e-6, 0.9e-6, 1.6e-6, 0.9e-6, 1.3e-6], &[1e6; 5]);
    let output = compare(&[times(1.0), noisy], &["--fail-above", "10%"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let said = text(&output);
    assert!(said.contains("worse in 0, no difference in 1, unclear in 1"), "{said}");

    let short = |factor: f64| report(&SAMPLES.map(|time| time * factor)[..3], &[1e6; 3]);
    let output = compare(&[short(1.0), short(2.0)], &["--fail-above", "10%"]);
    assert_eq!(code(&output), Some(2), "{}", text(&output));
    assert!(errors(&output).contains("can't tell"), "{}", errors(&output));
    assert!(text(&output).contains("too few rounds to tell in 2"), "{}", text(&output));
    // Pairs of files are rounds of one comparison.
    let pairs = [short(1.0), short(2.0), short(1.0), short(2.0)];
    let output = compare(&pairs, &["--fail-above", "10%"]);
    assert_eq!(code(&output), Some(1), "{}", errors(&output));
}

#[test]
fn with_processes_a_file_is_one_round() {
    let arguments = ["--processes", "--fail-above", "3%"];
    for (factor, code_expected, ratio, word) in [
        (1.1, Some(1), "0.91 (0.91 to 0.91)", "worse"),
        (1.02, Some(0), "0.98 (0.98 to 0.98)", "not worse"),
    ] {
        let pairs = [(); 5].map(|()| [times(1.0), times(factor)]).concat();
        let output = compare(&pairs, &arguments);
        let said = text(&output);
        assert_eq!(code(&output), code_expected, "{said}");
        let lines: Vec<_> = said.lines().filter(|line| line.starts_with("  brigade")).collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert!(lines[0].contains(ratio) && lines[0].trim_end().ends_with(word), "{said}");
    }
    let output = compare(&[times(1.0), times(2.0)], &arguments);
    assert_eq!(code(&output), Some(2), "{}", text(&output));
    assert!(text(&output).contains("too few pairs"), "{}", text(&output));
}

#[test]
fn values_near_0_or_in_one_file_are_not_compared() {
    let none = report(&[0.0; 5], &[]);
    let output = compare(&[none.clone(), none], &["--verbose"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(text(&output).contains("nothing to compare in 1"), "{}", text(&output));
    assert!(!text(&output).contains("NaN") && !text(&output).contains("inf"), "{}", text(&output));

    let old = with_peer(times(1.0), "rayon\u{1b}[31m");
    let mut other = with_peer(old.clone(), "tokio");
    other["machine"]["cpus"] = 64.into();
    let output = compare(&[old, other], &["--verbose"]);
    assert!(text(&output).contains("2 only in one of two files"), "{}", text(&output));
    assert!(text(&output).contains("the machines, their kernels or the settings differ"));
    let shown = text(&output);
    assert!(shown.contains("rayon\\u{1b}[31m") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn a_round_without_a_number_moves_no_other() {
    let gap = |value: f64| {
        let mut file = report(&[9e-6, value, value, value, value, value], &[1e6; 5]);
        file["sheets"][0]["lanes"][0]["values"][0][0] = Value::Null;
        file
    };
    let all = report(&[9e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6], &[1e6; 5]);
    for (old, new) in [(gap(2e-6), all.clone()), (all, gap(5e-7))] {
        let output = compare(&[old, new], &[]);
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        assert!(text(&output).contains("2.00 (2.00 to 2.00)   faster"), "{}", text(&output));
    }
}

#[test]
fn each_hostile_file_gets_a_line_with_the_place() {
    let good = times(1.0).to_string();
    let with = |old: &str, new: &str| good.replacen(old, new, 1).into_bytes();
    let deep = format!("{{\"schema\": 2, \"x\": {}", "[".repeat(1_000_000));
    let nested = format!("{{\"shots\":{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let deep_option = with("{\"shots\":2", &nested);
    assert!(good.contains("1e-6"), "{good}");
    for (content, reason) in [
        (Vec::new(), "EOF while parsing a value at line 1 column 0"),
        (good.as_bytes()[..good.len() / 2].to_vec(), "EOF while parsing"),
        (with("[1e-6", "[NaN"), "expected value at line 1 column"),
        (with("[1e-6", "[[]"), "expected f64 at line 1 column"),
        (with("[1e-6", "[1e999"), "number out of range at line 1 column"),
        (with("\"cpus\":2", "\"cpus\":99999999999999999999999"), "at line 1 column"),
        (deep.into_bytes(), "at line 1 column"),
        (deep_option, "recursion limit exceeded at line 1 column"),
        (with("\"schema\":2", "\"schema\":1"), "its schema is 1, and this program reads schema 2"),
        (with("\"name\":\"start\"", "\"name\":\"\\ud800\""), "at line 1 column"),
        (vec![0xFF, 0xFE, 0x00], "expected value at line 1 column 1"),
        (
            b"{\n\"schema\": 2,\n\"machine\": 7}".to_vec(),
            "expected struct Machine at line 3 column",
        ),
    ] {
        for hostile in 0..2 {
            let mut files = [good.as_bytes(), good.as_bytes()];
            files[hostile] = &content;
            let (_folder, paths) = folder(&files);
            let output = run(lab(["compare"]).args(paths));
            assert_eq!(code(&output), Some(2), "{reason}: {}", errors(&output));
            let expected = format!("{hostile}.json is not a result file of the laboratory: ");
            assert!(errors(&output).contains(&expected), "{expected}: {}", errors(&output));
            assert!(errors(&output).contains(reason), "{reason}: {}", errors(&output));
            assert_eq!(text(&output), "");
        }
    }
    let huge = report(&[1e308, -1e308, 1e300, 1e-300, 1e308], &[f64::MAX; 5]);
    let output = compare(&[times(1.0), huge], &["--verbose"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(
        text(&output).contains("1.00e300 s") && !text(&output).contains("inf"),
        "{}",
        text(&output)
    );
}

#[test]
fn invalid_comparisons_are_refused() {
    let (good, mut other) = (times(1.0), times(1.0));
    other["sheets"][0]["workload"] = "throughput".into();
    for (files, arguments, reason) in [
        (vec![good.clone()], &[][..], "2 values required"),
        (vec![good.clone(); 3], &[], "each old result file needs a new one"),
        (vec![good.clone(), other], &[], "no workload and target in common"),
        (vec![good.clone(); 2], &["--fail-above=-1"], "0% to 1000%"),
        (vec![good.clone(); 2], &["--fail-above", "NaN"], "0% to 1000%"),
        (vec![good.clone(); 2], &["--rounds", "3"], "--rounds"),
        (vec![good; 2], &["--json", "-"], "--json"),
    ] {
        let output = compare(&files, arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", text(&output));
        assert!(errors(&output).contains(reason), "{arguments:?}: {}", errors(&output));
    }
}

#[test]
fn the_laboratorys_files_are_comparable() {
    let measured = run(lab(TINY).args(["--json", "-"]));
    let (_folder, paths) = folder(&[&measured.stdout, &measured.stdout]);
    let output = run(lab(["compare"]).args(paths));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(text(&output).contains("better in 0, worse in 0"), "{}", text(&output));
}
