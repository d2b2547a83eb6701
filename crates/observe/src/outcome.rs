//! How a job ended, for a hook.

use core::time::Duration;
use std::panic::Location;

use brigade_task::Cause;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// It returned, or the future was ready.
    Returned,
    /// It panicked.
    Panicked,
    /// It was dropped before it started, or the future before it was ready, for this cause.
    Cancelled(Cause),
}

/// The end of a job, for the hook of `Builder::on_outcome` of brigade.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome<'a> {
    /// The name of the pool.
    pub pool: &'a str,
    /// The name of the job, if any.
    pub name: Option<&'a str>,
    /// Where the job was submitted: the line of the call.
    pub place: &'static Location<'static>,
    /// How it ended.
    pub end: End,
    /// The message of the panic, if it was a text.
    pub panic_message: Option<&'a str>,
    /// How long it waited: from acceptance to start, or to the end if it never started.
    pub waited: Duration,
    /// How long it ran; for a future, all polls together.
    pub ran: Duration,
    /// The index of the worker on which it ended; `None` on a foreign thread.
    pub worker: Option<usize>,
}
