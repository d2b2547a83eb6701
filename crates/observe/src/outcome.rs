//! How a job ended, for a hook.

use core::time::Duration;
use std::panic::Location;

use brigade_task::Cause;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// It returned, or its future was ready.
    Returned,
    /// It panicked.
    Panicked,
    /// It was dropped before it started, or its future before it was ready, for this cause.
    Cancelled(Cause),
}

/// The end of one job, for the hook of `Builder::on_outcome` of brigade.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome<'a> {
    /// The name of the pool.
    pub pool: &'a str,
    /// The name of the job, if it has one.
    pub name: Option<&'a str>,
    /// Where it was submitted: the line that called the pool.
    pub place: &'static Location<'static>,
    /// How it ended.
    pub end: End,
    /// The message of its panic, if it panicked with a text.
    pub panic_message: Option<&'a str>,
    /// How long it waited: from its acceptance to its start, or to its end if it never started.
    pub waited: Duration,
    /// How long it ran; for a future, all of its polls together.
    pub ran: Duration,
    /// The index of the worker on which it ended; `None` on a thread that is not the pool's.
    pub worker: Option<usize>,
}
