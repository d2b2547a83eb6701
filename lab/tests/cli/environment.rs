//! A limit of the machine ends the program soon, with exit code 3 and a reason.

use std::process::Command;

use crate::{TINY, code, errors, lab, run, text};

#[test]
fn an_unwritable_result_file_is_refused_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "old").expect("a file");
    for path in [folder.path().join("missing/file"), file.join("below"), "/proc/file".into()] {
        let output = run(lab(TINY).arg("--json").arg(&path));
        assert_eq!(code(&output), Some(3), "{path:?}: {}", errors(&output));
        assert!(errors(&output).contains(path.to_str().expect("UTF-8")), "{}", errors(&output));
        assert_eq!(text(&output), "");
    }
}

#[test]
fn a_low_limit_is_named_with_the_needed_value() {
    for (row, needed, limit) in [
        // Two ends of 501 pipes; there is room for 32 files besides.
        ("bucket-brigade --tasks 500", "1034", "RLIMIT_NOFILE"),
        ("echo --connections 600 --target tokio", "1232", "RLIMIT_NOFILE"),
        // No machine has this many, whichever of its limits is reported first.
        ("creation --kind thread --tasks 1000000", "1000", "kernel.threads-max"),
        ("bucket-brigade --over channel --tasks 1000000", "1000", "kernel.threads-max"),
        ("memory --tasks 1000000", "1000", "kernel.threads-max"),
    ] {
        let program = env!("CARGO_BIN_EXE_brigade-lab");
        let limited = format!("ulimit -n 1000; exec {program} {row} --rounds 1");
        let output = run(Command::new("sh").args(["-c", &limited]));
        assert_eq!(code(&output), Some(3), "{row}: {}", errors(&output));
        let reason = errors(&output);
        assert!(reason.contains(&format!("needs {needed}")), "{row}: {reason}");
        // The limit depends on the user.
        let for_threads = ["RLIMIT_NPROC", "kernel.pid_max", "vm.max_map_count"];
        let is_one = |name: &str| reason.contains(name);
        assert!(
            is_one(limit) || (limit != "RLIMIT_NOFILE" && for_threads.into_iter().any(is_one)),
            "{row}: {reason}"
        );
        assert_eq!(text(&output), "", "nothing ran");
    }
}

#[test]
fn a_line_of_pipes_does_not_fit_in_64_files() {
    let program = env!("CARGO_BIN_EXE_brigade-lab");
    for target in [
        "brigade",
        "brigade-one-thread",
        "tokio",
        "tokio-current-thread",
        "smol",
        "threads",
        "floor",
    ] {
        let row = format!("bucket-brigade --tasks 500 --rounds 1 --target {target}");
        let limited = format!("ulimit -n 64; exec {program} {row}");
        let output = run(Command::new("sh").args(["-c", &limited]));
        assert_eq!(code(&output), Some(3), "{target}: {}", errors(&output));
        let reason = "needs 1034 open files, and the limit RLIMIT_NOFILE (ulimit -n) is 64";
        assert!(errors(&output).contains(reason), "{target}: {}", errors(&output));
        assert_eq!(text(&output), "", "{target}: nothing ran");
    }
}

#[test]
fn an_open_files_limit_is_raised_to_its_most() {
    let program = env!("CARGO_BIN_EXE_brigade-lab");
    let row = "bucket-brigade --tasks 100 --iterations 1 --rounds 1 --target floor,smol";
    let limited = format!("ulimit -S -n 64; exec {program} {row}");
    let output = run(Command::new("sh").args(["-c", &limited]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
}

#[test]
fn only_runs_needing_files_or_threads_are_refused() {
    let program = env!("CARGO_BIN_EXE_brigade-lab");
    let row = "--tasks 2000 --iterations 1 --rounds 1 --over channel --target tokio,smol,floor";
    let limited = format!("ulimit -n 64; exec {program} bucket-brigade {row}");
    let output = run(Command::new("sh").args(["-c", &limited]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
}

#[test]
fn unstartable_threads_are_refused_by_number() {
    // An address space too small for the stacks; a limit on threads would not bind root.
    for (row, threads) in [
        ("wake --threads 4096 --shots 1", "4099"),
        // Some targets may have more than the workload asks for.
        ("wake --threads 4096 --shots 1 --target brigade-elastic-50,rayon", "4149"),
        ("elastic --max 4096 --bursts 1", "4099"),
        ("burst --receivers 4096 --bursts 1", "4099"),
    ] {
        let program = env!("CARGO_BIN_EXE_brigade-lab");
        let limited = format!("ulimit -v 400000; exec {program} {row} --rounds 1");
        let output = run(Command::new("sh").args(["-c", &limited]));
        assert_eq!(code(&output), Some(3), "{row}: {}", errors(&output));
        assert!(errors(&output).contains(threads), "{row}: {}", errors(&output));
    }
}
