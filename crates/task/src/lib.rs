//! Work as a value: a closure in four words, and a handle for its result.
//!
//! - [`Job`] runs once or is dropped once; captures of up to 24 bytes are stored inside it.
//! - [`Job::with_handle`] makes a job and a [`JoinHandle`] that share one allocation.
//! - [`Spawned::new`] makes a job of a future, which its [`Schedule`] queues again whenever it is woken.
//! - [`join`], [`install`] and [`Scope`] make jobs that borrow, from a stack that waits for them.
//! - [`Completions`] tells which jobs of a set have ended.
//! - [`Work`] is what a job is made of: any closure, or a type with a condition to check before it runs.
//!
//! This crate has no queues and no threads: a job does not depend on what runs it.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! scoped   scope, parcel   wakers   fork   part   latch
//! future   poll   schedule, task   waker, store, local
//! completions
//! job
//! join
//! canceller
//! cell     closure, handle   completed   header, frames   state, lifecycle
//! boxed
//! act   error   work   contain   spawnable
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
// `std` is named for `catch_unwind` and wakers; atomics and cells come from `brigade_sync`.

// Each module imports only from those in the lines below it (`ci/imports.sh` checks that):
//
//     scoped
//     future
//     completions
//     job
//     join
//     canceller
//     cell
//     boxed
//     act   contain   error   region   spawnable   work

mod act;
mod boxed;
mod canceller;
mod cell;
mod completions;
mod contain;
mod error;
mod future;
mod job;
mod join;
mod region;
mod scoped;
mod spawnable;
mod work;

pub use act::{Asked, Outcome};
pub use boxed::is_large;
pub use canceller::Canceller;
pub use cell::{Attachment, JobId};
pub use completions::Completions;
pub use contain::{contain, drop_contained};
pub use error::{JoinError, Panic};
pub use future::{Guard, Schedule, Spawned, TaskRef, Woken};
pub use job::Job;
pub use join::JoinHandle;
pub use region::Region;
pub use scoped::{
    Forks, HeldPanic, Part, Scope, ScopeWith, ScopedJoinHandle, Scopes, Wait, install, join,
    keep_tickets, return_tickets, scope, scope_with,
};
pub use spawnable::Spawnable;
pub use work::Work;

/// Returns whether the job that this thread runs has been [asked to stop](JoinHandle::ask_to_stop) by its handle;
/// `false` if there is no such job.
///
/// Inside a job that runs another one, this is about the inner job until it ends. In a part of a fork or a scope it is about the job
/// that made that.
///
/// ```
/// use brigade_task::{Job, is_cancelled};
/// use std::sync::mpsc;
/// let (begun, begins) = mpsc::channel();
/// let (job, mut handle) = Job::with_handle(move || {
///     _ = begun.send(is_cancelled());
///     while !is_cancelled() {
///         std::hint::spin_loop();
///     }
///     "stopped"
/// });
/// let worker = std::thread::spawn(|| job.run());
/// assert_eq!(begins.recv(), Ok(false));
/// _ = handle.ask_to_stop(true);
/// assert_eq!(handle.join()?, "stopped");
/// # worker.join().unwrap();
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub fn is_cancelled() -> bool {
    cell::is_stop_requested()
}

/// Calls `call` as a job without a handle, inside the job that this thread runs: nothing that belongs to the outer one belongs to it.
///
/// ```
/// use brigade_task::{Job, enter_other, is_cancelled};
/// let (job, mut handle) = Job::with_handle(|| (is_cancelled(), enter_other(is_cancelled)));
/// _ = handle.ask_to_stop(true);
/// job.run();
/// assert_eq!(handle.join()?, (true, false));
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub fn enter_other<R>(call: impl FnOnce() -> R) -> R {
    cell::enter_other(call)
}

/// Calls `call`, to which something belongs: also to its forks and scopes, on whatever thread these run.
///
/// ```
/// use brigade_task::{Attachment, attach, job_name};
/// struct Name(&'static str);
/// impl Attachment for Name {
///     fn name(&self) -> Option<&str> {
///         Some(self.0)
///     }
/// }
/// assert_eq!(attach(&Name("resize"), job_name).as_deref(), Some("resize"));
/// assert_eq!(job_name(), None);
/// ```
pub fn attach<R>(attachment: &dyn Attachment, call: impl FnOnce() -> R) -> R {
    cell::attach(attachment, call)
}

/// The name that is [attached](attach) to the job that this thread runs, or runs a part of.
pub fn job_name() -> Option<String> {
    cell::job_name()
}

/// Calls `call` with each job with a handle that can't end before this call does: the innermost that this thread runs, or runs a part of a
/// fork or scope of; then the job that runs it, and so on. Some may come more than once.
///
/// ```
/// use brigade_task::{Job, for_each_running};
/// let (inner, inner_handle) = Job::with_handle(|| {
///     let mut running = Vec::new();
///     for_each_running(|id| running.push(id));
///     running
/// });
/// let inner_id = inner_handle.id();
/// let (outer, outer_handle) = Job::with_handle(move || inner.run());
/// let outer_id = outer_handle.id();
/// outer.run();
/// assert_eq!(inner_handle.join()?, [inner_id, outer_id]);
/// # drop(outer_handle);
/// for_each_running(|_| unreachable!());
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub fn for_each_running(call: impl FnMut(JobId)) {
    cell::for_each_running(call);
}

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
