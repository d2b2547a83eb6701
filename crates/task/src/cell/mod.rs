//! The one allocation that a job and its handle share.
//!
//! [`header`] is what every cell begins with, [`closure`] the cell of a closure, [`handle`] the sides of the handle and of the
//! canceller. The cell of a future is in [`future`](crate::future).
//!
//! **Stage rule.** The stage belongs to the thread that claimed the task until `DONE` is set, then to the owner of the
//! result; [`state`] defines both. **Slot rule.** The waker slot belongs to the handle while `WAKER` is clear, and to the
//! finisher once it has set `DONE` and found `WAKER` set. **Life rule.** A cell lives until its job, its handle and, if there
//! is one, its canceller have released it.

mod closure;
pub(crate) mod frames;
mod handle;
mod header;
pub(crate) mod lifecycle;
pub(crate) mod state;

pub(crate) use closure::allocate;
pub use frames::JobId;
pub(crate) use frames::{for_each_running, is_stop_requested};
pub(crate) use handle::{RawCanceller, RawHandle};
pub(crate) use header::{Header, VTable};
