//! A program whose jobs wait, at random places, for futures that nothing wakes: only the end of their pool ends these waits.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brigade::{
    Cause, Handle, JoinError, JoinHandle, LocalPool, NewThread, Shutdown, TaskSet, Thread,
    block_on, time,
};
use brigade_sync::{Mutex, time as clock};

use crate::levels::{Leaf, OnDrop, Place, within};
use crate::machine::{self, clock::pass};
use crate::meeting::Gate;
use crate::program::{Busy, Ending, Level, LocalEnd, Pause, Wait};
use crate::verb::How;
use crate::waits::{FAR, LATE, POLL, in_turns, next_of};

/// How long the drop of a cancelled job takes.
const SLOWLY: Duration = Duration::from_millis(5);

/// Runs a program.
pub(crate) fn run(ending: &Ending) {
    let Ending { pool, jobs, busy, outside, is_guest, pause, how, cancels, local } = ending;
    let counted = Arc::new(());
    if let Some(end) = local {
        end_local(*end, *how, *pause, (busy, outside), &counted);
    } else {
        let pool = pool.builder().build().expect("a pool");
        machine::made(pool.handle());
        busy.iter().for_each(|busy| busy.begin(pool.handle(), &counted));
        for (levels, wait) in jobs.clone() {
            // The end of the pool may come before the job, which it drops or runs.
            let place = place(pool.handle(), levels, wait, &counted);
            assert!(pool.try_execute(place).is_ok());
        }
        let (levels, wait) = outside.clone();
        let waits = place(pool.handle(), levels, wait, &counted);
        let others = [
            Some(if *is_guest { beside_as_guest(pool.handle(), waits) } else { beside(waits) }),
            cancels.then(|| beside(cancelling(pool.handle()))),
        ];
        pause.take();
        match how {
            None => drop(pool),
            Some(how) => assert_eq!(pool.shutdown(Shutdown::from(*how)).still_running, 0),
        }
        others.into_iter().flatten().for_each(Thread::join);
    }
    assert_eq!(Arc::strong_count(&counted), 1, "a job outlives its pool");
}

/// The owner of a pool without threads ends it, or has it ended, while a thread waits for it.
fn end_local(
    end: LocalEnd,
    how: Option<How>,
    pause: Pause,
    (busy, (levels, wait)): (&[Busy], &(Vec<Level>, Wait)),
    counted: &Arc<()>,
) {
    let local = LocalPool::new().expect("a pool");
    let pool = local.handle();
    machine::made(pool);
    busy.iter().for_each(|busy| busy.begin(pool, counted));
    let other = beside(place(pool, levels.clone(), *wait, counted));
    local.run_until(async {
        pause.take();
        time::sleep(Duration::from_micros(100)).await;
    });
    if let LocalEnd::ByItsJob(waits) = end {
        let first = pool.try_spawn(pending::<()>()).ok();
        let closes = pool.try_submit(move || {
            if waits {
                pool.block_on(time::sleep(Duration::from_micros(50)));
            }
            pool.close();
        });
        _ = closes.map(JoinHandle::join);
        let ended = first.map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_err()), "nothing has woken it");
    } else if let Some(how) = how {
        _ = pool.shutdown(Shutdown::from(how));
    }
    drop(local);
    other.join();
}

impl Busy {
    /// Spawns the futures.
    fn begin(self, pool: Handle, counted: &Arc<()>) {
        let never = Arc::new(AtomicBool::new(false));
        let spawn = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
            let counted = counted.clone();
            _ = pool.try_spawn(async move {
                let _counted = counted;
                future.await;
            });
        };
        match self {
            Self::Pair => {
                let wakers = Arc::new(Mutex::new([None, None]));
                for own in [0, 1] {
                    spawn(Box::pin(in_turns(own, wakers.clone(), never.clone())));
                }
            }
            Self::Parent => spawn(Box::pin(async move {
                while let Ok(child) = pool.try_spawn(async { pass(POLL) }) {
                    if child.await.is_err() {
                        break;
                    }
                }
            })),
            Self::Yields => spawn(Box::pin(async {
                loop {
                    pass(POLL);
                    brigade::yield_now().await;
                }
            })),
        }
    }
}

/// Waits inside of these calls, parts and jobs.
fn place(
    pool: Handle,
    levels: Vec<Level>,
    wait: Wait,
    counted: &Arc<()>,
) -> impl FnOnce() + Send + use<> {
    let counted = counted.clone();
    let leaf: Leaf = Arc::new(move |place| waits(place.pool, wait, counted.clone()));
    move || within(&Place { pool, other: pool }, &levels, &leaf)
}

fn beside(main: impl FnOnce() + Send + 'static) -> Thread {
    NewThread::new("outside".into(), None, main).start().expect("a thread")
}

/// Like [`beside`], as a guest of the pool; returns once it is one.
fn beside_as_guest(pool: Handle, main: impl FnOnce() + Send + 'static) -> Thread {
    let begun = Arc::new(Gate::default());
    let begins = begun.clone();
    let body = move || {
        begins.open();
        main();
    };
    let thread = beside(move || pool.enter(|| brigade::scope(|_| body())));
    block_on(begun.pass());
    thread
}

/// Cancels a job whose drop takes long.
fn cancelling(pool: Handle) -> impl FnOnce() + Send {
    move || {
        let capture = OnDrop(|| clock::sleep(SLOWLY));
        _ = pool.try_submit(move || drop(capture)).map(|job| job.cancel());
    }
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
            assert_eq!(next_of(&mut set, wait).is_some(), accepted, "{LATE}");
            return;
        }
        Wait::ByScope => {
            _ = pool.in_place_scope(|scope| drop(scope.spawn(never)));
            return;
        }
        Wait::ByBlockOn => pool.try_spawn(never).map(block_on),
        Wait::ByJoinFor => pool.try_spawn(never).map(|mut job| job.join_timeout(FAR).expect(LATE)),
        Wait::ByJoin | Wait::ByTimeout => pool.try_spawn(never).map(JoinHandle::join),
    };
    if let Ok(ended) = ended {
        assert!(matches!(ended, Err(JoinError::Cancelled(Cause::Ended))));
    }
}
