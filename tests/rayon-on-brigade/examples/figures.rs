//! Four workloads on two threads: wall and CPU time of each, the least of several rounds. Built here it measures rayon on
//! brigade, and without the patch rayon on its own core.

use std::time::{Duration, Instant};

use rayon::prelude::*;

/// The CPU time of the process so far.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |text: String| text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
    let all = threads
        .map(|task| of(std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default()));
    let _ = stat;
    Duration::from_nanos(all.sum())
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn measure(name: &str, rounds: u32, mut work: impl FnMut() -> u64) {
    let mut best = (Duration::MAX, Duration::MAX);
    let mut result = 0;
    for _ in 0..rounds {
        let (begun, before) = (Instant::now(), cpu());
        result = work();
        best = best.min((begun.elapsed(), cpu() - before));
    }
    println!(
        "{name:12} wall {:9.3} ms  cpu {:9.3} ms  {result:x}",
        best.0.as_secs_f64() * 1e3,
        best.1.as_secs_f64() * 1e3
    );
}

fn main() {
    let only = std::env::args().nth(1);
    let wants = |name: &str| only.as_ref().is_none_or(|only| only == name);
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    if wants("sum") {
        let numbers: Vec<u64> = (0..10_000_000).collect();
        measure("sum", 30, || numbers.par_iter().sum());
    }
    if wants("sort") {
        let mut state = 88_172_645_463_325_252_u64;
        let numbers: Vec<u64> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
        .take(4_000_000)
        .collect();
        measure("sort", 5, || {
            let mut copy = numbers.clone();
            copy.par_sort();
            copy[1_000_000]
        });
    }
    if wants("fib") {
        measure("fib", 10, || fib(30));
    }
    if wants("steps") {
        let mut bodies: Vec<[f64; 4]> =
            (0..1024).map(|n| [n as f64, (n * n % 97) as f64, 1.0, 0.0]).collect();
        measure("steps", 10, || {
            for _ in 0..1000 {
                bodies.par_chunks_mut(128).for_each(|chunk| {
                    for body in chunk {
                        for _ in 0..20 {
                            body[3] = (body[3] + body[0]).sqrt() + body[1] * 1e-3;
                            body[2] += body[3] * 1e-6;
                        }
                    }
                });
            }
            bodies[7][2].to_bits()
        });
    }
}
