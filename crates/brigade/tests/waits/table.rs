//! The test of all cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::Duration;

use brigade_testkit::test;

use crate::cells;
use crate::current;
use crate::programs;
use crate::rows::{EXCEPTIONS, ROWS};
use crate::run::{Case, run_here, run_in_children, run_named};

/// Each function, with what it waits by.
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

/// The names of the cases that fail today, one a line.
const FAILING: &str = include_str!("failing.txt");

/// Where a run that finds others writes their names.
const FOUND: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/failing.txt");

/// No case fails because a busy machine slows it down, and only cases of the list are not waited for that long.
const LIMIT: Duration = Duration::from_secs(40);
const LIMIT_OF_LISTED: Duration = Duration::from_secs(4);

/// How many cases run at once. They wait for most of their time.
const AT_ONCE: usize = 16;

/// How many children run at once, and how many cases in each.
const CHILDREN: usize = 4;
const IN_A_CHILD: usize = 300;

#[test(alone)]
fn every_call_that_waits_ends() {
    cells::silence_rejections();
    let listed: Vec<_> = FAILING.lines().collect();
    println!("{} cases, {} of which fail today", cases().len(), listed.len());
    let is_listed = |case: &Case| listed.contains(&&*case.name);
    let (failing, others): (Vec<_>, Vec<_>) = cases().into_iter().partition(is_listed);
    let names: Vec<_> = failing.iter().map(|case| case.name.clone()).collect();
    let (alone, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|case| case.is_alone);
    let failed = thread::scope(|scope| {
        let alone = scope.spawn(|| run_in_children(groups(alone), CHILDREN, LIMIT));
        let mut failed = run_here(others, AT_ONCE, LIMIT, LIMIT_OF_LISTED);
        failed.append(&mut alone.join().unwrap());
        failed
    });

    // In children, which end with the threads that compute forever; before these, the cases that are alone.
    let (alone, beside): (Vec<_>, Vec<_>) = failing.into_iter().partition(|case| case.is_alone);
    let mut still = run_in_children(groups(alone), CHILDREN, LIMIT_OF_LISTED);
    still.append(&mut run_in_children(groups(beside), CHILDREN, LIMIT_OF_LISTED));
    let gone = listed.iter().filter(|name| !names.iter().any(|other| other == *name));
    let pass: Vec<_> = names.iter().filter(|name| !still.contains_key(*name)).collect();
    if failed.is_empty() && pass.is_empty() && gone.clone().next().is_none() {
        return;
    }
    let found = failed.keys().chain(still.keys());
    let found: BTreeSet<_> = found.map(|name| format!("{name}\n")).collect();
    fs::write(FOUND, Vec::from_iter(found).concat()).unwrap();
    let gone: Vec<_> = gone.collect();
    panic!(
        "tests/waits/failing.txt is not {FOUND}\n\
        {} failed: {failed:#?}\n{} pass now: {pass:#?}\nare no cases: {gone:#?}",
        failed.len(),
        pass.len(),
    );
}

/// The names of the cases that share a child.
fn groups(cases: Vec<Case>) -> Vec<Vec<String>> {
    let (alone, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.is_alone);
    let others: Vec<_> = others.into_iter().map(|case| case.name).collect();
    let alone = alone.into_iter().map(|case| vec![case.name]);
    alone.chain(others.chunks(IN_A_CHILD).map(<[String]>::to_vec)).collect()
}

#[test(unwatched)]
fn a_child_runs_the_named_cases() {
    run_named(cases());
}
