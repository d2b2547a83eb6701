//! Random pools that exist for some milliseconds each, for a given time.
//!
//! `ci/soak.sh 60` runs it for a minute, `cargo test` for five seconds. Each pool gets every kind of work at once and ends
//! in one of seven ways; then its counters must say what the soak itself has counted, to the job. Between rounds
//! the process must have the threads, files and memory that it had before.
//!
//! `BRIGADE_SEED` repeats the plans of a run, but not the scheduling of the threads. Linux only: it reads `/proc`.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod doing;
mod ledger;
mod life;
mod plan;
mod polled;
mod process;
mod progress;
mod sets;
mod submitter;
mod work;

use std::hash::{BuildHasher as _, RandomState};
use std::panic;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use brigade_testkit::panics;
use fastrand::Rng;

use process::Process;

/// Lives side by side in a round: pools must not affect each other either.
const BESIDE: u64 = 2;

/// Lives one after the other in a round.
const LIVES: u64 = 10;

/// Rounds until the memory that a process keeps for itself is there.
const WARM_UP: u64 = 5;

/// A number from the environment.
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

#[test]
fn random_load_accounts_for_every_job() {
    let seconds = given("BRIGADE_SOAK_SECONDS").unwrap_or(5);
    let seed = given("BRIGADE_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("BRIGADE_SEED={seed}");
    progress::watch();
    silence_rejections();
    let end = Instant::now() + Duration::from_secs(seconds);
    let before = Process::now();
    let mut warm = None;
    let mut random = Rng::with_seed(seed);
    let (mut rounds, mut jobs) = (0, 0);
    while Instant::now() < end || warm.is_none() {
        jobs += round(&mut random);
        rounds += 1;
        before.assert_has_threads_and_files_again();
        if rounds == WARM_UP {
            warm = Some(Process::now());
        }
    }
    if let Some(warm) = warm {
        warm.assert_has_memory_again();
    }
    println!("{} pools, {jobs} jobs, all accounted for", rounds * BESIDE * LIVES);
}

/// A broadcast that is not accepted panics.
fn silence_rejections() {
    panics::silence_expected();
    let loud = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let text = panics::text(info.payload()).unwrap_or_default();
        if !text.starts_with("the job was not accepted") {
            loud(info);
        }
    }));
}

/// Some lives side by side, each followed by others; returns how many jobs were accepted.
fn round(random: &mut Rng) -> u64 {
    thread::scope(|scope| {
        let beside: Vec<_> = (0..BESIDE)
            .map(|_| {
                let mut random = random.fork();
                scope.spawn(move || (0..LIVES).map(|_| life::live(&mut random)).sum::<u64>())
            })
            .collect();
        let jobs = beside.into_iter().map(ScopedJoinHandle::join);
        jobs.map(|jobs| jobs.unwrap_or_else(|payload| panic::resume_unwind(payload))).sum()
    })
}
