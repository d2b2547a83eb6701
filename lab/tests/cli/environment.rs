//! What the machine doesn't grant ends with exit code 3 and a reason, and soon.

use std::process::Command;

use crate::{TINY, code, errors, lab, run, text};

#[test]
fn a_result_file_that_cannot_be_written_is_refused_before_anything_runs() {
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
fn threads_that_cannot_be_started_are_refused_with_their_number() {
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
