//! Hostile surroundings: values, arguments, files, signals, limits and environments that no user means.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use brigade_testkit::Watchdog;
use serde_json::Value;

use crate::signals::signal;
use crate::{LONG, TINY, check_all, code, errors, json, lab, run, text, until};

/// The program under test.
const LAB: &str = env!("CARGO_BIN_EXE_brigade-lab");

/// The laboratory with these arguments in a shell that first does this.
fn after<S: AsRef<OsStr>>(first: &str, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}\nexec \"$0\" \"$@\""), LAB]).args(arguments);
    command.stdin(Stdio::null());
    command
}

/// The laboratory as a user who may have one thread, the first one; `None` if root has no other user here.
fn with_one_thread(arguments: &[&str]) -> Option<Output> {
    // Root has no limit on threads. The file is open already, as another user may not reach its folder.
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { "setpriv --reuid 61234 --clear-groups" } else { "" };
    let line = format!("exec 3<\"$0\"; exec {user} prlimit --nproc=1 /proc/self/fd/3 \"$@\"");
    let output = run(Command::new("sh").args(["-c", &line, LAB]).args(arguments));
    let is_there =
        !matches!(code(&output), Some(126 | 127)) && !errors(&output).contains("setpriv: ");
    is_there.then_some(output)
}

#[test]
fn a_bad_number_is_refused_before_any_thread() {
    let Some(allowed) = with_one_thread(TINY) else { return };
    // That it may not start a thread is true.
    assert_eq!(code(&allowed), Some(3), "{}", errors(&allowed));
    assert!(
        errors(&allowed).contains("the limit RLIMIT_NPROC (ulimit -u) allows 1"),
        "{}",
        errors(&allowed)
    );
    let bad = ["0", "-1", "0x10", "1e3", "٣", "", "18446744073709551616", "4097", "1000000"];
    check_all(&bad, |number| {
        let refused = with_one_thread(&["wake", "--threads", number]).expect("as before");
        assert_eq!(code(&refused), Some(2), "{number:?}: {}", errors(&refused));
        assert!(errors(&refused).contains("4096"), "{number:?}: {}", errors(&refused));
    });
}

#[test]
fn an_invalid_width_or_time_is_refused() {
    let refused = |arguments: &[&str], range: &str| {
        let output = run(lab(["wake"]).args(arguments));
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", text(&output));
        assert!(errors(&output).contains(range), "{arguments:?}: {}", errors(&output));
    };
    for width in ["-1", "nan", "inf", "1e400", "10000d", "1000.1%", "%", ""] {
        refused(&[&format!("--until={width}")], "0% to 1000%");
    }
    for time in ["-1", "nan", "inf", "1e3", "1.5", "2m", "86401", "s", ""] {
        refused(&["--until", "5%", &format!("--at-most={time}")], "from 0 to 86400");
    }
}

#[test]
fn binary_variables_do_not_matter() {
    let strange = || OsString::from_vec(vec![b'x', 0xff]);
    let folder = tempfile::tempdir().expect("a folder");
    let temporary = folder.path().join(strange());
    fs::create_dir(&temporary).expect("a folder");
    let mut command = lab(TINY);
    for name in ["TERM", "HOME", "LANG", "TZ", "COLUMNS", "NO_COLOR", "RUST_BACKTRACE", "CHROMIUM"]
    {
        command.env(name, strange());
    }
    let output =
        run(command.env("TMPDIR", temporary).env(strange(), strange()).args(["--json", "-"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert_eq!(json(&output)["complete"], true);
}

#[test]
fn excessive_arguments_are_refused_in_one_line() {
    for (first, argument) in [("wake", "x"), ("--quiet", "y"), ("chart", "z")] {
        let many = std::iter::once(first).chain(std::iter::repeat_n(argument, 100_000));
        let output = run(&mut lab(many));
        assert_eq!(code(&output), Some(2), "{first}: {}", errors(&output));
        assert!(errors(&output).len() < 1_000 && errors(&output).lines().count() == 2);
    }
}

#[test]
fn a_special_file_is_soon_refused_and_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("nowhere", path("dangling")).expect("a link");
    assert!(Command::new("mkfifo").arg(path("pipe")).status().expect("a shell's tool").success());
    check_all(&[("dangling", 3), ("pipe", 2)], |(name, expected)| {
        // Nothing reads from the pipe: who opens it to write waits for that.
        let mut command = lab(TINY);
        let output = run(command.arg("--json").arg(path(name)).arg("--force"));
        assert_eq!(code(&output), Some(*expected), "{name}: {}", errors(&output));
        assert!(errors(&output).contains(name), "{}", errors(&output));
        assert_eq!(text(&output), "", "nothing ran");
    });
    assert!(path("dangling").is_symlink() && !path("nowhere").exists());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is left");
}

#[test]
fn a_full_disk_fails_the_run_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    // A mount that only this process and its children see. 4 KiB are less than any result file.
    let line = "mount -t tmpfs -o size=4k none \"$1\" || exit 99; echo >\"$1/old\"; shift; \"$0\" \"$@\"; code=$?; echo left: $(ls -A \"$DISK\") >&2; exit $code";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", line, LAB]).arg(&disk);
    command.args(TINY).arg("--json").arg(disk.join("results.json")).env("DISK", &disk);
    let Ok(output) = command.stdin(Stdio::null()).output() else { return };
    let said = errors(&output);
    if code(&output) == Some(99) || said.contains("unshare: ") {
        return;
    }
    assert_eq!(code(&output), Some(1), "{said}");
    assert!(said.contains("results.json not written: No space left on device"), "{said}");
    assert!(said.ends_with("\nleft: old\n"), "no temporary file: {said}");
}

#[test]
fn stdin_is_not_read() {
    for first in ["exec <&-", "exec </dev/zero", "exec </dev/urandom"] {
        let output = run(after(first, TINY).args(["--json", "-"]));
        assert_eq!(code(&output), Some(0), "{first}: {}", errors(&output));
        assert_eq!(json(&output)["complete"], true);
    }
}

#[test]
fn a_signal_at_any_instant_leaves_valid_output() {
    let seed = u64::from(std::process::id());
    let instants: Vec<_> = (0..50).map(|n| (n, (seed + n * 7_919) % 400)).collect();
    // A script that runs the tests in the background has them ignore SIGINT, and so does the laboratory until it listens.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t"));
    let ignores = ignored
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .is_some_and(|mask| mask & 2 != 0);
    check_all(&instants, |(number, millis)| {
        let interrupts = number % 2 == 0 && !ignores;
        let (name, expected) = if interrupts { ("INT", 130) } else { ("TERM", 143) };
        let mut command = lab(LONG);
        command.args(["--json", "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the laboratory starts");
        thread::sleep(Duration::from_millis(*millis));
        signal(&child, name);
        let output = child.wait_with_output().expect("an end");
        // Until it listens, the signal itself ends it, and there is nothing to write.
        let before = output.status.signal().is_some_and(|signal| signal == expected - 128);
        assert!(before || code(&output) == Some(expected), "seed {seed}: {}", errors(&output));
        assert!(before || json(&output)["complete"] == false, "seed {seed}");
        assert!(!before || text(&output).is_empty(), "seed {seed}: {}", text(&output));
    });
}

#[test]
fn a_second_signal_ends_it_beside_a_full_pipe() {
    let (reader, writer) = UnixStream::pair().expect("a pair of sockets");
    writer.set_nonblocking(true).expect("a socket");
    let fill = || loop {
        match (&writer).write(&[b' '; 1 << 16]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    };
    fill();
    writer.set_nonblocking(false).expect("a socket");
    let mut command = lab(LONG);
    command.args(["--json", "-", "--quiet"]).stdout(OwnedFd::from(writer)).stderr(Stdio::null());
    let mut child = command.spawn().expect("the laboratory starts");
    let tasks = format!("/proc/{}/task", child.id());
    until("a target runs", || fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() >= 5));
    // The call in which the thread is that handles signals; nothing where the kernel does not tell.
    let call = || {
        let tasks = fs::read_dir(&tasks).expect("tasks").flatten().map(|task| task.path());
        let is_its = |task: &PathBuf| {
            fs::read_to_string(task.join("comm")).is_ok_and(|name| name == "signals\n")
        };
        let call = fs::read_to_string(tasks.into_iter().find(is_its)?.join("syscall")).ok()?;
        call.split(' ').next().map(str::to_owned)
    };
    let listening = call();
    signal(&child, "INT");
    let is_writing =
        || call().is_none_or(|now| Some(&now) != listening.as_ref() && now != "running");
    until("it writes, and nothing reads", is_writing);
    assert!(child.try_wait().expect("a child").is_none(), "it waits");
    let _watchdog = Watchdog::start(2);
    signal(&child, "INT");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    drop(reader);
}

#[test]
fn a_file_beyond_its_limit_fails_the_run_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    fs::write(&path, "old").expect("a file");
    let output = run(after("ulimit -f 1", TINY).arg("--force").arg("--json").arg(&path));
    assert_eq!(code(&output), Some(1), "{}", errors(&output));
    assert!(
        errors(&output).contains("results.json not written: File too large"),
        "{}",
        errors(&output)
    );
    assert_eq!(fs::read_to_string(&path).expect("the old one"), "old");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file");
}

#[test]
fn a_process_limit_is_named_or_ends_it() {
    let tiny = |limit: &str| run(after(limit, TINY).args(["--json", "-"]));
    for files in [4, 5, 8, 15] {
        let output = tiny(&format!("ulimit -n {files}"));
        assert_eq!(code(&output), Some(3), "{files}: {}", errors(&output));
        let reason =
            format!("needs 16 open files, and the limit RLIMIT_NOFILE (ulimit -n) is {files}");
        assert!(errors(&output).contains(&reason), "{}", errors(&output));
    }
    assert_eq!(code(&tiny("ulimit -n 16")), Some(0));
    for kilobytes in [64, 256, 1_000] {
        let output = tiny(&format!("ulimit -s {kilobytes}"));
        assert_eq!(code(&output), Some(3), "{kilobytes}: {}", errors(&output));
        let reason = format!(
            "needs a stack of 1048576 bytes, and the limit RLIMIT_STACK (ulimit -s) is {}",
            kilobytes << 10
        );
        assert!(errors(&output).contains(&reason), "{}", errors(&output));
    }
    assert_eq!(code(&tiny("ulimit -c 0")), Some(0));
    let output =
        run(after("ulimit -v 400000", ["wake", "--threads", "4096"]).stdout(Stdio::null()));
    assert_eq!(code(&output), Some(3), "{}", errors(&output));
    let reason = "the limit RLIMIT_AS (ulimit -v) is 409600000 bytes";
    assert!(errors(&output).contains(reason), "{}", errors(&output));
}

#[test]
fn the_end_of_cpu_time_leaves_partial_results() {
    let row = ["throughput", "--messages", "1000000", "--rounds", "1000", "--target", "brigade"];
    let output = run(after("ulimit -S -t 1", row).args(["--json", "-"]));
    // SIGXCPU.
    assert_eq!(code(&output), Some(152), "{}", errors(&output));
    assert_eq!(json(&output)["complete"], false);
}

#[test]
#[cfg(target_os = "linux")]
fn the_report_says_threads_shared_a_cpu() {
    let output = run(after("taskset -p -c 0 $$ >/dev/null || exit 99", TINY).args([
        "--json",
        "-",
        "--threads",
        "3",
    ]));
    if code(&output) == Some(99) {
        return;
    }
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    assert_eq!(
        (&report["machine"]["cpus"], &report["machine"]["affinity"]),
        (&1.into(), &"0".into())
    );
    let note = "more threads than CPUs: 3 take turns on 1";
    assert_eq!(report["sheets"][0]["note"], note);
    assert!(errors(&output).contains(&format!("\n{note}\n")), "{}", errors(&output));
}

#[test]
fn sparse_files_and_repeated_options_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    File::create(&path).and_then(|file| file.set_len(10 << 30)).expect("a sparse file");
    let refused = |reason: &str| {
        for arguments in [&["report"][..], &["compare", "/dev/null"]] {
            // It reads no more than fits.
            let output = run(after("ulimit -v 400000", arguments).arg(&path));
            assert_eq!(code(&output), Some(2), "{}", errors(&output));
            assert!(errors(&output).contains(reason) || arguments.len() > 1, "{}", errors(&output));
        }
    };
    refused("results.json is not a result file of the laboratory: it goes on after byte");
    let output = run(lab(TINY).args(["--json", "-"]));
    let good = text(&output);
    let twice = good.replacen("\"shots\": 2", "\"shots\": 1, \"shots\": 2", 1);
    assert_ne!(good, twice);
    fs::write(&path, twice).expect("a file");
    refused("duplicate option `shots` at line ");
    let twice = good.replacen("\"complete\": true", "\"complete\": true, \"complete\": true", 1);
    fs::write(&path, twice).expect("a file");
    refused("duplicate field `complete` at line 3 column");
}

#[test]
fn surroundings_change_no_machine_readable_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    assert_eq!(code(&run(lab(TINY).arg("--json").arg(&path))), Some(0));
    let shown = |first: &str| {
        let output = run(after(first, ["report"]).arg(&path));
        assert_eq!(code(&output), Some(0), "{first}: {}", errors(&output));
        text(&output)
    };
    let usual = shown(":");
    let gone = "mkdir \"$D/gone\" && cd \"$D/gone\" && rmdir \"$D/gone\"";
    let gone = gone.replace("$D", folder.path().to_str().expect("a path"));
    let surroundings = [
        "export LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8",
        "export LC_ALL=C",
        "export TZ=Asia/Kathmandu",
        "export NO_COLOR=1 TERM=dumb COLUMNS=0 LINES=0",
        "export COLUMNS=-1 CLICOLOR_FORCE=1 FORCE_COLOR=1",
        "unset HOME USER LOGNAME SHELL TMPDIR",
        &gone,
    ];
    check_all(&surroundings, |first| {
        assert_eq!(shown(first), usual, "{first}");
    });
    for first in &surroundings {
        let output = run(after(first, TINY).args(["--json", "-"]));
        assert_eq!(code(&output), Some(0), "{first}: {}", errors(&output));
        let date = json(&output)["machine"]["date"].as_str().unwrap_or_default().to_owned();
        assert!(date.ends_with('Z'), "{first}: {date}");
    }
    let output = run(after(&gone, TINY).args(["--json", "results.json"]));
    assert_eq!(code(&output), Some(3), "its folder is gone: {}", errors(&output));
}

#[test]
fn the_first_of_two_runs_has_the_whole_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let script = "echo >>begun; until [ -e go ]; do sleep 0.01; done";
    let begin = |seed: &str| {
        let mut command = lab(["run", "--rounds", "1", "--seed", seed, "--json", "results.json"]);
        command.args(["--", "sh", "-c", script]).current_dir(&folder);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a start")
    };
    let both = ["1", "2"].map(begin);
    until("both run", || {
        fs::read_to_string(path("begun")).is_ok_and(|text| text.lines().count() == 2)
    });
    fs::write(path("go"), "").expect("a file");
    let ends = both.map(|child| child.wait_with_output().expect("an end"));
    let codes = ends.each_ref().map(code);
    assert!(matches!(codes, [Some(0), Some(1)] | [Some(1), Some(0)]), "{codes:?}");
    let (won, lost) = if codes[0] == Some(0) { (1, &ends[1]) } else { (2, &ends[0]) };
    assert!(errors(lost).contains("results.json not written: File exists"), "{}", errors(lost));
    let report: Value =
        serde_json::from_slice(&fs::read(path("results.json")).expect("a file")).expect("JSON");
    assert_eq!((&report["machine"]["seed"], &report["complete"]), (&won.into(), &true.into()));
    let left: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "no temporary file: {left:?}");
}
