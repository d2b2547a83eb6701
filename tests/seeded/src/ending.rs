//! A program whose jobs wait, at random places, for futures that nothing wakes: only the end of their pool ends these waits.

use std::future::pending;
use std::sync::Arc;

use brigade::{Handle, JoinHandle, NewThread, Shutdown, TaskSet, block_on};

use crate::levels::{Leaf, Place, within};
use crate::machine;
use crate::program::{Ending, Wait};
use crate::waits::{FAR, LATE};

/// Runs a program.
pub(crate) fn run(Ending { pool, jobs, outside, pause, how }: &Ending) {
    let pool = pool.builder().build().expect("a pool");
    machine::made(pool.handle());
    let counted = Arc::new(());
    for (levels, wait) in jobs.clone() {
        let (handle, counted) = (pool.handle(), counted.clone());
        // The end of the pool may come before the job, which it drops or runs.
        let place = Place { pool: handle, other: handle };
        let leaf: Leaf = Arc::new(move |place| waits(place.pool, wait, counted.clone()));
        assert!(pool.try_execute(move || within(&place, &levels, &leaf)).is_ok());
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

/// Waits for a future that is never ready.
fn waits(pool: Handle, wait: Wait, counted: Arc<()>) {
    let never = async move {
        let _counted = counted;
        pending::<()>().await;
    };
    let ended = match wait {
        Wait::BySet | Wait::BySetNext | Wait::BySetFor => {
            let mut set = TaskSet::new(pool);
            let accepted = set.try_spawn(never).is_ok();
            let outcome = match wait {
                Wait::BySetFor => set.join_next_timeout(FAR),
                Wait::BySetNext => set.join_next(),
                _ => {
                    set.wait_all();
                    set.try_join_next()
                }
            };
            assert_eq!(outcome.is_some(), accepted, "{LATE}");
            return;
        }
        Wait::ByBlockOn => pool.try_spawn(never).map(block_on),
        Wait::ByJoinFor => pool.try_spawn(never).map(|mut job| job.join_timeout(FAR).expect(LATE)),
        Wait::ByJoin | Wait::ByTimeout => pool.try_spawn(never).map(JoinHandle::join),
    };
    if let Ok(ended) = ended {
        assert!(ended.is_err_and(|error| error.is_cancelled()));
    }
}
