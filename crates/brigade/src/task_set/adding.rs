//! How a job gets into a set.

use std::panic::Location;
use std::sync::Arc;

use brigade_task::{Completions, Job, contain};

use super::board::Board;
use super::permits::Leave;
use super::{FIRST, TaskSet};
use crate::join::JoinHandle;
use crate::key::ClassKey;
use crate::registry::{At, reach, reach_once, rejected};
use crate::rejected::{Rejected, closure_of};
use crate::spawn::class_key;
use crate::submission::{submit, submit_with};

impl<T> TaskSet<T> {
    /// Adds a closure or a future to a set without a board.
    ///
    /// `submit` gets the index under which it must be listed when it ends, and returns also whether it will be.
    #[inline]
    pub(super) fn add_member<W>(
        &mut self,
        work: W,
        submit: impl FnOnce(
            At<'_>,
            &Completions,
            usize,
            W,
        ) -> Result<(brigade_task::JoinHandle<T>, bool), Rejected<W>>,
    ) -> Result<(), Rejected<W>>
    where
        T: Send + 'static,
    {
        let pool = self.pool.key;
        if !pool.is_here() {
            return Err(rejected(pool, work));
        }
        self.share = Some(Self::share);
        let index = self.jobs.next_index();
        let (handle, is_listed) =
            reach_once(pool, |at| submit(at, &self.completions, index as usize, work))?;
        self.jobs.add(Some(handle));
        if !is_listed {
            // It has ended already.
            self.collect();
            self.jobs.end_at(index);
        }
        Ok(())
    }

    /// Gives the set a board.
    pub(super) fn share(&mut self)
    where
        T: Send + 'static,
    {
        if self.board.is_some() {
            return;
        }
        self.collect();
        let board = Board::new(self.pool, self.jobs.len() - self.jobs.ended());
        // From now on the jobs report to the board. What is still being listed in this moment has ended, and is not listed twice.
        self.jobs.for_each_pending(|key, handle| board.hear_of(key, handle));
        let board = self.board.insert(board);
        // The task that polled last. Its waker may be user code.
        if let Some(waker) = self.completions.stop_waiting() {
            contain(|| {
                if !board.leave_waker(FIRST, waker.clone()) {
                    waker.wake();
                }
            });
        }
    }

    /// Adds a closure or a future: submits it, or has it wait for its turn.
    pub(super) fn add<W>(
        &mut self,
        work: W,
        submit: impl FnOnce(At<'_>, Leave, W) -> Result<brigade_task::JoinHandle<T>, Rejected<W>>,
        make: impl FnOnce(ClassKey, Leave, W) -> (Job, brigade_task::JoinHandle<T>) + Send + 'static,
    ) -> Result<(), Rejected<W>>
    where
        W: Send + 'static,
        T: Send + 'static,
    {
        let pool = self.pool.key;
        if !pool.is_here() {
            return Err(rejected(pool, work));
        }
        let Some(board) = &self.board else { unreachable!("it is there from now on") };
        let key = self.jobs.next_key();
        let handle = match board.admit() {
            Some(leave) => match reach_once(pool, |at| submit(at, leave, work)) {
                Ok(mut handle) => {
                    board.hear_of(key, &mut handle);
                    Some(handle)
                }
                Err(rejected) => {
                    board.withdraw();
                    return Err(rejected);
                }
            },
            None if reach(pool, refuses) => return Err(rejected(pool, work)),
            None => {
                let of_class = class_key(pool, None);
                let make = move |leave, board: &Arc<Board<T>>| {
                    let (job, mut handle) = make(of_class, leave, work);
                    board.hear_of(key, &mut handle);
                    (job, JoinHandle::new(handle, pool))
                };
                board.wait_in_line(key, of_class.class(), Box::new(make));
                None
            }
        };
        self.jobs.add(handle);
        Ok(())
    }
}

/// Submits a closure that is listed under an index when it has ended.
pub(super) fn submit_as_member<F, T>(
    at: At<'_>,
    completions: &Completions,
    index: usize,
    closure: F,
) -> Result<(brigade_task::JoinHandle<T>, bool), Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, handle) = completions.job(index, closure);
    match at.accept(None, job) {
        Ok(()) => Ok((handle, true)),
        Err(job) => {
            // Before the closure is taken out: so this is not listed.
            drop(handle);
            Err(at.rejected(closure_of(job)))
        }
    }
}

/// Submits a job that may be submitted now.
pub(super) fn submit_with_leave<F, T>(
    at: At<'_>,
    leave: Leave,
    job: F,
    place: &'static Location<'static>,
) -> Result<brigade_task::JoinHandle<T>, Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match leave {
        None if at.is_plain() => submit(job, |job| at.accept_or_reject(None, job)),
        permit => submit_with(at, permit, (), job, place),
    }
}

/// Whether the pool would reject a job that waited in the set until now.
fn refuses(at: At<'_>) -> bool {
    match at {
        At::Worker(worker) => worker.discards(),
        At::Outside(core) => core.is_closed(),
        At::Gone(_) => true,
    }
}
