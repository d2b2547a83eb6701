//! Work as a value: a closure in four words, and a handle for the result.
//!
//! - [`Job`] runs once or is dropped once; captures of up to 24 bytes are stored inside it.
//! - [`Job::with_handle`] makes a job and a [`JoinHandle`] in one allocation.
//! - [`Spawned::new`] makes a job of a future, which the [`Schedule`] queues again after each wake.
//! - [`join`], [`install`] and [`Scope`] make jobs that borrow from a waiting stack.
//! - [`Completions`] tells which jobs of a set have ended.
//! - [`Work`] is the content of a job: any closure, or a type with a condition to check before it runs.
//!
//! This crate has no queues and no threads: a job does not depend on its executor.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! scoped   scope, parcel   wakers   fork   part   latch
//! future   poll   schedule, task   waker, boxed, local
//! completions
//! job
//! join
//! canceller
//! cell     closure, handle   header, frames   completed, state, lifecycle
//! boxed
//! block
//! act
//! error   work
//! values
//! bounds   cause   contain
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
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
//     block
//     act
//     error   work
//     values
//     bounds   cause   contain   region

mod act;
mod block;
mod bounds;
mod boxed;
mod canceller;
mod cause;
mod cell;
mod completions;
mod contain;
mod error;
mod future;
mod job;
mod join;
mod region;
mod scoped;
mod values;
mod work;

pub use act::{Asked, Outcome};
pub use bounds::{Callable, Spawnable};
pub use boxed::is_large;
pub use canceller::Canceller;
pub use cause::{Cause, Causes};
pub use cell::{
    Attachment, JobId, RunningFuture, attach, drop_cause, enter_other, for_each_running,
    has_job_values, inherited, is_cancelled, job_name, job_values, may_have_job_values,
};
pub use completions::Completions;
pub use contain::{contain, drop_contained};
pub use error::{JoinError, Panic, panic_as, split_name};
pub use future::{Guard, Schedule, Spawned, TaskRef, Woken};
pub use job::{HandledJob, Job};
pub use join::{JobHandle, JobWaiter, JoinHandle};
pub use region::Region;
pub use scoped::{
    Forks, HeldPanic, KeptTickets, Part, Scope, ScopedJoinHandle, Scopes, Wait, install, join,
    keep_tickets, return_tickets, scope,
};
#[cfg(feature = "unstable-foreign")]
#[doc(hidden)]
pub use scoped::{ScopeWith, scope_with};
pub use values::Values;
pub use work::Work;

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
