//! The laboratory detects a lost and a repeated task, whatever the workload, and prints no number
//! for the target it happened to. It is an error if that is brigade's, and a note if it is a peer's.

use std::process::Output;

use crate::{check_all, code, errors, json, lab, run, text};

/// A short run of each workload, and two targets: a faulty one and another.
const WORKLOADS: &[(&str, [&str; 2])] = &[
    // First those whose lost tasks are waited for the longest.
    #[cfg(feature = "full")]
    ("server --protocol http --connections 2 --requests 9", ["brigade", "brigade-one-thread"]),
    #[cfg(feature = "full")]
    ("server --protocol https --connections 2 --requests 9", ["tokio", "brigade"]),
    #[cfg(feature = "full")]
    ("server --protocol http2 --connections 2 --pipeline 3 --requests 9", ["brigade", "smol"]),
    ("server --protocol resp --connections 2 --pipeline 1 --requests 9", ["tokio", "smol"]),
    (
        "server --protocol resp --connections 3 --pipeline 7 --requests 9",
        ["brigade", "tokio-current-thread"],
    ),
    ("busy-io --millis 50", ["smol", "brigade"]),
    ("busy-io --millis 50", ["brigade", "brigade-lifo"]),
    ("throughput --messages 50", OWN),
    ("latency --messages 5 --amplification 3 --bursts 2 --sleep-ms 1", POOLS),
    ("submit --pattern sleepers --messages 50", OWN),
    ("submit --pattern contended --messages 50", POOLS),
    ("submit --pattern empty --messages 50", OWN),
    ("wake --shots 3", OWN),
    ("fan-out --shots 3 --children 5", POOLS),
    ("ramp-up --shots 2 --block-ms 1", OWN),
    ("fairness --millis 20 --limit-ms 20", OWN),
    // Its runs have processes of their own, and a task is a run of the program.
    ("fork-join --program fib --size 9", ["rayon", "chili"]),
    ("fork-join --program quicksort --size 99", ["forte", "rayon"]),
    ("fork-join --program uts --size 9", ["tokio", "rayon"]),
    ("steal --shots 2 --sibling-us 100", ["rayon", "forte"]),
    ("elastic --jobs 5 --keep-alive-ms 1 --block-ms 1 --bursts 2", ELASTIC),
    ("elastic --jobs 5 --keep-alive-ms 1 --block-ms 1 --bursts 2", ["brigade", "threadpool"]),
    ("queue --repetitions 2", BOUNDED),
    // There is no room for a repeated item in a bounded queue that is full already.
    ("queue --pattern push-pop-large --repetitions 2", GROWING),
    ("queue --pattern executor --repetitions 2", BOUNDED),
    ("queue --pattern steal --repetitions 2", GROWING),
    ("queue --pattern injector --repetitions 2", INJECTORS),
    ("queue --pattern injector --producers 2 --repetitions 2", INJECTORS),
    ("burst --messages 2 --bursts 2", NOW_OR_NEVER),
    // A repeated value is returned then.
    ("burst --messages 3 --bursts 2", NOW_OR_NEVER),
    ("burst --messages 2 --bursts 2", ["brigade-burst", "crossbeam-channel"]),
    ("burst --messages 2 --bursts 2", ["brigade-pool", "crossbeam-channel"]),
    ("burst --messages 2 --bursts 2", QUEUEING),
    ("burst --messages 5 --bursts 2", QUEUEING),
    ("bucket-brigade --tasks 5 --iterations 5", ["brigade", "brigade-one-thread"]),
    ("bucket-brigade --tasks 5 --iterations 5", ["threads", "smol"]),
    ("bucket-brigade --tasks 5 --iterations 5 --in-flight 3", FLOOR),
    ("bucket-brigade --tasks 5 --iterations 5", EPOLL),
    #[cfg(feature = "full")]
    ("bucket-brigade --tasks 5 --iterations 5", ["monoio", "threads"]),
    ("bucket-brigade --over channel --iterations 5", ["smol", "threads"]),
    ("bucket-brigade --over channel --iterations 5", FLOOR),
    ("bucket-brigade --over channel --iterations 5", ["brigade", "tokio"]),
    ("creation --tasks 5 --repetitions 1", ["smol", "tokio"]),
    ("creation --tasks 5 --repetitions 1", ["brigade", "brigade-one-thread"]),
    // Its runs have processes of their own.
    ("memory --tasks 1000", ["smol", "tokio-current-thread"]),
    ("memory --tasks 1000", ["brigade", "brigade-one-thread"]),
    ("echo --connections 3 --requests 9", ["tokio", "threads"]),
    #[cfg(feature = "full")]
    ("echo --connections 3 --requests 9", ["monoio", "tokio"]),
    ("echo --connections 3 --requests 9", ["brigade-one-thread", "brigade"]),
    (
        "channels --kind tokio --capacity 3 --senders 4 --messages 50",
        ["brigade", "brigade-one-thread"],
    ),
    ("channels --kind flume --capacity unbounded --senders 1 --messages 50", ["tokio", "smol"]),
    (
        "channels --kind async-channel --capacity 1 --receivers 4 --messages 50",
        ["tokio-current-thread", "brigade"],
    ),
    ("timers --pattern spread --timers 9 --millis 5", ["smol", "tokio"]),
    ("timers --pattern instant --by closure --timers 9", ["brigade", "brigade-lifo"]),
    ("timers --pattern unfired --timers 9", ["brigade", "tokio-current-thread"]),
    ("timers --pattern unfired --by closure --timers 9", ["tokio", "smol"]),
];

const OWN: [&str; 2] = ["brigade", "rayon"];
const POOLS: [&str; 2] = ["threadpool", "rayon"];
const ELASTIC: [&str; 2] = ["rusty_pool", "tokio-blocking"];
const BOUNDED: [&str; 2] = ["brigade-fifo", "st3-lifo"];
const GROWING: [&str; 2] = ["crossbeam-lifo", "crossbeam-fifo"];
const NOW_OR_NEVER: [&str; 2] = ["burst-pool", "crossbeam-channel-0"];
const QUEUEING: [&str; 2] = ["spmc", "crossbeam-channel"];
const FLOOR: [&str; 2] = ["floor", "tokio-current-thread"];
const EPOLL: [&str; 2] = ["epoll", "threads"];
const INJECTORS: [&str; 2] = ["brigade-injector", "segqueue"];

/// Runs `workload` with `fault` in one target and none in the other.
fn detects(workload: &str, [faulty, other]: [&str; 2], fault: &str, word: &str) {
    let targets = format!("{faulty},{other}");
    let inject = ["--target", &targets, "--inject", &format!("{fault}:{faulty}")];
    // On a busy machine the chains of `busy-io`, a computing thread for each worker, may wait over a second for a CPU, and the
    // 500 threads of `bucket-brigade`, uncounted, may take over a second to end in turn.
    let is_slow = ["busy-io", "bucket-brigade"].iter().any(|name| workload.starts_with(name));
    let patience = if is_slow { "10" } else { "1" };
    let terms = ["--rounds", "1", "--patience", patience, "--json", "-"];
    let output = run(lab(workload.split(' ')).args(inject).args(terms));
    let peer = !faulty.starts_with("brigade") && ![FLOOR[0], EPOLL[0]].contains(&faulty);
    assert_eq!(code(&output), Some(i32::from(!peer)), "{workload:?}: {}", errors(&output));
    let said = errors(&output);
    assert!(said.contains(&format!("{faulty}: {word} ")), "{said}");
    assert!(said.contains("× best peer: 2 is"), "the closing lines are there: {said}");
    let report = json(&output);
    let results = report["results"].as_array().expect("results");
    assert!(results.iter().all(|result| result["target"] == other), "{workload:?}: {report}");
    assert!(!results.is_empty(), "{workload:?}: the other target has numbers");
    let failure = &report["failures"][0];
    assert_eq!((&failure["target"], &failure["peer"]), (&faulty.into(), &peer.into()));
    assert_eq!(report["complete"], false);
}

#[test]
fn a_lost_task_leaves_no_number() {
    check_all(WORKLOADS, |(workload, targets)| detects(workload, *targets, "lost", "lost"));
}

#[test]
fn a_repeated_task_leaves_no_number() {
    check_all(WORKLOADS, |(workload, targets)| {
        detects(workload, *targets, "repeated", "repeated");
    });
}

#[test]
fn a_repeated_item_displacing_another_is_an_error() {
    // The count is right then, and the fingerprints are not.
    for pattern in ["push-pop-large", "steal"] {
        let workload = format!("queue --pattern {pattern} --repetitions 2");
        detects(&workload, ["st3-lifo", "crossbeam-lifo"], "repeated", "ran");
    }
}

#[test]
fn a_line_with_a_dead_stage_is_over() {
    for target in
        ["brigade", "brigade-one-thread", "tokio", "tokio-current-thread", "smol", "threads"]
    {
        // The byte that is lost with it is the only one on its way, or one of many.
        for (over, in_flight) in
            [("pipe", "1"), ("tcp", "8"), ("unix", "1"), ("channel", "1"), ("channel", "8")]
        {
            let line =
                ["bucket-brigade", "--over", over, "--in-flight", in_flight, "--tasks", "40"];
            let inject = ["--target", target, "--inject", &format!("died:{target}")];
            let output = run(lab(line).args(["--iterations", "60", "--rounds", "1"]).args(inject));
            let (said, table) = (errors(&output), text(&output));
            let peer = !target.starts_with("brigade");
            assert_eq!(code(&output), Some(i32::from(!peer)), "{line:?} on {target}: {said}");
            let noted = if peer { &table } else { &said };
            assert!(noted.contains(&format!("{target}: lost ")), "{line:?} on {target}: {noted}");
            // That would be a line that only stands still.
            assert!(!noted.contains("nothing ran any more"), "{line:?} on {target}: {noted}");
            assert!(!table.contains(" ns"), "no number: {table}");
        }
    }
}

/// A check with these arguments, which ends soon if nothing is left to run.
fn check(arguments: &[&str]) -> Output {
    run(lab(["check", "--seconds", "1", "--patience", "1", "--hogs", "1"]).args(arguments))
}

#[test]
fn a_check_repeats_each_target_without_times() {
    let output = check(&["fan-out", "--target", "brigade,rayon"]);
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let said = text(&output);
    assert!(said.contains("beside 1 hogs") && !said.contains("median"), "{said}");
    let line = said.lines().last().expect("a line");
    let runs: u64 = line.split(' ').next().and_then(|runs| runs.parse().ok()).expect("runs");
    assert!(runs >= 2 && line.ends_with("runs: every task ran exactly once"), "{line}");
}

#[test]
fn a_check_detects_loss_repetition_and_hang() {
    let stands = "nothing ran any more";
    let cases = [
        ("wake", "brigade", "lost", stands, 1),
        ("wake", "brigade", "repeated", "repeated", 1),
        ("wake", "brigade", "stuck", stands, 1),
        ("wake", "rayon", "stuck", stands, 0),
        // Its runs have processes of their own.
        ("memory", "brigade", "stuck", stands, 1),
    ];
    check_all(&cases, |&(workload, target, fault, reason, expected)| {
        let inject = format!("{fault}:{target}");
        let output = check(&[workload, "--target", target, "--inject", &inject]);
        assert_eq!(code(&output), Some(expected), "{inject}: {}", errors(&output));
        // The failure of a peer is noted.
        let said = if expected == 0 { text(&output) } else { errors(&output) };
        let named = format!(" on {target}: ");
        let line = said.lines().find(|line| line.contains(&named)).expect(&said);
        assert!(line.contains(workload) && line.contains(reason), "{inject}: {line}");
        assert!(text(&output).contains(": 1 failed"), "{inject}: {}", text(&output));
    });
}

#[test]
fn a_workloads_pause_is_no_targets_standstill() {
    let workloads = [
        &["latency", "--sleep-ms", "1300", "--bursts", "1", "--target", "rayon"][..],
        &["elastic", "--keep-alive-ms", "1300", "--bursts", "1", "--target", "tokio-blocking"],
        &["elastic", "--block-ms", "1300", "--bursts", "1", "--target", "tokio-blocking"],
        &["burst", "--messages", "1", "--gap-ms", "1300", "--bursts", "1", "--target", "spmc"],
        &["burst", "--messages", "1", "--block-ms", "1300", "--bursts", "1", "--target", "spmc"],
        &["ramp-up", "--threads", "1", "--block-ms", "1300", "--shots", "1", "--target", "brigade"],
    ];
    check_all(&workloads, |workload| {
        let output = run(lab(*workload).args(["--rounds", "1", "--patience", "1", "--json", "-"]));
        assert_eq!(code(&output), Some(0), "{workload:?}: {}", errors(&output));
        assert_eq!(json(&output)["complete"], true, "{workload:?}: {}", errors(&output));
    });
}

#[test]
fn a_slow_target_is_shown_slower_and_loses_no_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let row = "channels --kind all --capacity 100,unbounded --messages 1000 --target brigade,tokio";
    let measure = |name: &str, arguments: &[&str]| {
        let output = run(lab(row.split(' ')).args(arguments).arg("--json").arg(path(name)));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        text(&output)
    };
    measure("old", &[]);
    let said = measure("new", &["--inject", "slow:brigade"]);
    let rows: Vec<_> = said.lines().filter(|line| line.starts_with("  send messages")).collect();
    let are = |verdict: &str| {
        rows.iter().filter(|line| line.trim_end_matches(" *").ends_with(verdict)).count()
    };
    // A busy machine can hide it in some of them.
    assert!(rows.len() == 6 && are(" slower") > 0 && are(" faster") == 0, "{said}");
    // It is slower by some 5,000 %, and from one run to another a busy machine makes either three times as slow.
    let output = run(lab(["compare", "--fail-above", "500%"]).args(["old", "new"].map(path)));
    assert_eq!(code(&output), Some(1), "{}", text(&output));
    let said = errors(&output);
    assert!(said.contains("slower by more than 500%") && said.contains("of brigade in"), "{said}");
    assert!(!said.contains("of tokio"), "{said}");
}
