//! The test of all cases.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use brigade_testkit::test;

use crate::cells;
use crate::current;
use crate::operations;
use crate::programs;
use crate::rows::{EXCEPTIONS, ROWS};
use crate::run::{Case, run_here, run_in_children, run_named};

/// Each function, with its kind of wait.
const VERBS: &str = include_str!("../../../../docs/verbs.txt");

/// Checks that these are the functions of docs/verbs.txt whose column is so, each once.
fn check_named(
    named: impl Iterator<Item = &'static str>,
    column: usize,
    is_so: impl Fn(&str) -> bool,
) {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    named.for_each(|function| *count.entry(function).or_default() += 1);
    let mut missing = Vec::new();
    for line in VERBS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let columns: Vec<_> = line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        if is_so(columns[column]) && count.remove(columns[0]) != Some(1) {
            missing.push(columns[0]);
        }
    }
    assert!(missing.is_empty(), "no row, or several: {missing:#?}");
    assert!(count.is_empty(), "named, and no such function: {:#?}", count.keys());
}

#[test]
fn each_waiting_function_has_a_row_or_a_reason() {
    let rows = ROWS.iter().flat_map(|row| row.functions);
    let exceptions = EXCEPTIONS.iter().flat_map(|(_, functions)| *functions);
    check_named(rows.chain(exceptions).copied(), 1, |waits| waits != "-");
}

#[test]
fn each_operation_of_io_has_a_row() {
    check_named(operations::functions(), 2, |io| io == "io");
}

fn cases() -> Vec<Case> {
    let mut cases = cells::cases();
    cases.append(&mut current::cases());
    cases.append(&mut programs::cases());
    cases
}

/// No case fails because a busy machine or qemu slows it down: the longest computes for 6 s there.
const LIMIT: Duration = Duration::from_secs(120);

/// How many cases run at once. They wait for most of their time.
const AT_ONCE: usize = 16;

/// How many children run at once.
const CHILDREN: usize = 4;

#[test(alone)]
fn every_waiting_call_ends() {
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

/// Caught: of 15 kinds of loops, two fifths kept their thread for good.
#[test]
fn every_loop_of_operations_ends() {
    let failed = run_here(operations::cases(), AT_ONCE, LIMIT);
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}

#[test(unwatched)]
fn a_child_runs_the_named_case() {
    run_named(cases());
}
