//! A periodic job, and a long computation that is cancelled.
//!
//! Typed: `pool.execute_every(period, Missed::Skip, ..)`. The draft slept for 100 ms where this waits for ticks.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use brigade::{JoinError, Missed, Pool, Shutdown, time};

#[test]
fn computation_and_sleep_are_cancelled_and_ticks_come() -> anyhow::Result<()> {
    let pool = Pool::new(2);
    let (tick, ticks) = mpsc::channel();
    let period = Duration::from_millis(2);
    let ticker = pool.job().every(period).missed(Missed::Skip).execute(move || {
        _ = tick.send(Instant::now());
    })?;
    // A computation that looks whether it is still wanted.
    let (begun, begins) = mpsc::channel();
    let search = pool.submit(move || {
        _ = begun.send(());
        let mut n = 0_u64;
        while !brigade::cancelled() {
            n += 1;
        }
        n
    });
    // A future that waits for ever.
    let waits = pool.spawn(time::sleep(Duration::from_secs(3600)));
    begins.recv()?;
    assert_eq!(ticks.iter().take(3).count(), 3);
    assert!(!search.cancel(), "it has begun, and is asked to stop");
    assert!(waits.cancel());
    search.join()?;
    match waits.join() {
        Err(JoinError::Cancelled(_)) => {}
        other => anyhow::bail!("{other:?}"),
    }
    assert!(ticker.cancel() && ticker.ticks() >= 2);
    // A periodic future.
    let every = pool.spawn(async {
        let mut interval = time::interval(Duration::from_millis(1));
        let mut count = 0;
        for _ in 0..3 {
            interval.tick().await;
            count += 1;
        }
        count
    });
    assert_eq!(every.join()?, 3);
    assert_eq!(pool.shutdown(Shutdown::Discard).still_running, 0);
    Ok(())
}
