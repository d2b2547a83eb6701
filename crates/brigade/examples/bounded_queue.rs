//! Producers that are faster than the pool: what a bounded queue does with them.
//!
//! The capacity of a pool is how many jobs may be queued. The example shows three ways to meet the limit: producers wait, producers
//! do the work themselves, and producers that are futures wait without blocking a thread.
//!
//! ```sh
//! cargo run --example bounded_queue
//! ```

#![allow(clippy::disallowed_types, reason = "an example uses the standard library")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use brigade::{Pool, Reason, Shutdown, WhenFull};

const CAPACITY: usize = 8;
const PRODUCERS: u64 = 3;
const JOBS: u64 = 100;

/// The sum of what all producers send.
const SUM: u64 = PRODUCERS * (JOBS * (JOBS - 1) / 2);

/// The consumer: some work, and its result.
fn consume(number: u64, sum: &AtomicU64) {
    thread::sleep(Duration::from_micros(50));
    sum.fetch_add(number, Ordering::Relaxed);
}

/// Runs a producer on each of some threads, until all have ended.
fn producers(produce: impl Fn(u64) -> io::Result<()> + Sync) -> io::Result<()> {
    let produce = &produce;
    thread::scope(|scope| {
        let run = || (0..JOBS).try_for_each(produce);
        let producers: Vec<_> = (0..PRODUCERS).map(|_| scope.spawn(run)).collect();
        producers.into_iter().try_for_each(|producer| {
            producer.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        })
    })
}

fn pool(when_full: WhenFull) -> io::Result<Pool> {
    Pool::builder().threads(2).capacity(CAPACITY).when_full(when_full).build()
}

/// `Block`, the default: a producer waits in `execute` until there is room, so producers go at the consumers' pace.
fn producers_wait() -> io::Result<()> {
    let (pool, sum) = (pool(WhenFull::Block)?, Arc::new(AtomicU64::new(0)));
    producers(|number| {
        let sum = sum.clone();
        pool.execute(move || consume(number, &sum));
        Ok(())
    })?;
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, PRODUCERS * JOBS);
    assert_eq!(sum.load(Ordering::Relaxed), SUM);
    Ok(())
}

/// `try_execute` never waits, and a rejected job is returned: its producer waits for a moment, then consumes it itself.
/// (`WhenFull::RunInCaller` would do the second without the first.)
fn producers_consume() -> io::Result<()> {
    let (pool, sum) = (pool(WhenFull::Reject)?, Arc::new(AtomicU64::new(0)));
    let (rejected, consumed) = (AtomicU64::new(0), AtomicU64::new(0));
    producers(|number| {
        let sum = sum.clone();
        let job = match pool.try_execute(move || consume(number, &sum)) {
            Ok(()) => return Ok(()),
            Err(full) if full.reason() == Reason::Full => full.into_inner(),
            Err(closed) => return Err(closed.into()),
        };
        rejected.fetch_add(1, Ordering::Relaxed);
        let briefly = WhenFull::BlockFor(Duration::from_micros(100));
        if let Err(full) = pool.job().when_full(briefly).execute(job) {
            consumed.fetch_add(1, Ordering::Relaxed);
            full.into_inner()();
        }
        Ok(())
    })?;
    let (ran, consumed) = (pool.shutdown(Shutdown::Drain).ran, consumed.into_inner());
    println!("{rejected:?} jobs were rejected at first, {consumed} were run by their producer");
    assert_eq!(ran + consumed, PRODUCERS * JOBS);
    assert_eq!(sum.load(Ordering::Relaxed), SUM);
    Ok(())
}

/// `reserve` waits for room as a future: all producers share one thread here.
fn futures_reserve() -> io::Result<()> {
    let (consumers, sum) = (pool(WhenFull::Reject)?, Arc::new(AtomicU64::new(0)));
    let producers = Pool::new(1);
    let handle = consumers.handle();
    let produce = |_| {
        let sum = sum.clone();
        producers.spawn(async move {
            for number in 0..JOBS {
                // No job is made before there is room for it.
                let room = handle.job().reserve().await?;
                let sum = sum.clone();
                room.execute(move || consume(number, &sum))?;
            }
            io::Result::Ok(())
        })
    };
    let producers: Vec<_> = (0..PRODUCERS).map(produce).collect();
    for producer in producers {
        producer.join()??;
    }
    assert_eq!(consumers.shutdown(Shutdown::Drain).ran, PRODUCERS * JOBS);
    assert_eq!(sum.load(Ordering::Relaxed), SUM);
    Ok(())
}

fn main() -> io::Result<()> {
    producers_wait()?;
    producers_consume()?;
    futures_reserve()
}
