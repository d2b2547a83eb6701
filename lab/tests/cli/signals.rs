//! A signal ends the laboratory soon; the results so far are written and marked as incomplete.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use brigade_testkit::Watchdog;

use crate::{LONG, errors, lab, until};

/// A long run that has begun and writes its results to these places.
fn begin(places: &[(&str, &OsStr)]) -> Child {
    let mut child = lab(LONG)
        .args(places.iter().flat_map(|(option, path)| [option.as_ref(), *path]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the laboratory starts");
    // The threads of a target are there only once the signals are listened for.
    let tasks = format!("/proc/{}/task", child.id());
    until("a target runs", || {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() >= 5)
    });
    child
}

/// Sends the signal with this name.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
    assert!(sent.expect("a shell").success());
}

#[test]
fn a_signal_leaves_partial_results_in_two_seconds() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        for wait in [0, 30, 1_500] {
            let child = begin(&[("--json", "-".as_ref())]);
            thread::sleep(Duration::from_millis(wait));
            let _watchdog = Watchdog::start(2);
            signal(&child, name);
            let output = child.wait_with_output().expect("an end");
            assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
            let report = crate::json(&output);
            assert_eq!(report["complete"], false);
        }
    }
}

#[test]
fn an_interrupted_run_prints_its_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = folder.path().join("ran");
    let note = format!("echo >>{}", ran.display());
    // No interval is that narrow: it goes on beyond its five rounds.
    let row = "bucket-brigade --over channel --tasks 2 --iterations 1 --until 0% --at-most 3600 --target brigade,tokio";
    let mut command = lab(row.split(' '));
    command.arg("--command").arg(note);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a start");
    // Two targets run in a round, and in one before the first.
    until("a seventh round", || {
        std::fs::read_to_string(&ran).unwrap_or_default().lines().count() >= 16
    });
    signal(&child, "INT");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    let table = crate::text(&output);
    let has_line = |name: &str| table.lines().any(|line| line.starts_with(&format!("  {name} ")));
    assert!(has_line("brigade") && has_line("tokio"), "{table}");
}

#[test]
fn an_interrupted_runs_command_is_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (begun, path) = (folder.path().join("begun"), folder.path().join("results.json"));
    let script = format!("echo >>{}; while :; do :; done", begun.display());
    let mut command = lab(["run", "--json"]);
    command.arg(&path).args(["--", "sh", "-c", &script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a start");
    until("the command runs", || begun.exists());
    signal(&child, "INT");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    let report = std::fs::read(&path).expect("a file");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("valid");
    let meanwhile = &report["sheets"][0]["meanwhile"];
    assert!(meanwhile["seconds"].is_f64(), "{report}");
    for span in [meanwhile, &report["noise"]["whole"]] {
        assert!(span["other_cpus"].is_null(), "{report}");
    }
}

#[test]
fn an_interrupted_run_leaves_only_a_whole_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    let child = begin(&[("--json", path.as_os_str())]);
    signal(&child, "INT");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    let file = std::fs::read(&path).expect("a file");
    let report: serde_json::Value = serde_json::from_slice(&file).expect("valid");
    assert_eq!(report["complete"], false);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
}
