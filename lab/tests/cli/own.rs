//! Commands of the user's: what is measured of them, what their failures leave, and that none outlives the laboratory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::signals::signal;
use crate::{check_all, code, errors, json, lab, results_of, run, text, until};

/// A shell that does this, as a command line.
fn sh(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

#[test]
fn every_command_of_the_guide_is_accepted() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/own-program.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let lines: Vec<_> =
        guide.lines().filter_map(|line| line.strip_prefix("brigade-lab run")).collect();
    assert!(lines.len() >= 4, "{guide}");
    check_all(&lines, |line| {
        // A shell reads the quotes.
        let script = format!("\"$0\" --dry-run run{line}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_brigade-lab")]).stdin(Stdio::null());
        let output = run(&mut shell);
        assert_eq!(code(&output), Some(0), "{line}: {}", errors(&output));
        assert!(text(&output).starts_with("run --"), "{line}: {}", text(&output));
    });
}

/// Whether the process with the number in this file is no more.
fn is_gone(file: &Path) -> bool {
    let id = fs::read_to_string(file).expect("the number of a process");
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    // It may have ended, and no parent has waited for it.
    stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}

#[test]
fn each_pool_is_a_command_compared_with_brigade() {
    // Larger than the process that starts it; and it gives its CPU back at least once for each sleep.
    let script = "head -c 80000000 /dev/zero | tail -c 80000000 >{pool}; rm {pool}; sleep 0.01";
    let folder = tempfile::tempdir().expect("a folder");
    let command = ["run", "--pools", "a,brigade,c", "--rounds", "2", "--json", "-", "--"];
    let output = run(lab(command).args(sh(script)).current_dir(&folder));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    for pool in ["a", "brigade", "c"] {
        let values = |metric| {
            let [result] = results_of(&report, pool, metric)[..] else {
                panic!("{metric}: {report}")
            };
            let samples = result["samples"].as_array().expect("samples");
            samples.iter().map(|value| value.as_f64().expect("a number")).collect::<Vec<_>>()
        };
        assert_eq!(values("time").len(), 2);
        assert!(values("time").iter().all(|&time| time >= 0.01), "{report}");
        assert!(values("peak").iter().all(|&peak| peak >= 80e6), "{report}");
        assert!(values("switches").iter().all(|&switches| switches >= 1.0), "{report}");
        let cpu =
            values("user").iter().zip(values("system")).all(|(user, system)| user + system > 0.0);
        assert!(cpu, "{report}");
    }
    let said = errors(&output);
    let (_, answer) =
        said.split_once("The answer: brigade beside each of the others\n").expect(&said);
    let firsts: Vec<_> = answer.lines().map(|line| line.split_whitespace().next()).collect();
    assert_eq!(firsts[1..3], [Some("a"), Some("c")], "{answer}");
    assert!(answer.contains(" to "), "an interval: {answer}");
    assert!(answer.contains("too few rounds to tell in 2: take 5 rounds or more"), "{answer}");
    assert!(answer.trim_end().ends_with("says more."), "{answer}");
}

#[test]
fn a_failed_command_has_a_reason_and_no_number() {
    let noise = "head -c 9000000 /dev/zero; head -c 9000000 /dev/zero >&2; printf '\\033[31mno\\n\\nluck' >&2; exit 7";
    let line = ["run", "--names", "well,absent,loud,hit", "--rounds", "2", "--json", "-"];
    let commands =
        ["true", "/no/such/program x", &format!("sh -c {noise:?}"), "sh -c 'kill -9 $$'"];
    let output = run(lab(line).args(commands.map(|command| format!("--command={command}"))));
    assert_eq!(code(&output), Some(1), "all of them are one's own");
    let report = json(&output);
    assert_eq!(report["complete"], false);
    assert!(
        report["results"].as_array().expect("results").iter().all(|one| one["target"] == "well")
    );
    assert_eq!(results_of(&report, "well", "time").len(), 1);
    let said = errors(&output);
    for (name, reason) in [
        ("absent", "`/no/such/program` can't be started: No such file"),
        ("loud", "failed with exit code 7, and stderr ends with: "),
        ("loud", "\\u{1b}[31mno\\n\\nluck"),
        ("hit", "died: signal: 9"),
    ] {
        let line = said.lines().find(|line| line.contains(&format!("run on {name}: ")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{name}: {reason}: {said}");
    }
    assert!(said.len() < 20_000, "{}", said.len());
}

#[test]
fn a_hanging_command_is_killed_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let [inner, outer] = ["inner", "outer"].map(|name| folder.path().join(name));
    let script =
        format!("sleep 1000 & echo $! > {}; echo $$ > {}; wait", inner.display(), outer.display());
    let output = run(lab(["run", "--patience", "1", "--"]).args(sh(&script)));
    assert_eq!(code(&output), Some(1));
    assert!(errors(&output).contains("killed after 1 s: --patience"), "{}", errors(&output));
    until("both are gone", || is_gone(&inner) && is_gone(&outer));
}

#[test]
fn an_unwatchable_command_does_not_run_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let word = folder.path().display().to_string();
    let line = ["process", "--patience", "1", "--", "sh", "-c", "sleep 1000; exit", &word];
    // No address space has room for such a stack.
    let output = run(lab(line).env("RUST_MIN_STACK", (1_u64 << 60).to_string()));
    assert!(text(&output).contains("\"Err\""), "{}", text(&output));
    // The shell's child has the shell's line until it is `sleep`, and nothing here is its parent and waits for its end.
    until("it is gone", || {
        let processes = fs::read_dir("/proc").expect("processes");
        processes
            .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("cmdline")).ok())
            .all(|line| !line.contains(&word))
    });
}

#[test]
fn a_commands_remains_are_killed_before_the_next_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("left");
    // It holds stderr open.
    let script = format!("sleep 1000 & echo $! > {}", file.display());
    let output = run(lab(["run", "--rounds", "1", "--"]).args(sh(&script)));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    until("it is gone", || is_gone(&file));
}

#[test]
fn no_command_outlives_the_laboratory() {
    for (name, expected) in [("INT", Some(130)), ("KILL", None)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("process");
        let script =
            format!("echo $$ > {0}.part; mv {0}.part {0}; sleep 1000; true", file.display());
        let mut lab = lab(["run", "--json", "-", "--"]);
        let child = lab.args(sh(&script)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("the laboratory starts");
        until("the command runs", || file.exists());
        signal(&child, name);
        let output = child.wait_with_output().expect("an end");
        assert_eq!(code(&output), expected, "{}", errors(&output));
        until("the command is gone", || is_gone(&file));
    }
}

#[test]
fn preparation_and_warm_up_precede_counted_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let note = |word: &str| format!("echo {word} >> {}", log.display());
    let options = ["run", "--warmup", "3", "--rounds", "2", "--prepare", &note("before"), "--"];
    let output = run(lab(options).args(sh(&note("run"))));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert_eq!(fs::read_to_string(&log).expect("a log"), "before\nrun\n".repeat(5));
    let output = run(lab(["run", "--prepare", "exit 3", "--"]).args(sh(&note("never"))));
    assert_eq!(code(&output), Some(1));
    assert!(errors(&output).contains("--prepare failed with exit code 3"), "{}", errors(&output));
    assert!(!fs::read_to_string(&log).expect("a log").contains("never"));
}

#[test]
fn words_behind_two_dashes_are_the_commands() {
    for (line, plan) in [
        (
            &["--pools", "a,b", "--", "x{pool}y", "{pool}"][..],
            "--command 'x{pool}y {pool}' --warmup 1: a, b\n",
        ),
        // No option of the laboratory's, and no sweep of one.
        (
            &["--", "x", "--warmup", "1,2", "--dry-run"],
            "--command 'x --warmup 1,2 --dry-run' --warmup 1: x --warmup 1,2 --dry-run\n",
        ),
        (
            &["--command", "x 'a b'", "--command", "y"],
            "--command 'x '\\''a b'\\''' --command y --warmup 1: x 'a b', y\n",
        ),
        (&["--pools", "a,b", "--command", "x {pool}", "--", "y", "{pool}"], "x a, x b, y a, y b\n"),
        (&["--names", "p,q", "--command", "x", "--", "y"], ": p, q\n"),
    ] {
        let output = run(lab(["run", "--dry-run"]).args(line));
        assert_eq!(code(&output), Some(0), "{line:?}: {}", errors(&output));
        assert_eq!(text(&output).lines().count(), 1, "{}", text(&output));
        assert!(text(&output).ends_with(plan), "{line:?}: {}", text(&output));
    }
    for (line, reason) in [
        (&[][..], "needs a command"),
        (&["--"], "needs a command"),
        (&["--pools", "a,b", "--", "x"], "--pools has names for {pool}"),
        (&["--", "x", "{pool}"], "say which by --pools"),
        (&["--pools", "a,a", "--", "x", "{pool}"], "are called 'a'"),
        (&["--pools", "a,", "--", "x", "{pool}"], "one without a name"),
        (&["--command", "x 'y"], "check its quotes"),
        (&["--command", " "], "is no command"),
        (&["--names", "a", "--command", "x", "--command", "y"], "1 names for 2 commands"),
        (&["--warmup", "0", "--", "x"], "from 1 to"),
        (&["--target", "rayon", "--", "x"], "rayon is no target of this"),
    ] {
        let output = run(lab(["run"]).args(line));
        assert_eq!(code(&output), Some(2), "{line:?}: {}", errors(&output));
        assert!(errors(&output).contains(reason), "{line:?}: {}", errors(&output));
        assert_eq!(text(&output), "", "{line:?}");
    }
}
