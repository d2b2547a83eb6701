//! Cuts a failing program down: fewer choices, and smaller ones, as long as it fails in the same way.
//!
//! A failure spoils its process, so each attempt is a process of its own.

use std::collections::HashSet;
use std::env;
use std::ops::Range;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::explore::Chosen;
use crate::source::Source;

/// The time for all attempts, in seconds, unless this variable of the environment says another.
const TIME: (&str, u64) = ("BRIGADE_SHRINK_SECONDS", 60);
/// The fewest and the most schedules of an attempt.
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
            let place = reason.split(" panicked at ").nth(1).and_then(|rest| rest.lines().next());
            Some((place.unwrap_or(reason).into(), seed, passed))
        }
        _ if output.status.success() => None,
        _ => Some((format!("{:?}", output.status), chosen.seed, 0)),
    }
}

/// A program that is smaller in one place, if this number of it exists: without an element of a list, with an element in the place of
/// another one around it, with the least choices for an element, or with one smaller choice.
fn smaller(source: &Source, mut number: usize) -> Option<Vec<u8>> {
    let Source { taken, elements, .. } = source;
    let mut elements = elements.clone();
    elements.sort_by_key(|element| std::cmp::Reverse(element.len()));
    let put = |range: Range<usize>, bytes: &[u8]| {
        [&taken[..range.start], bytes, &taken[range.end..]].concat()
    };
    if let Some(element) = elements.get(number) {
        return Some(put(element.clone(), &[]));
    }
    number -= elements.len();
    let inside = |outer: &Range<usize>, inner: &Range<usize>| {
        outer.start < inner.start && inner.end <= outer.end
    };
    let pairs = elements.iter().flat_map(|outer| {
        elements.iter().filter(|inner| inside(outer, inner)).map(|inner| (outer.clone(), inner))
    });
    let mut pairs: Vec<_> = pairs.collect();
    if number < pairs.len() {
        let (outer, inner) = pairs.swap_remove(number);
        return Some(put(outer, &taken[inner.clone()]));
    }
    number -= pairs.len();
    if let Some(element) = elements.get(number) {
        let rest = element.start + 1..element.end;
        return Some(put(rest.clone(), &vec![0; rest.len()]));
    }
    number -= elements.len();
    let position = number / 3;
    let choice = *taken.get(position)?;
    let less = [0, choice / 2, choice.saturating_sub(1)][number % 3];
    Some(put(position..position + 1, &[less]))
}

/// Cuts a failing program down, and prints it as code.
pub(crate) fn shrink(mut least: Chosen) -> ExitCode {
    let time = env::var(TIME.0).ok().and_then(|text| text.parse().ok()).unwrap_or(TIME.1);
    let (begun, time) = (Instant::now(), Duration::from_secs(time));
    if time.is_zero() {
        return ExitCode::FAILURE;
    }
    let Some((way, ..)) = attempt(&least, 0) else {
        println!("a process of its own does not fail with this program");
        return ExitCode::SUCCESS;
    };
    println!("cuts it down while it fails at {way}, for {} s at most", time.as_secs());
    let before = least.clone();
    let least_of_all = Chosen { seed: 1 << 40, ..least.clone() };
    let found = attempt(&least_of_all, SCHEDULES.1).filter(|found| found.0 == way);
    // How many schedules a failure takes.
    let mut needed = found.map_or(SCHEDULES.1, |(_, _, passed)| passed);
    let (mut number, mut failed, mut attempts) = (0, 0, 0);
    let mut seen = HashSet::new();
    let mut said = Instant::now();
    while begun.elapsed() < time {
        let Some(choices) = smaller(&least.source, number) else {
            // Once more from the first one on, unless none of them was of use.
            if failed >= number {
                break;
            }
            number = 0;
            continue;
        };
        let next = Chosen::new(least.seed, Source::bytes(choices));
        let size = |chosen: &Chosen| (chosen.source.taken.len(), chosen.source.taken.clone());
        let is_new = size(&next) < size(&least) && seen.insert(next.source.taken.clone());
        let is_same = || format!("{:?}", next.program) == format!("{:?}", least.program);
        let found = if !is_new {
            None
        } else if is_same() {
            Some((way.clone(), least.seed, needed))
        } else {
            attempts += 1;
            attempt(&next, (10 * needed).clamp(SCHEDULES.0, SCHEDULES.1))
        };
        match found.filter(|found| found.0 == way) {
            Some((_, seed, passed)) => {
                least = Chosen { seed, ..next };
                needed = (3 * needed + passed) / 4;
                failed = 0;
            }
            None => {
                number += 1;
                failed += 1;
            }
        }
        if said.elapsed() > Duration::from_secs(5) {
            said = Instant::now();
            let [now, all] = [&least, &before].map(|chosen| chosen.source.taken.len());
            println!("{attempts} attempts, {now} of {all} choices");
        }
    }
    let code = |chosen: &Chosen| format!("{:?}", chosen.program).replace('[', "vec![");
    println!(
        "in {} s and {attempts} attempts, cut down from\n{}",
        begun.elapsed().as_secs(),
        code(&before)
    );
    println!("to a case for cases.rs, of which about one in {} schedules fails:\n", needed + 1);
    println!("fn a_case() -> Program {{\n    {}\n}}\n", code(&least));
    println!("`ci/seeded.sh {}` shows each of its steps", least.text());
    ExitCode::FAILURE
}
