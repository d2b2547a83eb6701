//! A trace of a pool: which job ran where and when, and which threads stole, slept and were woken.
//!
//! ```sh
//! cargo run --release --example trace --features trace -- trace.json
//! ```
//!
//! Open the file in <https://ui.perfetto.dev>, or in Chrome's `about:tracing`.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use brigade::Pool;

/// Computes for a while.
fn hash(chunk: u64) -> u64 {
    (0..100_000).fold(chunk, |hash, byte| black_box(hash.wrapping_mul(0x100_0000_01b3) ^ byte))
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args_os().nth(1).map(PathBuf::from);
    let file = file.unwrap_or_else(|| env::temp_dir().join("brigade-trace.json"));
    let pool = Pool::builder().threads(2).prestart(2).build()?;
    // With threads that sleep, the trace begins with a wake-up.
    while pool.metrics().idle_threads < 2 {
        std::thread::yield_now();
    }

    let tracing = pool.start_trace()?;
    let (done, hashes) = mpsc::channel();
    let handle = pool.handle();
    pool.job().name("split").execute(move || {
        for chunk in 0..12 {
            let done = done.clone();
            let job = handle.job().name(format!("hash {chunk}"));
            job.execute(move || _ = done.send(hash(chunk)))
                .unwrap_or_else(|error| panic!("{error}"));
        }
    })?;
    let sum = hashes.iter().fold(0, u64::wrapping_add);
    pool.job()
        .name("store")
        .submit(move || {
            brigade::blocking(|| std::thread::sleep(Duration::from_micros(300))); // As a file would.
            sum
        })?
        .join()?;
    let trace = tracing.finish();

    trace.save(&file)?;
    println!("{}: {trace}", file.display());
    assert!(trace.recorded() >= 14, "a slice for each job, and what the threads did between them");
    assert_eq!(trace.lost(), 0);
    Ok(())
}
