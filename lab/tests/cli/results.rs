//! Every workload runs on every target, and the result file has the documented content.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::{check_all, code, errors, json, lab, list, median, results_of, run, text};

/// Tiny runs of each workload, the metrics, and the family of targets it is measured on.
const WORKLOADS: &[(&str, &[&str], &str)] = &[
    ("throughput --messages 50 --amplification 3", &["rate", "cpu"], "pools"),
    ("latency --producers 2 --messages 5 --bursts 3 --sleep-ms 1", LATENCY, "pools"),
    ("latency --messages 5 --bursts 3 --rate 1000", LATENCY, "pools"),
    ("submit --pattern sleepers --messages 50", &["submit", "cpu"], "pools"),
    ("submit --pattern contended --messages 5", &["submit", "cpu"], "pools"),
    ("submit --pattern empty --messages 50", &["submit", "cpu"], "pools"),
    ("wake --shots 3", WAKE, "pools"),
    ("wake --shots 3 --rate 1000", WAKE, "pools"),
    ("wake --shots 3 --then compute --work-us 5", WAKE, "pools"),
    ("fan-out --shots 2 --children 5", FAN_OUT, "pools"),
    ("ramp-up --shots 2 --block-ms 2", RAMP_UP, "pools"),
    ("ramp-up --threads 2 --jobs 3 --shots 1 --block-ms 2", RAMP_UP, "pools"),
    ("fairness --millis 20 --every-ms 2 --limit-ms 20", FAIRNESS, "pools"),
    ("fairness --chains 100 --millis 20 --limit-ms 20", FAIRNESS, "pools"),
    ("fork-join --program fib --size 12", FORKS, "fork-join pools"),
    ("fork-join --program skynet --size 2", FORKS, "fork-join pools"),
    ("fork-join --program nqueens-scope --size 6", FORKS, "fork-join pools"),
    ("fork-join --program uts --size 10", FORKS, "fork-join pools"),
    (
        "elastic --jobs 5 --keep-alive-ms 5 --block-ms 5 --bursts 3",
        &["grown", "all", "at-once", "left", "cpu"],
        "elastic pools",
    ),
    ("queue --repetitions 3", &["time", "cpu"], "queues"),
    ("queue --pattern push-pop-large --repetitions 1", &["time", "cpu"], "queues"),
    ("queue --pattern executor --repetitions 20", &["time", "cpu"], "queues"),
    ("queue --pattern executor --workers 1 --repetitions 2", &["time", "cpu"], "queues"),
    ("queue --pattern steal --batch 1 --repetitions 2", &["time", "cpu"], "queues"),
    ("queue --pattern steal --batch 128 --repetitions 2", &["time", "cpu"], "queues"),
    ("queue --pattern injector --repetitions 20", &["time", "cpu"], "queues"),
    ("queue --pattern injector --producers 3 --repetitions 20", &["time", "cpu"], "queues"),
    // Enough that some thread waits again in one of them, however busy the machine is.
    ("burst --messages 2 --bursts 20", BURST, "handovers"),
    ("burst --messages 9 --receivers 2 --bursts 20", BURST, "handovers"),
];

const FORKS: &[&str] = &["time", "cpu-time", "peak", "cpu"];

const LATENCY: &[&str] = &["p50", "p99", "p99.9", "max", "mean", "bound", "rse", "cpu"];

const WAKE: &[&str] = &["start", "start-p99", "start-p99.9", "start-max", "submit", "cpu"];

const FAN_OUT: &[&str] = &["p50", "p90", "p99", "p99.9", "max", "cpu"];

const RAMP_UP: &[&str] = &["p50", "p99", "p99.9", "max", "mean", "cpu"];

const FAIRNESS: &[&str] = &["p50", "p99", "p99.9", "max", "given-up", "rate", "cpu"];

const BURST: &[&str] = &[
    "p1", "p10", "p50", "p90", "p99", "p99.9", "max", "mean", "stddev", "first", "last", "sender",
    "refused", "cpu",
];

/// Tiny runs of each workload for runtimes, the metrics, and the targets that can do it.
const ON_RUNTIMES: &[(&str, &[&str], On)] = &[
    ("bucket-brigade --tasks 5 --iterations 300", HOPS, RUNTIMES),
    ("bucket-brigade --over tcp --tasks 5 --iterations 30", HOPS, WITHOUT_EPOLL),
    ("bucket-brigade --over unix --tasks 5 --iterations 30", HOPS, WITHOUT_EPOLL),
    ("bucket-brigade --over channel --iterations 3 --warmups 20", HOPS, WITHOUT_EPOLL),
    ("bucket-brigade --tasks 1 --iterations 1 --in-flight 9", HOPS, RUNTIMES),
    ("bucket-brigade --over channel --in-flight 9 --threads 1 --iterations 9", HOPS, WITHOUT_EPOLL),
    ("creation --tasks 5 --repetitions 3", CREATION, WITH_TASKS),
    ("creation --kind thread --tasks 5 --repetitions 3 --warmups 1", CREATION, THREADS),
    ("creation --shape chain --tasks 50 --repetitions 3", &["time", "cpu"], WITH_TASKS),
    ("creation --shape ping-pong --tasks 50 --repetitions 3", &["time", "cpu"], WITH_TASKS),
    ("creation --kind thread --shape chain --tasks 5", &["time", "cpu"], THREADS),
    ("creation --kind thread --shape ping-pong --tasks 5", &["time", "cpu"], THREADS),
    ("memory --tasks 1000", &["bytes", "virtual", "cpu"], SPAWNING),
    ("echo --connections 1 --requests 20", REQUESTS, WITH_STREAMS),
    ("echo --connections 30 --requests 70", REQUESTS, WITH_STREAMS),
    ("echo --connections 3 --requests 70 --rate 5000", REQUESTS, WITH_STREAMS),
    ("busy-io --millis 50 --every-ms 2", LATENESS, WITH_TASKS),
    ("channels --kind tokio --capacity 9 --senders 1 --messages 20000", CHANNELS, WITH_TASKS),
    (
        "channels --kind flume --senders 4 --receivers 4 --capacity 100 --messages 20000",
        CHANNELS,
        WITH_TASKS,
    ),
    (
        "channels --kind async-channel --senders 4 --capacity unbounded --messages 20000",
        CHANNELS,
        WITH_TASKS,
    ),
    #[cfg(feature = "full")]
    ("server --protocol http --connections 3 --requests 50", SERVER, WITH_TASKS),
    #[cfg(feature = "full")]
    ("server --protocol https --connections 2 --requests 30", SERVER, WITH_TASKS),
    #[cfg(feature = "full")]
    ("server --protocol http2 --connections 2 --pipeline 5 --requests 50", SERVER, WITH_TASKS),
    ("server --protocol resp --connections 2 --pipeline 9 --requests 99", SERVER, WITH_TASKS),
    ("server --protocol resp --connections 1 --pipeline 1 --requests 1", SERVER, WITH_TASKS),
    ("timers --pattern spread --timers 50 --millis 20", TIMERS, WITH_TASKS),
    ("timers --pattern instant --timers 1 --threads 1", TIMERS, WITH_TASKS),
    ("timers --pattern unfired --timers 2000", UNFIRED, WITH_TASKS),
    ("timers --pattern spread --by closure --timers 50 --millis 20", TIMERS, WITH_TASKS),
    ("timers --pattern unfired --by closure --timers 2000", UNFIRED, WITH_TASKS),
];

const HOPS: &[&str] = &[
    "hop",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "cpu-hop",
    "switches",
    "mean",
    "stddev",
    "user-hop",
    "system-hop",
    "faults",
    "cpu",
];
const CREATION: &[&str] = &["time", "create", "create-sd", "begin", "begin-sd", "cpu"];
const REQUESTS: &[&str] = &["rate", "p50", "p90", "p99", "p99.9", "max", "cpu"];
const LATENESS: &[&str] = &[
    "timer-p50",
    "timer-p99",
    "timer-p99.9",
    "timer-max",
    "byte-p50",
    "byte-p99",
    "byte-p99.9",
    "byte-max",
    "rate",
    "cpu",
];
const TIMERS: &[&str] =
    &["cpu-timer", "make", "late-p50", "late-p99", "late-p99.9", "late-max", "cpu"];
const UNFIRED: &[&str] = &["cpu-timer", "time", "cpu"];
const CHANNELS: &[&str] = &["message", "cpu-message", "switches", "cpu"];
const SERVER: &[&str] = &["rate", "cpu-request", "p50", "p99", "p99.9", "max", "switches", "cpu"];

/// Which of the runtimes can do it.
enum On {
    /// All but these.
    AllBut(&'static [&'static str]),
    /// This one.
    Only(&'static str),
}

const RUNTIMES: On = On::AllBut(&[]);
const WITHOUT_EPOLL: On = On::AllBut(&["epoll"]);
const WITH_STREAMS: On = On::AllBut(&["epoll", "floor"]);
const SPAWNING: On = On::AllBut(&["epoll", "floor", "monoio"]);
const WITH_TASKS: On = On::AllBut(&["epoll", "floor", "monoio", "threads"]);
const THREADS: On = On::Only("threads");

/// Targets that other programs run, which are built separately.
const ELSEWHERE: &[&str] = &[
    "brigade-rayon",
    "executors-no-park",
    "executors-counted",
    "brigade-executors-no-park",
    "tokio-fifo",
    "go",
    "cpp",
];

/// The queues that no thread owns.
const INJECTORS: [&str; 4] =
    ["brigade-injector", "brigade-sharded", "crossbeam-injector", "segqueue"];

/// Whether `queue` with this pattern runs on this queue.
fn is_of_pattern(target: &str, pattern: &str) -> bool {
    pattern.contains("injector") == INJECTORS.contains(&target)
}

/// Targets that differ in how a task waits for ten children.
const FOR_SKYNET: &[&str] = &["tokio-join-set", "brigade-submit", "brigade-task-set"];

/// Targets that have loops alone.
const FOR_SHORT: &[&str] = &["fork-union", "paralight"];

/// Whether all tasks of a fork-join program are jobs of one scope.
fn has_scope(workload: &str) -> bool {
    workload.contains("nqueens-scope") || workload.contains("uts")
}

/// Names after the heading that begins with `heading` in the output of `list`, of what this program runs.
fn listed(heading: &str) -> BTreeSet<String> {
    let list = text(&run(&mut lab(["list"])));
    let lines = list.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line[2..].split_whitespace().next());
    names.filter(|name| !ELSEWHERE.contains(name)).map(str::to_owned).collect()
}

/// The distinct values of `key` over all results.
fn all<'a>(results: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    results.iter().filter_map(|result| result[key].as_str()).collect()
}

#[test]
fn every_workload_runs_on_its_whole_family() {
    check_all(WORKLOADS, |(workload, metrics, family)| {
        let mut targets = listed(family);
        targets.retain(|target| workload.contains("skynet") || !FOR_SKYNET.contains(&&**target));
        targets.retain(|target| !FOR_SHORT.contains(&&**target));
        targets.retain(|target| !has_scope(workload) || target != "chili");
        targets.retain(|target| *family != "queues" || is_of_pattern(target, workload));
        assert!(targets.len() > 3, "{family}: {targets:?}");
        runs_on(workload, metrics, &targets.iter().map(String::as_str).collect());
    });
}

#[test]
fn runtime_workloads_run_on_all_able_targets() {
    let runtimes = listed("runtimes");
    check_all(ON_RUNTIMES, |(workload, metrics, on)| {
        let can = |name: &&str| match on {
            On::AllBut(others) => !others.contains(name),
            On::Only(only) => name == only,
        };
        let targets: BTreeSet<_> = runtimes.iter().map(String::as_str).filter(can).collect();
        assert!(!targets.is_empty(), "{workload}");
        runs_on(workload, metrics, &targets);
    });
}

#[test]
fn a_target_without_programs_is_refused() {
    let output = run(&mut lab(["fork-join", "--target", "tokio,spmc"]));
    assert_eq!(code(&output), Some(2), "{}", errors(&output));
    assert!(
        errors(&output).contains("brigade, sequential, rayon, brigade-rayon, chili, forte, tokio"),
        "{output:?}"
    );
}

#[test]
fn a_target_without_its_program_says_how_to_build_it() {
    for (row, target, expected, script) in [
        ("fork-join --program fib --size 9", "brigade-rayon", 3, "ci/lab.sh rayon"),
        // One peer less fails no run.
        ("throughput --messages 5", "executors-no-park", 0, "ci/lab.sh executors"),
        ("latency --messages 5", "executors-counted", 0, "ci/lab.sh executors"),
        #[cfg(feature = "full")]
        ("latency --messages 5", "brigade-executors-no-park", 3, "ci/lab.sh executors"),
        ("queue --repetitions 2", "tokio-fifo", 0, "ci/lab.sh st3"),
        ("creation --tasks 5", "go", 0, "ci/lab.sh go"),
        ("creation --tasks 5", "cpp", 0, "ci/lab.sh cpp"),
    ] {
        let output = run(lab(row.split(' ')).args(["--rounds", "1", "--target", target]));
        assert_eq!(code(&output), Some(expected), "{output:?}");
        let said = errors(&output) + &text(&output);
        assert!(said.contains(script), "{said}");
    }
}

#[test]
fn a_target_of_another_program_is_run_by_it() {
    // It is this program again, with other features, beside it.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = |name: &str| {
        let to = folder.path().join(name);
        // By another process: one that a test starts meanwhile would have this one's open file, and so busy text.
        let copied = run(Command::new("cp").arg(env!("CARGO_BIN_EXE_brigade-lab")).arg(&to));
        assert!(copied.status.success(), "{}", errors(&copied));
        to
    };
    copy("brigade-lab-executors-no-park");
    let row = "latency --messages 5 --bursts 1 --sleep-ms 0 --rounds 1";
    let arguments = row.split(' ').chain(["--target", "executors-no-park", "--json", "-"]);
    let output = run(Command::new(copy("lab")).args(arguments));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    assert!(median(&report, "executors-no-park", "p99") > 0.0);
    // One burst, as it was told, says nothing about others.
    assert!(results_of(&report, "executors-no-park", "rse").is_empty(), "{report}");
}

#[test]
fn a_borrowing_program_runs_on_all_able_pools() {
    let mut targets = listed("fork-join pools");
    for other in FOR_SKYNET.iter().chain(&["tokio"]) {
        assert!(targets.remove(*other), "its tasks may not");
    }
    let all = targets.iter().map(String::as_str).collect();
    runs_on("fork-join --program short --size 64", FORKS, &all);
    let targets = all.into_iter().filter(|target| !FOR_SHORT.contains(target)).collect();
    let programs = [
        ["nqueens", "6"],
        ["quicksort", "5000"],
        ["mergesort", "20000"],
        ["matmul", "40"],
        ["mandelbrot", "20"],
        ["nbody", "10"],
        ["wc", "20"],
    ];
    check_all(&programs, |[program, size]| {
        let workload = format!("fork-join --program {program} --size {size} --threads 3");
        runs_on(&workload, FORKS, &targets);
    });
}

#[test]
fn forks_are_timed_on_able_pools() {
    let workload = "steal --shots 3 --before-us 10 --sibling-us 100";
    let metrics = ["p50", "p99", "p99.9", "max", "kept", "cpu"];
    runs_on(workload, &metrics, &["brigade", "rayon", "chili", "forte"].into());
}

/// Runs `workload` on all of its targets, which are these.
fn runs_on(workload: &str, metrics: &[&str], targets: &BTreeSet<&str>) {
    let output =
        run(lab(workload.split(' ')).args(["--target", "all", "--rounds", "1", "--json", "-"]));
    assert_eq!(code(&output), Some(0), "{workload}: {}", errors(&output));
    let report = json(&output);
    let results = report["results"].as_array().expect("results");
    assert_eq!(results.len(), targets.len() * metrics.len(), "{workload}");
    assert_eq!(all(results, "metric"), metrics.iter().copied().collect(), "{workload}");
    assert_eq!(all(results, "target"), *targets, "{workload}");
    // Single values are counted where there are percentiles.
    let has_values = metrics.iter().any(|name| name.ends_with("max"));
    for lane in list(&report["sheets"][0]["lanes"]) {
        let count = lane["spent"][0]["count"].as_u64();
        assert_eq!(count > Some(0), has_values, "{workload}: {lane}");
    }
    for result in results {
        // JSON has no number that is not finite.
        let median = result["median"].as_f64().expect("a number");
        let count = ["left", "refused", "switches", "given-up", "kept", "peak", "faults"]
            .iter()
            // A short run may have been in the kernel all the time, and a reserve may be large enough.
            .chain(&["user-hop", "system-hop", "stddev", "virtual"])
            .any(|name| result["metric"] == *name);
        assert!(median > 0.0 || (count && median == 0.0), "{workload}: {result}");
    }
}

#[test]
fn another_configuration_runs_in_submit_or_by_name() {
    let targets = |arguments: &[&str]| {
        let output = run(lab(arguments).args(["--rounds", "1", "--json", "-"]));
        assert_eq!(code(&output), Some(0), "{}", errors(&output));
        let report = json(&output);
        let results = report["results"].as_array().expect("results");
        all(results, "target").into_iter().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let further: BTreeSet<_> =
        ["brigade-elastic", "brigade-elastic-50", "rusty_pool-elastic", "rusty_pool-50"]
            .map(str::to_owned)
            .into();
    let wake = targets(&["wake", "--shots", "2"]);
    assert!(wake.is_disjoint(&further), "{wake:?}");
    let names = further.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    assert_eq!(targets(&["wake", "--shots", "2", "--target", &names]), further);
    assert_eq!(targets(&["submit", "--messages", "20"]), &wake | &further);
    let list = text(&run(&mut lab(["list"])));
    let marked = list.lines().filter_map(|line| line.strip_prefix("+ ")?.split(' ').next());
    let marked = marked.map(str::to_owned).collect::<BTreeSet<_>>();
    assert!(further.is_subset(&marked) && wake.is_disjoint(&marked), "{marked:?}");
}

#[test]
fn all_workloads_are_listed_and_measured() {
    let rows = WORKLOADS.iter().map(|(row, ..)| row).chain(ON_RUNTIMES.iter().map(|(row, ..)| row));
    let measured = rows.filter_map(|row| row.split(' ').next()).map(str::to_owned);
    // The one on some pools, and the other on commands of the user's.
    let others = ["steal", "run"].map(str::to_owned);
    assert_eq!(listed("workloads"), measured.chain(others).collect());
}

#[test]
fn a_queue_has_its_whole_family_by_default() {
    for pattern in ["executor", "injector"] {
        let mut targets = listed("queues");
        targets.retain(|name| !name.starts_with("brigade-st3") && is_of_pattern(name, pattern));
        let output = run(lab(["queue", "--pattern", pattern, "--repetitions", "1"])
            .args(["--rounds", "1", "--json", "-"]));
        let report = json(&output);
        let results = report["results"].as_array().expect("results");
        assert_eq!(all(results, "target"), targets.iter().map(String::as_str).collect());
    }
}

#[test]
fn all_rows_of_a_named_target_are_measured() {
    let output = run(&mut lab(["all", "--target", "segqueue", "--rounds", "1", "--json", "-"]));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = json(&output);
    let results = report["results"].as_array().expect("results");
    assert_eq!(all(results, "workload"), ["queue"].into());
    assert_eq!(all(results, "target"), ["segqueue"].into());
    assert!(results.iter().all(|result| result["params"]["pattern"] == "injector"), "{report}");
    assert!(!errors(&output).contains("throughput"), "no table of another: {}", errors(&output));
}

#[test]
fn a_queues_peers_are_of_other_crates() {
    let names = ["--target", "brigade-fifo,st3-fifo", "--rounds", "1"];
    let table = text(&run(lab(["queue", "--repetitions", "1"]).args(names)));
    // Median, minimum and maximum with their units come first.
    let ratio = |name: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(name)).expect("a line");
        line.split_whitespace().nth(7).expect("a ratio").to_owned()
    };
    assert_eq!(ratio("st3-fifo"), "1.00", "{table}");
    let alone =
        text(&run(lab(["queue", "--repetitions", "1", "--target", "brigade-lifo"])
            .args(["--rounds", "1"])));
    assert!(alone.contains('–'), "no peer, no ratio: {alone}");
}

#[test]
fn every_stealing_pool_of_executors_runs() {
    // Each number of threads has a parker of its own.
    for threads in ["32", "33", "65"] {
        let output = run(lab(["throughput", "--messages", "50", "--threads", threads]).args([
            "--target",
            "executors-stealing",
            "--rounds",
            "1",
        ]));
        assert_eq!(code(&output), Some(0), "{threads}: {}", errors(&output));
    }
}

#[test]
fn a_result_has_its_samples_and_statistics() {
    let output = run(lab(["throughput", "--messages", "50", "--target", "brigade,rayon"])
        .args(["--rounds", "3", "--json", "-"]));
    let report = json(&output);
    assert_eq!(report["schema"], 2);
    assert_eq!(report["complete"], true);
    for key in ["cpus", "cpu_model", "kernel", "arch", "rustc", "version", "date", "seed"] {
        assert!(!report["machine"][key].is_null(), "{key}");
    }
    let result = &report["results"][0];
    let row = &report["sheets"][0];
    let keys = |value: &Value| -> BTreeSet<_> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let promised = |names: &str| names.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
    let sheet = "workload done like own yours headline params metrics note noise meanwhile lanes";
    assert_eq!(keys(row), promised(sheet));
    assert_eq!(keys(&row["lanes"][0]), promised("name peer medians values spent failure"));
    assert_eq!(
        row["metrics"][0],
        serde_json::json!({ "name": "rate", "unit": "tasks/s", "direction": "higher" })
    );
    assert_eq!((&row["workload"], &row["headline"]), (&"throughput".into(), &0.into()));
    assert_eq!(row["params"]["messages"], 50);
    assert_eq!([&result["peer"], &report["results"][2]["peer"]], [false, true]);
    assert!(["done", "like"].iter().all(|key| !row[key].is_null()), "{row}");

    let samples = result["samples"].as_array().expect("samples").iter();
    let mut samples: Vec<f64> = samples.map(|sample| sample.as_f64().expect("a number")).collect();
    samples.sort_by(f64::total_cmp);
    assert_eq!(samples.len(), 3);
    assert_eq!(result["median"], samples[1]);
    assert!(samples[0] > 0.0);
}

#[test]
fn a_delayed_request_counts_from_its_due_time() {
    let p50 = |rate: &[&str]| {
        let echo = ["echo", "--connections", "1", "--requests", "2000", "--target", "smol"];
        let output = run(lab(echo).args(["--rounds", "1", "--json", "-"]).args(rate));
        median(&json(&output), "smol", "p50")
    };
    // No connection answers a million a second: the thousandth has waited for those before it.
    let (closed, open) = (p50(&[]), p50(&["--rate", "1000000"]));
    assert!(open > 30.0 * closed, "{open} {closed}");
}

#[test]
fn a_delayed_burst_counts_from_its_due_time() {
    let p50 = |rate: &[&str]| {
        let latency = ["latency", "--bursts", "300", "--messages", "50", "--target", "rayon"];
        let output = run(lab(latency).args(["--rounds", "1", "--json", "-"]).args(rate));
        median(&json(&output), "rayon", "p50")
    };
    // No pool runs a million bursts a second: one in the middle has waited for those before it.
    let (closed, open) = (p50(&["--sleep-ms", "0"]), p50(&["--rate", "1000000"]));
    assert!(open > 20.0 * closed, "{open} {closed}");
}

#[test]
fn a_percentile_of_few_values_is_in_the_file_only() {
    let row = ["ramp-up", "--shots", "2", "--block-ms", "2", "--rounds", "2", "--target", "rayon"];
    let output = run(lab(row).args(["--json", "-"]));
    let report = json(&output);
    assert_eq!(results_of(&report, "rayon", "p99").len(), 1);
    let lane = &report["sheets"][0]["lanes"][0];
    assert_eq!((&lane["name"], list(&lane["spent"]).len()), (&"rayon".into(), 2));
    for run in list(&lane["spent"]) {
        assert_eq!(run["count"], 2, "{run}");
        for key in ["wall", "user", "system", "voluntary", "involuntary"] {
            assert!(run[key].is_f64(), "{key}: {run}");
        }
    }
    let table = errors(&output);
    let line = table.lines().find(|line| line.starts_with("  p99 ")).expect("a line");
    assert!(line.ends_with("4 values are too few: it takes 1000"), "{line}");
    assert!(table.contains("\n  p50 ") && table.contains("\n  max "), "{table}");
}

#[test]
fn rounds_end_with_a_narrow_interval() {
    let rounds = |options: &[&str]| {
        let row = ["wake", "--shots", "2", "--rounds", "1", "--json", "-"];
        let report = json(&run(lab(row).args(options)));
        let [result] = results_of(&report, "rayon", "start")[..] else { panic!("{report}") };
        result["samples"].as_array().expect("samples").len()
    };
    let pair = ["--target", "brigade,rayon", "--until"];
    // Five are the fewest with an interval. No ratio is off by more than 1000 per cent after that, and none by nothing.
    assert!((5..50).contains(&rounds(&[&pair[..], &["1000%"]].concat())));
    assert!(rounds(&[&pair[..], &["0%", "--at-most", "0"]].concat()) == 5);
    assert_eq!(rounds(&["--target", "rayon", "--until", "0%"]), 5, "no ratio, nothing to wait for");
}

#[test]
#[cfg(target_os = "linux")]
fn other_work_is_said_and_can_fail_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    let row = ["wake", "--shots", "100", "--rounds", "1", "--target", "rayon", "--quiet-machine"];
    let over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        let cpus = thread::available_parallelism().expect("a number").get();
        for _ in 0..2 * cpus {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let output = run(lab(row).arg("--json").arg(&path));
        over.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(code(&output), Some(4), "{}", errors(&output));
    let said = errors(&output);
    assert!(said.contains("CPUs were taken by other programs"), "{said}");
    assert!(text(&output).contains("\nthis machine was busy: "), "{}", text(&output));
    assert!(text(&output).contains("\nnot alone: "), "{}", text(&output));
    let report: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!(report["complete"], true);
    assert!(report["noise"]["busy"].as_str().expect("a line").contains("busy"));
    assert!(report["sheets"][0]["meanwhile"]["other_cpus"].as_f64().expect("a number") > 0.1);
    let shown = run(lab(["report"]).arg(&path));
    assert_eq!(table(&text(&shown), "wake"), table(&text(&output), "wake"));
    assert!(text(&shown).contains("\nthis machine was busy: "), "{}", text(&shown));
}

/// The table of this workload.
fn table<'a>(output: &'a str, workload: &str) -> &'a str {
    let begin = format!("{workload} --");
    let table = output.split("\n\n").find(|part| part.starts_with(&begin));
    table.unwrap_or_else(|| panic!("no table: {output}")).trim_end()
}

#[test]
fn a_report_has_its_runs_tables_and_no_refused_percentile() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    let row = ["ramp-up", "--shots", "2", "--block-ms", "2", "--rounds", "2", "--verbose"];
    let output = run(lab(row).args(["--target", "brigade,rayon", "--json"]).arg(&path));
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let report = |arguments: &[&str]| text(&run(lab(["report"]).arg(&path).args(arguments)));
    let measured = text(&output);
    let measured = table(&measured, "ramp-up");
    assert!(measured.contains("it takes 1000"), "{measured}");
    assert_eq!(table(&report(&["--verbose"]), "ramp-up"), measured);
    let refused = measured.lines().filter(|line| line.starts_with("  p99 (less is better) "));
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused.len(), 1, "{measured}");
    assert!(refused[0].ends_with(" 4 values are too few: it takes 1000"), "{measured}");
}

#[test]
fn the_same_seed_is_told_in_the_result() {
    let wake = ["wake", "--shots", "1", "--rounds", "1", "--target", "rayon", "--seed", "17"];
    let output = run(lab(wake).args(["--json", "-"]));
    assert_eq!(json(&output)["machine"]["seed"], 17);
}

/// Commands with peers in other languages, beside another target.
const FOREIGN: [(&str, &[&str]); 5] = [
    ("creation --tasks 5 --target smol,go,cpp", &["go", "cpp"]),
    ("bucket-brigade --over channel --tasks 5 --target smol,go", &["go"]),
    ("fork-join --program fib --size 9 --target rayon,go,cpp", &["go", "cpp"]),
    ("fork-join --program skynet --size 2 --target rayon,go,cpp", &["go", "cpp"]),
    ("fork-join --program nqueens-scope --size 6 --target rayon,go,cpp", &["go", "cpp"]),
];

/// A folder with the laboratory and those of these peers that there is a compiler for, and their names.
fn with_peers(peers: &[&'static str]) -> (TempDir, Vec<&'static str>) {
    let folder = tempfile::tempdir().expect("a folder");
    // By another process, as above.
    let lab = env!("CARGO_BIN_EXE_brigade-lab");
    let copied = run(Command::new("cp").arg(lab).arg(folder.path().join("lab")));
    assert!(copied.status.success(), "{}", errors(&copied));
    let is_built = |peer: &&&str| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/lab.sh");
        let built = run(Command::new(script).arg(peer).arg(folder.path()));
        if !built.status.success() {
            eprintln!("skipped: {peer}, {}", errors(&built));
        }
        built.status.success()
    };
    let built = peers.iter().filter(is_built).copied().collect();
    (folder, built)
}

#[test]
fn a_foreign_language_peer_runs() {
    let (folder, built) = with_peers(&["go", "cpp"]);
    check_all(&FOREIGN, |(line, peers)| {
        let mut lab = Command::new(folder.path().join("lab"));
        let output = run(lab.args(line.split(' ')).args(["--rounds", "1", "--json", "-"]));
        assert_eq!(code(&output), Some(0), "{line}: {}", errors(&output));
        let report = json(&output);
        for peer in built.iter().filter(|peer| peers.contains(peer)) {
            let mut results = list(&report["results"]).iter();
            assert!(results.any(|result| result["target"] == *peer), "{report}");
        }
    });
}

#[test]
fn a_foreign_language_peers_fault_is_detected() {
    let faults =
        [("lost", "lost 1 of"), ("repeated", "repeated 1 of"), ("stuck", "nothing ran any more")];
    let (folder, built) = with_peers(&["go", "cpp"]);
    for (peer, (fault, reason)) in built.iter().flat_map(|peer| faults.map(|fault| (peer, fault))) {
        let inject = format!("{fault}:{peer}");
        let line =
            ["creation", "--rounds", "1", "--patience", "1", "--target", peer, "--inject", &inject];
        let said = text(&run(Command::new(folder.path().join("lab")).args(line)));
        assert!(said.contains(&format!("on {peer}: {reason}")), "{inject}: {said}");
    }
}
