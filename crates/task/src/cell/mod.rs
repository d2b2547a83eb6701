//! The single allocation shared by a job and its handle.
//!
//! [`header`] is the beginning of every cell, [`closure`] the cell of a closure, [`handle`] the side of the handle or of the
//! canceller. The cell of a future is in [`future`](crate::future).
//!
//! [`completed`] is the list of a set, with the keys of ended members.
//!
//! **Stage rule.** The stage belongs to the claiming thread until `DONE` is set, then to the owner of the result; [`state`] defines
//! both. **Slot rule.** The waker slot belongs to the handle while `WAKER` and `MEMBER` are clear, and to the finisher once it has
//! set `DONE` and found either set. **Life rule.** A cell lives until the job, the handle, and the canceller and the second job, if
//! any, have released it.

mod closure;
mod completed;
pub(crate) mod frames;
mod handle;
mod header;
pub(crate) mod lifecycle;
pub(crate) mod state;

pub(crate) use closure::allocate;
pub(crate) use completed::CompletedList;
pub(crate) use frames::JobContext;
pub use frames::{
    Attachment, JobId, RunningFuture, attach, drop_cause, enter_other, for_each_running,
    has_job_values, inherited, is_cancelled, job_name, job_values, may_have_job_values,
};
pub(crate) use handle::RawHandle;
pub(crate) use header::{FutureVTable, Header, VTable};
