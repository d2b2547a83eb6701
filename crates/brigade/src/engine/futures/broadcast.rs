//! Jobs for the mailboxes of chosen workers. `engine/futures/MAILBOX.md` has the protocol.
//!
//! A broadcast is one job for each worker of a pool, its *share*; or a share for one worker.
//!
//! A dispatch hands jobs to idle workers at once. A parked worker is picked and finds the job in the mailbox, like a
//! share. Until then it counts as a searcher, like each picked worker, and so takes over work that relied on it. It
//! looks into its mailbox first.

use std::vec::IntoIter;

use brigade_task::{Job, JoinHandle};

use crate::engine::roster::Roster;
use crate::engine::shared::Shared;
use crate::values::{Priority, Reason};

impl Shared {
    /// Accepts a share for each worker, after starting the core threads. The caller is a job of this pool
    /// (`inside`) or elsewhere. `make` returns a share with its handle. Returns the handles with the indices
    /// of the workers, in order.
    ///
    /// # Errors
    /// If the pool does not accept the broadcast.
    pub(crate) fn broadcast<T>(
        &self,
        inside: bool,
        mut make: impl FnMut() -> Made<T>,
    ) -> Result<Vec<(usize, JoinHandle<T>)>, Reason> {
        // A closed pool needs no thread to reject jobs.
        if self.idle.snapshot().rejects(inside) {
            return Err(Reason::Closed);
        }
        let (mut made, mut sent, mut needed) = (Vec::new(), Vec::new(), 0);
        loop {
            let reserved = self.reserve().map_err(|_| self.refusal())?;
            // A failed start is ignored: the worker is removed, and gets no share.
            let _ = self.start_core(usize::MAX);
            needed = needed.max(self.idle.snapshot().live());
            // No lock is held here: this allocates.
            made.resize_with(made.len().max(needed), &mut make);
            sent.reserve(made.len());
            let all = self.send(inside, None, made.len(), &mut |index| {
                let (share, handle) = made.pop()?;
                sent.push((index, handle));
                Some(share)
            });
            match all? {
                // The pool was made smaller, and the last worker has left: try again.
                Ok(()) if sent.is_empty() && reserved.is_none() && self.idle.may_be_empty() => {}
                Ok(()) => break,
                Err(live) => needed = live,
            }
        }
        // The pool has ended in the meantime, or could not start the only thread.
        if sent.is_empty() { Err(self.refusal()) } else { Ok(sent) }
    }

    /// Sends a share to each worker, or to `one` only, counts the shares as accepted, and wakes the workers.
    /// `next` returns the share for the worker with this index.
    ///
    /// # Errors
    /// If the pool is closed. The inner error is the number of workers, if it is above `most`; then nothing
    /// was sent.
    fn send(
        &self,
        inside: bool,
        one: Option<usize>,
        most: usize,
        next: &mut dyn FnMut(usize) -> Option<Job>,
    ) -> Result<Result<(), usize>, Reason> {
        // The wakers of workers that wait inside a job. Allocated before the locks are taken.
        let mut wakers = Vec::with_capacity(most);
        let picked = self.accept(inside, |accepted| {
            let send = &mut |index| {
                let Some(share) = next(index) else { return };
                let peers = &self.queues.peers;
                // The thread that starts this worker may not have opened it yet.
                peers.open(index, &self.config);
                if let Some(waker) = peers.at(index).mailbox.send_share(Priority::Normal, share) {
                    wakers.push(waker);
                }
                *accepted += 1;
            };
            self.idle.change(|roster| roster.address(one, most, send))
        });
        let Some(picked) = picked else { return Err(Reason::Closed) };
        for waker in wakers {
            waker.wake();
        }
        match picked {
            Ok(picked) => {
                for index in picked {
                    self.wake(index);
                }
                Ok(Ok(()))
            }
            Err(live) => Ok(Err(live)),
        }
    }

    /// Accepts a share for the worker with this index; `inside` is as for [`broadcast`](Self::broadcast). For
    /// an index below the core size, starts the core threads first.
    ///
    /// # Errors
    /// Returns the share with the reason if the pool does not accept it, or has no such worker.
    pub(crate) fn send_to(
        &self,
        index: usize,
        inside: bool,
        share: Job,
    ) -> Result<(), (Job, Reason)> {
        if self.idle.snapshot().rejects(inside) {
            return Err((share, Reason::Closed));
        }
        let Ok(_reserved) = self.reserve() else { return Err((share, self.refusal())) };
        if index < self.idle.roster().counts.size.core {
            let _ = self.start_core(usize::MAX);
        }
        let mut share = Some(share);
        let sent = self.send(inside, Some(index), 1, &mut |_| share.take());
        match share {
            Some(share) => Err((share, sent.err().unwrap_or(Reason::NoSuchWorker))),
            None => Ok(()),
        }
    }

    /// Hands jobs of a class to parked workers, and wakes the workers. The caller is a job of the pool (`inside`)
    /// or elsewhere. Takes at most one job for each parked worker from the iterator; returns the jobs that were not
    /// handed over.
    ///
    /// The iterator is called before any worker is picked; no user code runs from then on until all picked workers are
    /// awake. They are no longer idle, and a slow iterator must not keep them from other work.
    pub(crate) fn dispatch(
        &self,
        inside: bool,
        class: Priority,
        jobs: &mut dyn Iterator<Item = Job>,
    ) -> IntoIter<Job> {
        let parked = self.idle.snapshot().parked();
        let mut taken = Vec::new();
        while taken.len() < parked {
            let Some(job) = jobs.next() else { break };
            taken.push(job);
        }
        let mut jobs = taken.into_iter();
        // The iterator may have forked, and have returned in the child.
        if !self.key.is_here() {
            return jobs;
        }
        let mut picked = Vec::with_capacity(jobs.len());
        // Before a worker is picked, which must get a job.
        while !jobs.as_slice().is_empty() {
            let sent = self.accept(inside, |accepted| {
                let index = self.idle.change(Roster::pick_parked)?;
                // A worker parked inside a job is woken like an idle worker; the waker is not needed.
                let _ = self.queues.peers.at(index).mailbox.send_share(class, jobs.next()?);
                *accepted += 1;
                Some(index)
            });
            let Some(Some(index)) = sent else { break };
            picked.push(index);
        }
        for index in picked {
            self.wake(index);
        }
        jobs
    }
}

/// A share with the handle.
type Made<T> = (Job, JoinHandle<T>);
