//! The ways to cancel: one job, a job from another thread, a job when its handle is dropped, a group, and jobs that are late.
//!
//! A cancelled job that has not started never runs. A future that waits is dropped. A running closure is never interrupted: it
//! is asked to stop, which it can check with `brigade::cancelled()`.
//!
//! ```sh
//! cargo run --example cancellation
//! ```

use std::error::Error;
use std::future::pending;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use brigade::{Cause, JoinError, JoinHandle, Pool, Shutdown, TaskSet, time};

type Outcome = Result<(), Box<dyn Error>>;

/// Starts a search that ends only when it is cancelled. Returns once it has begun.
fn begin_search(pool: &Pool) -> Result<JoinHandle<u64>, mpsc::RecvError> {
    let (begun, begins) = mpsc::channel();
    let search = pool.submit(move || {
        let mut number = 0;
        _ = begun.send(());
        while !brigade::cancelled() {
            number += 1;
        }
        number
    });
    begins.recv().map(|()| search)
}

/// `cancel` of the handle returns whether the job had not started.
fn one_job(pool: &Pool) -> Outcome {
    let search = begin_search(pool)?; // It occupies the only thread.
    let queued = pool.submit(|| unreachable!("it is cancelled before it starts"));
    assert!(queued.cancel());
    assert!(matches!(queued.join(), Err(JoinError::Cancelled(Cause::Asked))));

    assert!(!search.cancel(), "it has started, and is asked to stop");
    println!("the search went up to {}", search.join()?);

    let waits = pool.spawn(pending::<()>());
    assert!(waits.cancel(), "a future is cancelled for certain");
    assert!(waits.join().is_err_and(|error| error.is_cancelled()));
    Ok(())
}

/// `cancel_handle` cancels while another thread uses the handle; here, in a `join`.
fn from_elsewhere(pool: &Pool) -> Outcome {
    let search = begin_search(pool)?;
    let stop = search.cancel_handle();
    let button = std::thread::spawn(move || stop.cancel());
    search.join()?; // Until the button is pressed.
    assert!(button.join().is_ok_and(|was_in_time| !was_in_time));
    Ok(())
}

/// `cancel_on_drop` cancels the job when its handle is dropped, as by an early return.
fn with_its_handle(pool: &Pool) -> Outcome {
    let (held, is_dropped) = mpsc::channel::<()>();
    let background = pool.spawn(async move {
        let _held = held;
        pending::<()>().await
    });
    let guard = background.cancel_on_drop();
    let answer = pool.submit(|| 42).join()?;
    drop(guard);
    assert!(is_dropped.recv().is_err(), "the future is dropped, and what it held");
    assert_eq!(answer, 42);
    Ok(())
}

/// `TaskSet::cancel_all`: the first answer ends the other attempts.
fn a_group(pool: &Pool) -> Outcome {
    let mut attempts = TaskSet::new(pool);
    for mirror in 1..=5_u64 {
        attempts.spawn(async move {
            let hours = if mirror == 3 { 0 } else { 1 };
            time::sleep(Duration::from_secs(hours * 3600)).await;
            mirror
        });
    }
    let first = attempts.join_next().transpose()?;
    assert_eq!(first, Some(3));
    attempts.cancel_all();
    assert!(attempts.outcomes().all(|end| end.is_err_and(|error| error.is_cancelled())));
    Ok(())
}

/// `deadline` limits when a job starts, `timeout` how long a future takes.
fn what_is_late(pool: &Pool) -> Outcome {
    let search = begin_search(pool)?;
    let now = Instant::now();
    let late = pool.job().deadline(now).submit(|| unreachable!("it was due before"))?;
    let in_time = pool.job().deadline(now + Duration::from_secs(3600)).submit(|| "in time")?;
    search.cancel();
    search.join()?;
    assert!(late.join().is_err_and(|error| error.is_cancelled()));
    assert_eq!(in_time.join()?, "in time");

    let limited = time::timeout(Duration::from_millis(5), pending::<()>());
    assert_eq!(pool.spawn(limited).join()?, Err(time::Elapsed));
    Ok(())
}

/// `Shutdown::Discard` cancels all that is left.
fn everything(pool: Pool) -> Outcome {
    let search = begin_search(&pool)?;
    let queued = pool.submit(|| unreachable!("it is cancelled before it starts"));
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!(report.still_running, 0);
    search.join()?;
    assert!(matches!(queued.join(), Err(JoinError::Cancelled(Cause::Ended))));
    Ok(())
}

fn main() -> Outcome {
    let pool = Pool::new(1);
    one_job(&pool)?;
    from_elsewhere(&pool)?;
    with_its_handle(&pool)?;
    a_group(&pool)?;
    what_is_late(&pool)?;
    everything(pool)
}
