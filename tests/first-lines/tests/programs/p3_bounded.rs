//! Two producers and a pool that holds 8 jobs. Full: count it, wait for room for a moment, and drop the job if there is none.
//!
//! Typed: `pool.execute_timeout(job, duration)`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brigade::{Pool, Reason, Shutdown, WhenFull};

static SUM: AtomicU64 = AtomicU64::new(0);

/// Returns the number of jobs that ran, and of those that were dropped.
fn run() -> anyhow::Result<(u64, u64)> {
    let pool = Pool::builder().threads(2).capacity(8).when_full(WhenFull::Reject).build()?;
    let dropped = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..1000_u64 {
                    let job = move || {
                        std::thread::sleep(Duration::from_micros(50));
                        SUM.fetch_add(n, Ordering::Relaxed);
                    };
                    match pool.try_execute(job) {
                        Ok(()) => {}
                        Err(full) if full.reason() == Reason::Full => {
                            let briefly = WhenFull::BlockFor(Duration::from_micros(20));
                            if pool.job().when_full(briefly).execute(full.into_inner()).is_err() {
                                dropped.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    Ok((pool.shutdown(Shutdown::Drain).ran, dropped.into_inner()))
}

#[test]
fn every_job_ran_or_was_dropped() -> anyhow::Result<()> {
    let (ran, dropped) = run()?;
    assert_eq!(ran + dropped, 2000);
    assert_eq!(SUM.load(Ordering::Relaxed) > 0, ran > 0);
    Ok(())
}
