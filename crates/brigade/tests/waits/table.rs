//! The test of all cases.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use brigade_testkit::test;

use crate::cells;
use crate::current;
use crate::programs;
use crate::rows::{EXCEPTIONS, ROWS};
use crate::run::{Case, run_here, run_in_children, run_named};

/// Each function, with its kind of wait.
const VERBS: &str = include_str!("../../../../docs/verbs.txt");

/// The functions of docs/verbs.txt that wait.
fn waiting() -> impl Iterator<Item = &'static str> {
    VERBS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        let (function, waits) = (columns.next()?, columns.next()?);
        (waits != "-").then_some(function)
    })
}

#[test]
fn each_function_that_waits_has_a_row_or_a_reason() {
    let rows = ROWS.iter().flat_map(|row| row.functions);
    let exceptions = EXCEPTIONS.iter().flat_map(|(_, functions)| *functions);
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    rows.chain(exceptions).for_each(|function| *named.entry(function).or_default() += 1);
    let missing: Vec<_> = waiting().filter(|function| named.remove(function).is_none()).collect();
    assert!(missing.is_empty(), "no row, and no reason: {missing:#?}");
    assert!(named.is_empty(), "named, and no function that waits: {:#?}", named.keys());
}

fn cases() -> Vec<Case> {
    let mut cases = cells::cases();
    cases.append(&mut current::cases());
    cases.append(&mut programs::cases());
    cases
}

/// No case fails because a busy machine slows it down.
const LIMIT: Duration = Duration::from_secs(40);

/// How many cases run at once. They wait for most of their time.
const AT_ONCE: usize = 16;

/// How many children run at once.
const CHILDREN: usize = 4;

#[test(alone)]
fn every_call_that_waits_ends() {
    cells::silence_rejections();
    let (alone, others): (Vec<_>, Vec<_>) = cases().into_iter().partition(|case| case.is_alone);
    let alone = alone.into_iter().map(|case| case.name).collect();
    let failed = thread::scope(|scope| {
        let alone = scope.spawn(|| run_in_children(alone, CHILDREN, LIMIT));
        let mut failed = run_here(others, AT_ONCE, LIMIT);
        failed.append(&mut alone.join().unwrap());
        failed
    });
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}

#[test(unwatched)]
fn a_child_runs_the_named_case() {
    run_named(cases());
}
