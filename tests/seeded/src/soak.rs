//! The command line, for threads of the system: random programs in processes, several at once. Half of the processes hold their threads up.

use std::panic;
use std::process::{Command, ExitCode, abort};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope, sleep, spawn};
use std::time::{Duration, Instant};
use std::{env, iter};

use brigade::Handle;
use fastrand::Rng;

use crate::act::say;
use crate::chosen::{Chosen, SCRIPT, number, verbs};
use crate::machine::PerRun;
use crate::program::run;
use crate::shrink::{code, shrink};

const USAGE: &str = "usage:
brigade-seeded soak SECONDS SEED VERBS  runs random programs for so long
brigade-seeded replay PROGRAM VERBS     prints the operations; a PROGRAM is a SEED, or SEED:CHOICES
brigade-seeded shrink PROGRAM VERBS     cuts a failing program down
brigade-seeded try PROGRAM RUNS         runs it once, and so many times more
brigade-seeded batch SEED RUNS VERBS    runs the programs of so many seeds
A SEED is decimal, or begins with 0x. VERBS are names with commas between them, or '' for all.";

/// Programs of a process.
const OF_A_BATCH: u64 = 64;
/// A program that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);
/// How often the watchdog looks. It counts its looks, as a machine may be late with all threads.
const LOOK: Duration = Duration::from_millis(50);
/// The time for the dumps of the pools.
const DUMPS: Duration = Duration::from_secs(2);

/// The program that runs, how many have ended before it, and the looks of the watchdog at it.
static RUNNING: PerRun<Option<(Chosen, u64, u32)>> = PerRun::new(None);
/// The pools of the program.
static POOLS: PerRun<Vec<Handle>> = PerRun::new(Vec::new());
/// Held by a thread that ends the process.
static ENDS: Mutex<()> = Mutex::new(());

/// A program has made a pool.
pub(crate) fn made(pool: Handle) {
    POOLS.with_borrow_mut(|pools| pools.push(pool));
}

/// Runs the command of the command line.
pub(crate) fn command(arguments: &[&str]) -> Result<ExitCode, String> {
    let only = || verbs(arguments.last().copied().unwrap_or_default());
    match *arguments {
        ["soak", seconds, first, names] => {
            only()?;
            let time = Duration::from_secs(seconds.parse().map_err(|_| USAGE)?);
            Ok(soak(time, number(first)?, names))
        }
        ["batch", first, runs, _] => {
            let (first, runs) = (number(first)?, number(runs)?);
            let only = only()?;
            watch(LIMIT);
            if first / OF_A_BATCH % 2 == 1 {
                hold_up(first);
            }
            let seeds = first..first + runs;
            seeds.enumerate().for_each(|(passed, seed)| once(Chosen::random(seed, &only), passed));
            Ok(ExitCode::SUCCESS)
        }
        ["try", which, others] => {
            let (chosen, others) = (Chosen::parse(which, &[])?, number(others)?);
            // Of its pauses, the longest takes 2 s.
            watch(LIMIT / 3);
            for (passed, seed) in iter::once(chosen.seed).chain(0..others).enumerate() {
                // The rest is held up.
                if passed as u64 == others / 2 {
                    hold_up(chosen.seed);
                }
                once(Chosen { seed, ..chosen.clone() }, passed);
            }
            Ok(ExitCode::SUCCESS)
        }
        ["replay", which, _] => {
            say();
            watch(LIMIT);
            once(Chosen::parse(which, &only()?)?, 0);
            Ok(ExitCode::SUCCESS)
        }
        ["shrink", which, _] => {
            shrink(Chosen::parse(which, &only()?)?);
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(USAGE.into()),
    }
}

/// Holds up the threads of the process from now on.
fn hold_up(seed: u64) {
    let mut random = Rng::with_seed(seed);
    brigade_testkit::hold_threads_up(move |end| random.u64(0..end));
}

/// Runs a program. A failure ends the process.
fn once(chosen: Chosen, passed: usize) {
    let program = chosen.program.clone();
    POOLS.set(Vec::new());
    RUNNING.set(Some((chosen, passed as u64, 0)));
    run(&program);
    RUNNING.set(None);
}

/// Ends the process if a thread panics, but for panics of the program, which call no hook; and if a program takes longer than this.
fn watch(limit: Duration) {
    panic::set_hook(Box::new(|panic| fail(&format!("a thread {panic}"))));
    spawn(move || {
        loop {
            sleep(LOOK);
            let looks = RUNNING.with_borrow_mut(|running| {
                running.as_mut().map(|(.., looks)| {
                    *looks += 1;
                    *looks
                })
            });
            if looks.is_some_and(|looks| LOOK * looks > limit) {
                fail(&format!("hangs: it has taken {limit:?}"));
            }
        }
    });
}

/// Prints how many programs passed, the seed, the reason, the program and its pools, and ends the process.
fn fail(reason: &str) -> ! {
    let _others_wait = ENDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((chosen, passed, _)) = RUNNING.get() {
        println!("{passed} {} {reason}", chosen.seed);
        println!("`{SCRIPT} {}` runs it again:\n{}", chosen.text(), code(&chosen));
        // The locks that a dump takes may be held for good.
        let (done, is_done) = channel();
        spawn(move || {
            POOLS.get().iter().for_each(|pool| println!("{}", pool.dump()));
            done.send(())
        });
        _ = is_done.recv_timeout(DUMPS);
    } else {
        println!("0 0 between programs: {reason}");
    }
    abort()
}

/// Runs batches at once until that time is over, and cuts the first failing program down.
fn soak(time: Duration, first: u64, names: &str) -> ExitCode {
    let begun = Instant::now();
    let [batches, programs, failures] = [const { AtomicU64::new(0) }; 3];
    let least = Mutex::new(None);
    // Twice as many as there are processors, so that threads are interrupted.
    let processes = 2 * available_parallelism().map_or(2, usize::from);
    scope(|scope| {
        for _ in 0..processes {
            scope.spawn(|| {
                while begun.elapsed() < time {
                    let seed = (first / OF_A_BATCH + batches.fetch_add(1, Relaxed)) * OF_A_BATCH;
                    let Some(failure) = batch(seed, names) else {
                        programs.fetch_add(OF_A_BATCH, Relaxed);
                        continue;
                    };
                    println!("{failure}");
                    let mut words = failure.splitn(3, ' ').map_while(|word| number(word).ok());
                    programs.fetch_add(words.next().unwrap_or_default() + 1, Relaxed);
                    failures.fetch_add(1, Relaxed);
                    least.lock().expect("no panic").get_or_insert(words.next());
                }
            });
        }
    });
    let [programs, failures] = [programs, failures].map(AtomicU64::into_inner);
    println!("{programs} programs from seed {first:#x} on: {failures} failures");
    let Some(failed) = least.into_inner().expect("no panic") else { return ExitCode::SUCCESS };
    if let (Some(seed), Ok(only)) = (failed, verbs(names)) {
        shrink(Chosen::random(seed, &only));
    }
    ExitCode::FAILURE
}

/// Runs the programs of a batch in a process. Returns the output of a failure.
fn batch(seed: u64, names: &str) -> Option<String> {
    let program = env::current_exe().expect("this program");
    let arguments = ["batch", &seed.to_string(), &OF_A_BATCH.to_string(), names];
    let output = Command::new(program).args(arguments).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let state = output.status;
    (!state.success()).then(|| format!("{text}{errors}batch of seed {seed:#x}: {state}\n"))
}
