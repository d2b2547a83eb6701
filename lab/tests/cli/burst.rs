//! The results of `burst` for a channel match its known behaviour.

use serde_json::Value;

use crate::{code, errors, json, lab, median, run, text};

/// The results of `burst` with these options in one round.
fn burst(options: &[&str]) -> Value {
    let output = run(lab(["burst", "--rounds", "1", "--json", "-"]).args(options));
    assert_eq!(code(&output), Some(0), "{options:?}: {}", errors(&output));
    json(&output)
}

#[test]
fn values_without_a_receiver_return_or_wait() {
    let options = ["--messages", "5", "--receivers", "3", "--gap-ms", "5", "--bursts", "10"];
    let report = burst(&[&options[..], &["--block-ms", "20", "--target", "all"]].concat());
    for (target, keeps) in [
        ("brigade-burst", false),
        ("brigade-pool", false),
        #[cfg(feature = "full")]
        ("brigade-burst-pool", false),
        ("burst-pool", false),
        ("crossbeam-channel-0", false),
        ("spmc", true),
        ("crossbeam-channel", true),
    ] {
        // How many are returned depends on how soon the threads wait again, but some always are.
        let refused = median(&report, target, "refused");
        assert_eq!(refused == 0.0, keeps, "{target}: {refused}");
        // The fourth queued value waits for as long as a thread is busy.
        assert!(!keeps || median(&report, target, "last") >= 0.02, "{target}: {report}");
    }
}

#[test]
fn a_bursts_figures_are_in_order() {
    let report = burst(&["--messages", "3", "--receivers", "3", "--bursts", "10"]);
    for target in ["brigade-burst", "burst-pool", "spmc", "crossbeam-channel"] {
        let shares = ["p1", "p10", "p50", "p90", "p99"].map(|name| median(&report, target, name));
        assert!(shares.is_sorted(), "{target}: {shares:?}");
        let [first, last] = ["first", "last"].map(|name| median(&report, target, name));
        assert!(shares[0] <= first && first <= last && last <= shares[4], "{target}: {report}");
        let mean = median(&report, target, "mean");
        assert!((shares[0]..=shares[4]).contains(&mean), "{target}: {mean}");
    }
}

#[test]
fn a_pause_is_as_long_as_it_is_told() {
    let begun = std::time::Instant::now();
    let options = ["--messages", "1", "--bursts", "7", "--block-ms", "0", "--target", "spmc"];
    burst(&[&options[..], &["--gap-ms", "50"]].concat());
    // Seven of them, three before those, and as many in the round that warms up.
    assert!(begun.elapsed().as_secs_f64() >= 20.0 * 0.05);
}

#[test]
fn a_gap_is_shown_as_it_is_given() {
    let table = text(&run(lab(["burst", "--messages", "1", "--gap-ms", "0.25,2"])
        .args(["--bursts", "1", "--rounds", "1", "--target", "spmc"])));
    for gap in ["--gap-ms 0.25 ", "--gap-ms 2 "] {
        assert!(table.contains(gap), "{gap}: {table}");
    }
}
