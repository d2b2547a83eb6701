//! Cuts a failing program down: fewer choices, and smaller ones, as long as it fails in the same way.
//!
//! A failure spoils its process, so each attempt is a process of its own.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::env;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::chosen::{Chosen, OF_A_CASE, SCRIPT};
use crate::source::Source;

/// The time for all attempts, in seconds, unless this variable of the environment says another.
const TIME: (&str, u64) = ("BRIGADE_SHRINK_SECONDS", 60);
/// The fewest and the most schedules of an attempt: ten times as many as a failure has needed.
const SCHEDULES: (u64, u64) = (40, 400);

/// A way to fail: the place in the source of the first panic, which is the scheduler for a deadlock and for a thread that spins.
type Way = String;

/// Runs a program with its seed and so many others. Returns how it fails, the seed, and how many schedules passed before.
fn attempt(chosen: &Chosen, others: u64) -> Option<(Way, u64, u64)> {
    let program = env::current_exe().expect("this program");
    let arguments = ["try", &chosen.text(), &others.to_string()];
    let output = Command::new(program).args(arguments).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.splitn(3, ' ');
    let mut number = || words.next()?.parse().ok();
    match (number(), number()) {
        (Some(passed), Some(seed)) => {
            let reason = words.next().unwrap_or_default();
            let place = reason.split(" panicked at ").nth(1).unwrap_or(reason);
            Some((place.lines().next().unwrap_or_default().into(), seed, passed))
        }
        _ if output.status.success() => None,
        _ => Some((format!("{:?}", output.status), chosen.seed, 0)),
    }
}

/// The choices of programs that are smaller in one place: without an element of a list, with an element in the place of another one
/// around it, with a few of the simplest choices for an element, or with one smaller choice, and without the choice that depends on it.
fn smaller(Source { taken, elements, .. }: &Source) -> Vec<Vec<u8>> {
    let mut elements = elements.clone();
    elements.sort_by_key(|element| Reverse(element.len()));
    let put = |start: usize, end: usize, bytes: &[u8]| {
        [&taken[..start], bytes, &taken[end.min(taken.len())..]].concat()
    };
    let mut all: Vec<_> = elements.iter().map(|outer| put(outer.start, outer.end, &[])).collect();
    for Range { start, end } in elements.clone() {
        let is_inside = |inner: &&Range<usize>| start < inner.start && inner.end <= end;
        let inside = elements.iter().filter(is_inside);
        all.extend(inside.map(|inner| put(start, end, &taken[inner.clone()])));
    }
    for Range { start, end } in elements {
        all.extend([1, 2, 3].map(|count| put(start + 1, end, &vec![0; count])));
    }
    for (at, &choice) in taken.iter().enumerate() {
        all.push(put(at, at + 2, &[0]));
        all.extend([0, choice / 2, choice.saturating_sub(1)].map(|less| put(at, at + 1, &[less])));
    }
    all
}

/// Cuts a failing program down, and prints it as code.
pub(crate) fn shrink(mut least: Chosen) {
    let time = env::var(TIME.0).ok().and_then(|text| text.parse().ok()).unwrap_or(TIME.1);
    let (begun, time) = (Instant::now(), Duration::from_secs(time));
    if time.is_zero() {
        return;
    }
    let Some((way, ..)) = attempt(&least, 0) else {
        return println!("a process of its own does not fail with this program");
    };
    println!("cuts it down while it fails at {way} for {} s at most", time.as_secs());
    let before = least.clone();
    // As a case of cases.rs: with the seeds from 0 on.
    let as_a_case = |chosen: &Chosen, seeds| attempt(&Chosen { seed: 0, ..chosen.clone() }, seeds);
    let mut needed = as_a_case(&least, SCHEDULES.1).map_or(SCHEDULES.1, |(.., passed)| passed);
    let (mut candidates, mut number, mut failed, mut attempts) = (smaller(&least.source), 0, 0, 0);
    let (mut seen, mut said) = (HashSet::new(), Instant::now());
    // Once more from the first one on, unless all of them have failed.
    while begun.elapsed() < time && failed < candidates.len() {
        number %= candidates.len();
        let next = Chosen::new(least.seed, Source::bytes(candidates[number].clone()));
        let size = |chosen: &Chosen| (chosen.source.taken.len(), chosen.source.taken.clone());
        let is_new = size(&next) < size(&least) && seen.insert(next.source.taken.clone());
        let found = if !is_new {
            None
        } else if code(&next) == code(&least) {
            Some((way.clone(), least.seed, 0))
        } else {
            attempts += 1;
            attempt(&next, (10 * needed).clamp(SCHEDULES.0, SCHEDULES.1))
        };
        if let Some((_, seed, passed)) = found.filter(|found| found.0 == way) {
            // The seed itself says nothing of others.
            needed = if passed > 0 { (needed + passed) / 2 } else { needed };
            least = Chosen { seed, ..next };
            candidates = smaller(&least.source);
            failed = 0;
        } else {
            number += 1;
            failed += 1;
        }
        if said.elapsed() > Duration::from_secs(5) {
            said = Instant::now();
            let [now, all] = [&least, &before].map(|chosen| chosen.source.taken.len());
            println!("{attempts} attempts, {now} of {all} choices");
        }
    }
    let seconds = begun.elapsed().as_secs();
    println!("in {seconds} s and {attempts} attempts, cut down from\n\n{}\n", code(&before));
    println!("to a case for cases/programs.rs, which `cargo fmt` breaks into lines:\n");
    println!("fn a_case() -> Program {{ {} }}\n", code(&least));
    match as_a_case(&least, OF_A_CASE) {
        Some((_, seed, _)) => {
            println!("of its {OF_A_CASE} runs, that with seed {seed} fails first;")
        }
        None => println!("none of its {OF_A_CASE} runs fails;"),
    }
    println!("`{SCRIPT} {}` runs it again", least.text());
}

/// The code of a program.
pub(crate) fn code(chosen: &Chosen) -> String {
    format!("{:?}", chosen.program).replace('[', "vec![")
}
