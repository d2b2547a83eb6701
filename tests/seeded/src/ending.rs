//! A program whose jobs wait, at random places, for futures that nothing wakes: only the end of their pool ends these waits.

use std::future::pending;
use std::sync::Arc;

use brigade::{Handle, JoinHandle, NewThread, Shutdown, TaskSet, block_on};

use crate::program::{Ending, Level, Wait};

/// Runs a program.
pub(crate) fn run(Ending { pool, jobs, outside, pause, how }: &Ending) {
    let pool = pool.builder().build().expect("a pool");
    let counted = Arc::new(());
    for (levels, wait) in jobs.clone() {
        let (handle, counted) = (pool.handle(), counted.clone());
        // The end of the pool may come before the job, which it drops or runs.
        assert!(pool.try_execute(move || place(handle, &levels, wait, counted)).is_ok());
    }
    let (handle, wait, counts) = (pool.handle(), *outside, counted.clone());
    let main = move || waits(handle, wait, counts);
    let other = NewThread::new("outside".into(), None, main).start().expect("a thread");
    pause.take();
    match how {
        None => drop(pool),
        Some(how) => assert_eq!(pool.shutdown(Shutdown::from(*how)).still_running, 0),
    }
    other.join();
    assert_eq!(Arc::strong_count(&counted), 1, "a job outlives its pool");
}

/// Waits in all of these calls, parts and jobs.
fn place(pool: Handle, levels: &[Level], wait: Wait, counted: Arc<()>) {
    let Some((level, levels)) = levels.split_first() else { return waits(pool, wait, counted) };
    let levels = levels.to_vec();
    let there = move || place(pool, &levels, wait, counted.clone());
    match level {
        Level::InBlocking => brigade::blocking(there),
        Level::InScope => drop(pool.scope(|scope| scope.execute(there))),
        Level::InPlace => drop(pool.in_place_scope(|_| there())),
        Level::InInstall => drop(pool.install(|| brigade::join(|| (), there))),
        Level::InSubmit => drop(pool.try_submit(there).map(|job| job.join())),
        Level::InSpawn => drop(pool.try_spawn(async move { there() }).map(|job| job.join())),
        Level::InBlockOn => pool.block_on(async { there() }),
    }
}

/// Waits for a future that is never ready.
fn waits(pool: Handle, wait: Wait, counted: Arc<()>) {
    let never = async move {
        let _counted = counted;
        pending::<()>().await;
    };
    let ended = match wait {
        Wait::BySet => {
            let mut set = TaskSet::new(pool);
            drop(set.try_spawn(never));
            set.wait_all();
            return;
        }
        Wait::ByBlockOn => pool.try_spawn(never).map(block_on),
        Wait::ByJoin => pool.try_spawn(never).map(JoinHandle::join),
    };
    if let Ok(ended) = ended {
        assert!(ended.is_err_and(|error| error.is_cancelled()));
    }
}
