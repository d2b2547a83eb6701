//! Hogs compute while the laboratory measures, and end with it, however it ends.

use std::cell::Cell;
use std::fs;
use std::process::{Child, Stdio};

use crate::signals::signal;
use crate::{LONG, TINY, code, errors, json, lab, run, text, until};

/// The process of the hogs that this laboratory has started, if there is one.
fn hogs_of(laboratory: u32) -> Option<u32> {
    let parent = format!("PPid:\t{laboratory}\n");
    fs::read_dir("/proc").expect("processes").find_map(|entry| {
        let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let is_its = fs::read_to_string(format!("/proc/{process}/status")).ok()?.contains(&parent);
        (is_its && is_hogs(process)).then_some(process)
    })
}

/// Whether this process is one of hogs. One that has ended and is not waited for has no command line.
fn is_hogs(process: u32) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).nth(1) == Some(b"hogs")
}

/// Waits until there is one. It may be gone by the next look.
fn await_hogs(laboratory: u32) -> u32 {
    let found = Cell::new(None);
    until("there are hogs", || {
        found.set(hogs_of(laboratory));
        found.get().is_some()
    });
    found.get().expect("found above")
}

/// Clock ticks for which each thread of this process has computed.
fn ticks(process: u32) -> Vec<u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("threads");
    let stats = threads.map(|thread| fs::read_to_string(thread.expect("one").path().join("stat")));
    let named = stats.map(|stat| stat.expect("its state")).filter(|stat| stat.contains("(hog)"));
    named.map(|stat| stat.split(' ').nth(13).expect("a time").parse().expect("a number")).collect()
}

/// A laboratory with two hogs that takes a minute, and their process.
fn begin() -> (Child, u32) {
    let mut command = lab(LONG);
    command.args(["--hogs", "2"]).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("the laboratory starts");
    let hogs = await_hogs(child.id());
    (child, hogs)
}

#[test]
fn a_check_may_run_without_hogs() {
    let check = ["check", "wake", "--target", "threadpool", "--seconds", "1", "--hogs", "0"];
    let output = run(&mut lab(check));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(!text(&output).contains("hogs"), "{}", text(&output));
}

#[test]
fn the_result_says_how_many_hogs_there_were() {
    for (arguments, hogs) in [(&[][..], 0), (&["--hogs", "2"], 2)] {
        let output = run(lab(TINY).args(arguments).args(["--json", "-"]));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        assert_eq!(json(&output)["machine"]["hogs"], hogs);
    }
    let table = text(&run(lab(TINY).args(["--hogs", "2"])));
    assert!(table.contains("beside 2 hogs"), "{table}");
}

#[test]
fn hogs_end_with_the_laboratory_by_any_signal() {
    for name in ["INT", "TERM", "KILL"] {
        let (mut child, hogs) = begin();
        until("both compute", || ticks(hogs).iter().filter(|&&ticks| ticks > 5).count() == 2);
        signal(&child, name);
        child.wait().expect("an end");
        until("they are gone", || !is_hogs(hogs));
    }
}

#[test]
fn hogs_end_with_a_completed_run() {
    let short = ["wake", "--shots", "1000", "--rounds", "1", "--target", "threadpool"];
    let mut command = lab(short);
    command.args(["--hogs", "1"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the laboratory starts");
    let hogs = await_hogs(child.id());
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    // It has waited for their end.
    assert!(!is_hogs(hogs));
}

#[test]
fn the_result_says_where_the_threads_were() {
    let workloads = [
        TINY,
        &["bucket-brigade", "--over", "channel", "--iterations", "9", "--rounds", "1"],
        &["channels", "--kind", "flume", "--messages", "99", "--rounds", "1"],
    ];
    for workload in workloads {
        for pin in ["one", "apart"] {
            let output = run(lab(workload).args(["--pin", pin, "--json", "-"]));
            assert_eq!(code(&output), Some(0), "{}", errors(&output));
            assert_eq!(json(&output)["machine"]["pin"], pin);
            assert!(errors(&output).contains(&format!("threads pinned: {pin}")));
        }
    }
}
