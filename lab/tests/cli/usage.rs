//! Help is no error, and every mistake is answered in one line, with exit code 2, and before any
//! thread is started.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::{TINY, code, errors, lab, run, text};

/// Runs the laboratory with arguments it must not accept, and returns the reason it gives.
fn refused(arguments: &[&str]) -> String {
    let output = run(&mut lab(arguments));
    let reason = errors(&output);
    assert_eq!(code(&output), Some(2), "{arguments:?}: {reason}");
    assert_eq!(text(&output), "", "{arguments:?}");
    assert_eq!(reason.lines().count(), 2, "a reason and a hint for {arguments:?}: {reason}");
    reason
}

#[test]
fn help_and_version_end_well() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["throughput", "--help"],
        &["chart", "--help"],
        &["list"],
    ] {
        let output = run(&mut lab(arguments));
        assert_eq!(code(&output), Some(0), "{arguments:?}: {}", errors(&output));
        assert_ne!(text(&output), "", "{arguments:?}");
        assert_eq!(errors(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_near_misspelling_gets_a_suggestion() {
    for (name, meant) in [("rayyon", "rayon"), ("brigade-liffo", "brigade-lifo")] {
        let reason = refused(&["wake", "--target", name]);
        assert!(reason.contains(&format!("no such target, did you mean `{meant}`?")), "{reason}");
    }
    let reason = refused(&["wake", "--target", "qqq"]);
    assert!(reason.contains("no such target; `brigade-lab list` names them"), "{reason}");
}

#[test]
fn the_help_of_a_workload_names_its_metrics() {
    for (workload, metrics) in [
        (
            "wake",
            "Metrics: start in s, start-p99 in s, start-p99.9 in s, start-max in s, submit in s, cpu in CPU s/s",
        ),
        ("timers", "late-max in s, cpu in CPU s/s"),
    ] {
        let help = text(&run(&mut lab([workload, "--help"])));
        let line = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains(metrics), "{help}");
    }
    assert!(!text(&run(&mut lab(["check", "--help"]))).contains("Metrics:"));
}

#[test]
fn unknown_words_are_refused() {
    for arguments in [
        &["--no-such-flag"][..],
        &["no-such-workload"],
        &["wake", "--threads", "1", "--threads", "1"],
        &["wake", "--threads"],
        &["wake", "--target", "no-such-target"],
        &["wake", "--target", ""],
        &["submit", "--pattern", "no-such-pattern"],
        &["queue", "--pattern", "no-such-pattern"],
        &["bucket-brigade", "--over", "no-such-link"],
        &["creation", "--kind", "no-such-kind"],
        &["fork-join", "--program", "no-such-program"],
        &["timers", "--pattern", "no-such-pattern"],
        &["channels", "--kind", "no-such-kind"],
        &["server", "--protocol", "no-such-protocol"],
        &["wake", "--pin", "no-such-place"],
        &["wake", "--then", "compute", "--rate", "5"],
        &["latency", "--sleep-ms", "1", "--rate", "5"],
        &["wake", "--inject", "fast:brigade"],
        &["fan-out", "--pin", "one"],
        &["all", "--pin", "apart"],
        &["server", "--protocol", "http", "--pipeline", "2"],
        &["server", "--protocol", "https", "--pipeline", "2"],
        &["channels", "--kind", "tokio", "--receivers", "2"],
        &["timers", "--by", "no-such-kind"],
        &["timers", "--pattern", "instant", "--millis", "5"],
        &["fork-join", "--program", "wc", "--target", "tokio"],
        &["wake", "--force"],
        &["all", "--quick"],
        &["wake", "--json", ""],
        &["list", "too", "much"],
    ] {
        refused(arguments);
    }
}

#[test]
fn an_excessive_number_is_refused_with_its_limit() {
    let bad = ["0", "-1", "0x10", "1e3", "٣", "", "18446744073709551616", "4097", "1000000"];
    for number in bad {
        let reason = refused(&["wake", "--threads", number]);
        assert!(reason.contains("4096"), "{number:?}: {reason}");
    }
    for (program, most) in [("fib", "50"), ("skynet", "9"), ("nqueens", "18"), ("uts", "10000")] {
        let sized = |size: &str| refused(&["fork-join", "--program", program, "--size", size]);
        let reason = sized(&format!("{most}0"));
        assert!(reason.contains(&format!("from 1 to {most}")), "{reason}");
        sized("0");
    }
    for number in ["-1", "257", "1e3", ""] {
        let reason = refused(&["wake", "--hogs", number]);
        assert!(reason.contains("from 0 to 256"), "{number:?}: {reason}");
    }
    for (flag, limit) in [("--rounds", "1000"), ("--shots", "1000000")] {
        assert!(refused(&["wake", flag, "0"]).contains(limit));
        assert!(refused(&["wake", flag, "18446744073709551615"]).contains(limit));
    }
}

#[test]
fn queues_and_elastic_pools_refuse_excessive_numbers() {
    for (pattern, flag, limit) in [
        ("executor", "--workers", "256"),
        ("steal", "--batch", "128"),
        ("injector", "--producers", "8"),
        ("injector", "--items", "1000000"),
        ("steal", "--repetitions", "1000000"),
    ] {
        for number in ["0", "-1", "1000001"] {
            let reason = refused(&["queue", "--pattern", pattern, flag, number]);
            assert!(reason.contains(&format!("from 1 to {limit}")), "{reason}");
        }
    }
    for (flag, limit) in [
        ("--max", "4096"),
        ("--keep-alive-ms", "10000"),
        ("--jobs", "1000000"),
        ("--block-ms", "5000"),
        ("--bursts", "1000000"),
    ] {
        for number in ["0", "-1", "1000001"] {
            let reason = refused(&["elastic", flag, number]);
            assert!(reason.contains(&format!("from 1 to {limit}")), "{reason}");
        }
    }
    assert!(refused(&["elastic", "--core", "4097"]).contains("from 0 to 4096"));
    for (workload, flag, limit) in [
        ("ramp-up", "--threads", "4096"),
        ("ramp-up", "--jobs", "1000000"),
        ("ramp-up", "--block-ms", "5000"),
        ("ramp-up", "--shots", "1000000"),
        ("fairness", "--chains", "1000000"),
        ("fairness", "--millis", "10000"),
        ("fairness", "--every-ms", "10000"),
        ("fairness", "--limit-ms", "10000"),
    ] {
        for number in ["0", "-1", "1000001"] {
            let reason = refused(&[workload, flag, number]);
            assert!(reason.contains(&format!("from 1 to {limit}")), "{reason}");
        }
    }
    let few = refused(&["queue", "--pattern", "injector", "--producers", "3", "--items", "2"]);
    assert!(few.contains("--items must be"), "{few}");
}

#[test]
fn runtimes_refuse_excessive_numbers() {
    for (workload, flag, range) in [
        ("bucket-brigade", "--tasks", "from 1 to 1000000"),
        ("bucket-brigade", "--iterations", "from 1 to 1000000"),
        ("bucket-brigade", "--in-flight", "from 1 to 4096"),
        ("bucket-brigade", "--threads", "from 1 to 4096"),
        ("creation", "--tasks", "from 1 to 1000000"),
        ("creation", "--repetitions", "from 1 to 1000000"),
        ("memory", "--tasks", "from 1000 to 1000000"),
        ("busy-io", "--chains", "from 1 to 1000000"),
        ("busy-io", "--millis", "from 1 to 10000"),
        ("timers", "--timers", "from 1 to 1000000"),
        ("server", "--connections", "from 1 to 10000"),
        ("server", "--pipeline", "from 1 to 256"),
        ("server", "--requests", "from 1 to 10000000"),
        ("channels", "--capacity", "from 1 to 1000000, or `unbounded`"),
        ("channels", "--senders", "from 1 to 1000000"),
        ("channels", "--receivers", "from 1 to 1000000"),
        ("channels", "--messages", "from 1 to 10000000"),
        ("timers", "--millis", "from 1 to 10000"),
        ("echo", "--connections", "from 1 to 10000"),
        ("echo", "--requests", "from 1 to 10000000"),
    ] {
        for number in ["0", "-1", "10000001", "1e3", ""] {
            let reason = refused(&[workload, flag, number]);
            assert!(reason.contains(range), "{workload} {number:?}: {reason}");
        }
    }
}

#[test]
fn bursts_refuse_excessive_numbers() {
    for (flag, range) in [
        ("--messages", "from 1 to 1000000"),
        ("--receivers", "from 1 to 4096"),
        ("--bursts", "from 1 to 1000000"),
    ] {
        for number in ["0", "-1", "1000001", "1e3", ""] {
            let reason = refused(&["burst", flag, number]);
            assert!(reason.contains(range), "{number:?}: {reason}");
        }
    }
    for gaps in ["0", "10000.1", "", "1,", "1,,2", "1,0.001", "0.009", "1;2", "nan"] {
        let reason = refused(&["burst", "--gap-ms", gaps]);
        assert!(reason.contains("from 0.01 to 10000"), "{gaps}: {reason}");
    }
    assert!(refused(&["burst", "--block-ms", "5001"]).contains("from 0 to 5000"));
}

#[test]
fn another_familys_target_is_refused_with_the_workloads() {
    for (arguments, one_of_its_own) in [
        (&["queue", "--target", "rayon"][..], "st3-lifo"),
        (&["queue", "--target", "st3-lifo,tokio"], "crossbeam-fifo"),
        (&["queue", "--pattern", "injector", "--target", "brigade-lifo"], "segqueue"),
        (&["queue", "--pattern", "steal", "--target", "all,segqueue"], "brigade-lifo"),
        (&["wake", "--target", "segqueue"], "tokio"),
        (&["elastic", "--target", "brigade,rayon"], "tokio-blocking"),
        (&["fan-out", "--target", "tokio-blocking"], "rusty_pool-50"),
        (&["throughput", "--target", "rayon,crossbeam-lifo"], "rusty_pool"),
        (&["burst", "--target", "spmc,rayon"], "crossbeam-channel"),
        (&["burst", "--target", "segqueue"], "burst-pool"),
        (&["bucket-brigade", "--target", "tokio,rayon"], "floor"),
        (&["bucket-brigade", "--over", "channel", "--target", "epoll"], "floor"),
        (&["echo", "--target", "epoll"], "threads"),
        // Of one family, and not what is asked for.
        (&["creation", "--target", "threads"], "tokio-current-thread"),
        (&["creation", "--kind", "thread", "--target", "threads,smol"], "threads"),
        (&["memory", "--target", "floor"], "threads"),
        (&["echo", "--target", "floor,tokio"], "smol"),
        (&["busy-io", "--target", "threads"], "brigade-lifo"),
        (&["timers", "--target", "floor"], "tokio-current-thread"),
        (&["server", "--target", "threads,epoll"], "tokio-current-thread"),
        (&["channels", "--target", "threads"], "tokio-current-thread"),
    ] {
        let reason = refused(arguments);
        let (stranger, theirs) =
            reason.split_once(" is no target of this workload").expect("names both");
        let stranger = stranger.rsplit(' ').next().expect("a name");
        assert!(theirs.contains(one_of_its_own), "{arguments:?}: {reason}");
        assert!(theirs.split([' ', ',']).all(|name| name != stranger), "{reason}");
    }
}

#[test]
fn an_option_foreign_to_the_pattern_is_refused() {
    for (flag, owner) in [
        ("--workers", "executor"),
        ("--batch", "steal"),
        ("--producers", "injector"),
        ("--items", "injector"),
    ] {
        for pattern in ["push-pop-small", "push-pop-large", "executor", "steal", "injector"] {
            if pattern == owner {
                continue;
            }
            let reason = refused(&["queue", "--pattern", pattern, flag, "4"]);
            let said = format!("{flag} is for the pattern {owner} only");
            assert!(reason.contains(&said), "{pattern}: {reason}");
        }
    }
}

#[test]
fn a_core_size_over_the_largest_is_refused() {
    let reason = refused(&["elastic", "--core", "17"]);
    assert!(reason.contains("--core must be at most --max"), "{reason}");
    refused(&["elastic", "--core", "3", "--max", "2"]);
}

#[test]
fn a_product_of_counts_over_its_limit_fails() {
    let many = ["throughput", "--producers", "4096", "--messages", "200000000"];
    assert!(refused(&many).contains("200000000"));
    let long = ["throughput", "--messages", "1000000", "--amplification", "4294967295"];
    assert!(refused(&long).contains("1099511627776"));
    let values = ["burst", "--messages", "1000000", "--bursts", "8"];
    assert!(refused(&values).contains("10000000"));
}

#[test]
fn arguments_beyond_utf8_are_refused_calmly() {
    let strange = || OsString::from_vec(vec![b'x', 0xff]);
    for before in [&[][..], &["wake", "--threads"], &["wake", "--target"]] {
        let arguments = before.iter().map(OsString::from).chain([strange()]);
        let output = run(&mut lab(arguments));
        assert_eq!(code(&output), Some(2), "{}", errors(&output));
    }
}

#[test]
fn a_path_beyond_utf8_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(OsString::from_vec(vec![b'x', 0xff]));
    let output = run(lab(TINY).arg("--json").arg(&path));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    assert!(path.exists());
}

#[test]
fn echoes_cannot_command_the_terminal() {
    let reason = refused(&["wake", "--target", "\u{1b}[31mred"]);
    assert!(!reason.contains('\u{1b}'), "{reason:?}");
    let long = "x".repeat(100_000);
    assert!(refused(&["wake", "--target", &long]).len() < 1_600);
}
