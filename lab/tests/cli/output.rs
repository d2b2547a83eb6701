//! The result file: an old one stays until it is replaced, and a reader of the output may close it.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use crate::{TINY, code, errors, json, lab, run, text};

#[test]
fn only_force_replaces_an_old_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    fs::write(&path, "old").expect("an old file");
    let output = run(lab(TINY).arg("--json").arg(&path));
    assert_eq!(code(&output), Some(2), "{}", errors(&output));
    assert_eq!(fs::read_to_string(&path).expect("still there"), "old");

    let output = run(lab(TINY).arg("--force").arg("--json").arg(&path));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let written = fs::read(&path).expect("a new file");
    assert!(serde_json::from_slice::<serde_json::Value>(&written).is_ok());
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing else left");
}

#[test]
fn a_special_file_is_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in [folder.path(), "/dev/full".as_ref()] {
        let output = run(lab(TINY).arg("--force").arg("--json").arg(path));
        assert_eq!(code(&output), Some(2), "{path:?}: {}", errors(&output));
    }
}

#[test]
fn a_link_is_followed_to_the_file_it_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "old").expect("an old file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let output = run(lab(TINY).arg("--force").arg("--json").arg(&link));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(link.is_symlink());
    assert_ne!(fs::read_to_string(&file).expect("the file"), "old");
}

#[test]
fn a_vanished_reader_ends_the_run_silently() {
    for arguments in [TINY, &["list"], &["--help"], &[TINY, &["--json", "-"]].concat()] {
        let (reader, writer) = UnixStream::pair().expect("a pair of sockets");
        drop(reader);
        let writer = Stdio::from(OwnedFd::from(writer));
        let output = run(lab(arguments).stdout(writer).stderr(Stdio::piped()));
        assert_eq!(code(&output), Some(0), "{arguments:?}: {}", errors(&output));
        let tables_elsewhere = arguments.contains(&"-");
        assert!(tables_elsewhere || errors(&output).is_empty(), "{}", errors(&output));
    }
}

#[test]
fn a_full_device_is_a_failed_run() {
    let full = File::options().write(true).open("/dev/full").expect("the device");
    let output = run(lab(TINY).stdout(full).stderr(Stdio::piped()));
    assert_eq!(code(&output), Some(1));
    assert!(!errors(&output).is_empty());
}

#[test]
fn closed_outputs_change_no_exit_code() {
    let shell = |redirect: &str| {
        let line = format!("exec \"$0\" \"$@\" {redirect}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_brigade-lab")]);
        command
    };
    for redirect in [">&-", "2>&-", ">&- 2>&-"] {
        assert_eq!(code(&run(shell(redirect).args(TINY))), Some(0), "{redirect}");
        assert_eq!(code(&run(shell(redirect).arg("--no-such-flag"))), Some(2), "{redirect}");
    }
}

#[test]
fn a_result_on_stdout_is_alone_there() {
    let output = run(lab(TINY).args(["--json", "-"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert_eq!(json(&output)["schema"], 2);
    assert!(errors(&output).contains("best peer"), "the tables are on stderr");
}

#[test]
fn the_table_shows_each_target_and_ratio() {
    let wake = ["wake", "--shots", "2", "--rounds", "1", "--target", "threadpool,tokio,brigade"];
    let table = text(&run(&mut lab(wake)));
    for name in ["brigade ", "threadpool ", "tokio ", "× best peer", "CPUs"] {
        assert!(table.contains(name), "{name}: {table}");
    }
}

#[test]
fn a_failed_peer_is_a_note_and_failed_brigade_an_error() {
    for (faulty, failed) in [("threadpool", 0), ("brigade", 1)] {
        let wake =
            ["wake", "--shots", "2", "--rounds", "1", "--target", "threadpool,rayon,brigade"];
        let inject = format!("repeated:{faulty}");
        let output = run(lab(wake).args(["--inject", &inject]));
        assert_eq!(code(&output), Some(failed), "{}", errors(&output));
        let (said, why) = (text(&output), format!("wake on {faulty}: repeated 1 of 2 tasks"));
        let row = said.lines().find(|line| line.contains("no number: repeated"));
        assert!(row.is_some_and(|row| row.contains(faulty)), "{said}");
        assert_eq!(said.contains(&why), failed == 0, "{said}");
        assert_eq!(errors(&output).contains(&why), failed == 1, "{}", errors(&output));
        assert!(said.trim_end().ends_with("says more."), "the closing lines are the last: {said}");
    }
}
