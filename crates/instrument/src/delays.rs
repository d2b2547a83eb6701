//! Random delays between the steps of threads, with `--cfg brigade_delays` only.
//!
//! Every atomic operation is followed, and every lock, condition variable wait and parker operation preceded, by a call
//! of [`step`]. Most calls return at once; one in sixteen waits, mostly for a few microseconds. While a thread waits
//! between two steps, the others can take steps otherwise possible only if it is preempted just there.
//! `ci/delays.sh` runs the tests of all crates so.
//!
//! Read once, at the first call of the process:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `BRIGADE_DELAY_SEED` | the seed of all generators | random |
//! | `BRIGADE_DELAY_ONE_IN` | 1 in this many calls waits | 16 |
//! | `BRIGADE_DELAY_MAX_MICROS` | the longest delay | 120 |
//!
//! The seed is written to stderr then. Each thread has a generator, seeded from it and the thread's number in the order
//! of first calls. So a seed repeats the delays, but not the scheduler's choices between them.
//!
//! Safe wherever an atomic operation is: no lock, no allocation after the first call, and a thread-local without a
//! destructor. So it may run in a thread-local destructor and in the child of a fork.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::process;
use std::thread;
use std::time::Instant;

/// Delays below this spin: a sleep takes at least the timer slack of the system, 50 µs on Linux.
const SHORTEST_SLEEP: Duration = Duration::from_micros(10);

/// The seed; 0 before the first call. Odd afterwards.
static SEED: AtomicU64 = AtomicU64::new(0);
/// 1 in this many calls waits.
static ONE_IN: AtomicU64 = AtomicU64::new(16);
/// The longest delay.
static MAX_MICROS: AtomicU64 = AtomicU64::new(120);
/// How many threads have a generator.
static THREADS: AtomicU64 = AtomicU64::new(0);

std::thread_local! {
    /// The generator of this thread; 0 before the first call.
    static GENERATOR: Cell<u64> = const { Cell::new(0) };
}

/// Waits for a random time, mostly for none.
#[inline(never)]
pub fn step() {
    let Ok(random) = GENERATOR.try_with(next) else { return };
    // Ordering: Relaxed, here and below: numbers written once, before this thread had a generator.
    if random % ONE_IN.load(Ordering::Relaxed) == 0 {
        let max = Duration::from_micros(MAX_MICROS.load(Ordering::Relaxed));
        wait(length(random, max));
    }
}

/// Returns the next random number of a thread's generator (SplitMix64).
fn next(generator: &Cell<u64>) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = generator.get();
    if state == 0 {
        let thread = THREADS.fetch_add(1, Ordering::Relaxed);
        state = mix(seed() ^ thread.wrapping_mul(GOLDEN));
    }
    state = state.wrapping_add(GOLDEN);
    generator.set(state);
    mix(state)
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Returns the length of a delay: the cube of a uniform fraction, so half of all delays are below an eighth of `max`.
fn length(random: u64, max: Duration) -> Duration {
    let fraction = (random >> 11) as f64 / (1_u64 << 53) as f64;
    max.mul_f64(fraction.powi(3))
}

fn wait(time: Duration) {
    if time >= SHORTEST_SLEEP {
        return thread::sleep(time);
    }
    let begun = Instant::now();
    while begun.elapsed() < time {
        core::hint::spin_loop();
    }
}

/// Returns the seed; the first call reads the environment and writes the seed to stderr.
fn seed() -> u64 {
    let seed = SEED.load(Ordering::Relaxed);
    if seed != 0 {
        return seed;
    }
    if let Some(one_in) = variable("BRIGADE_DELAY_ONE_IN") {
        ONE_IN.store(one_in.max(1), Ordering::Relaxed);
    }
    if let Some(micros) = variable("BRIGADE_DELAY_MAX_MICROS") {
        MAX_MICROS.store(micros, Ordering::Relaxed);
    }
    let seed = variable("BRIGADE_DELAY_SEED").unwrap_or_else(|| RandomState::new().hash_one(0)) | 1;
    match SEED.compare_exchange(0, seed, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            say(&format!("random delays: BRIGADE_DELAY_SEED={seed}"));
            seed
        }
        // Another thread was first.
        Err(first) => first,
    }
}

/// Reads a number from the environment; aborts if the variable is set to anything else.
fn variable(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    // Not a panic: it would unwind out of an atomic operation.
    Some(value.parse().unwrap_or_else(|_| {
        say(&format!("{name} must be a number, not {value:?}"));
        process::abort()
    }))
}

/// Writes a line to stderr; unlike `eprintln`, it does not panic if stderr is closed.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_delays_are_below_an_eighth_of_the_maximum() {
        const ROUNDS: u32 = 10_000;
        let max = Duration::from_micros(120);
        let generator = Cell::new(1);
        let lengths = (0..ROUNDS).map(|_| length(next(&generator), max));
        let short =
            lengths.inspect(|length| assert!(*length < max)).filter(|l| *l < max / 8).count();
        assert!((4_500..5_500).contains(&short), "{short} of {ROUNDS}");
    }
}
