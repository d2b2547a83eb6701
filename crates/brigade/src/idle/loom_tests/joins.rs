//! Workers that wait for jobs of their own pool.

use super::*;
use crate::idle::Join;

/// Two joins of a pool of two workers.
struct Joins {
    pool: Arc<ModelPool<AtomicUsize>>,
    joins: [Join; 2],
    ended: [AtomicUsize; 2],
}

impl Joins {
    fn new() -> Arc<Self> {
        let joins = [Join::new(), Join::new()];
        let ended = [0, 0].map(AtomicUsize::new);
        Arc::new(Self { pool: ModelPool::new(2, AtomicUsize::new(0)), joins, ended })
    }

    /// `PoolWait::until`.
    fn wait_for(&self, index: usize) -> bool {
        let (join, ended) = (&self.joins[index], &self.ended[index]);
        loop {
            join.reset();
            if ended.load(Ordering::Acquire) == 1 {
                return true;
            }
            if !self.sleep(index) {
                return false;
            }
        }
    }

    /// `PoolWait::sleep_counted`.
    fn sleep(&self, index: usize) -> bool {
        let ModelPool { idle, parkers, .. } = &*self.pool;
        idle.block(false);
        let begins = idle.begin_join(&self.joins[index]);
        if begins {
            parkers[index].park(None);
            idle.end_join(&self.joins[index]);
        }
        idle.unblock(false);
        begins
    }

    /// The end of a job, and `Waiting::wake`.
    fn end(&self, index: usize) {
        self.ended[index].store(1, Ordering::Release);
        self.pool.idle.end_join(&self.joins[index]);
        self.pool.parkers[index].unpark();
    }
}

/// A worker that has ended the job that the other waits for may wait for one that the other must run, even before that is
/// awake.
///
/// Caught: `begin_join` that counts a join that has ended.
#[test]
fn a_worker_whose_job_has_ended_is_left_to_run_another() {
    check(3, || {
        let joins = Joins::new();
        let other = {
            let joins = joins.clone();
            thread::spawn(move || {
                assert!(joins.wait_for(1), "the other runs it");
                joins.end(0);
            })
        };
        joins.end(1);
        assert!(joins.wait_for(0), "the other runs it");
        other.join().unwrap();
    });
}

/// Of two workers that wait for jobs that neither runs, one gets an error.
///
/// Caught: `begin_join` that counts after it has released the lock.
#[test]
fn of_two_that_wait_for_ever_one_is_told() {
    check(3, || {
        let joins = Joins::new();
        let waits = |index: usize| {
            let joins = joins.clone();
            move || {
                let waits = joins.wait_for(index);
                if !waits {
                    joins.end(1 - index);
                }
                waits
            }
        };
        let other = thread::spawn(waits(1));
        let one = waits(0)();
        assert!(one != other.join().unwrap());
    });
}
