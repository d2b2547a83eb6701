//! brigade: a single implementation, and a configuration as a value.

use std::io;
use std::sync::Arc;

use brigade::{Builder, Handle, JobBuilder, Pool};

use crate::target::pool::{Running, Size, submits};

/// A pool, whose last owner drains and joins: at the end of a run the submitting threads have gone.
type Brigade = Running<Owner, Handle>;

/// Starts the default pool, changed by `set`.
pub(super) fn with(threads: usize, set: fn(Builder) -> Builder) -> io::Result<Brigade> {
    set(Pool::builder().threads(threads)).build().map(|pool| running(pool, || ()))
}

/// Starts a growing pool.
pub(super) fn sized(size: Size) -> io::Result<Brigade> {
    let builder = Pool::builder().threads(size.core..=size.max).keep_alive(size.keep_alive);
    builder.build().map(|pool| running(pool, || ()))
}

/// Starts the default pool with a trace, which is dropped after the pool's end.
pub(super) fn traced(threads: usize) -> io::Result<Brigade> {
    let pool = Pool::builder().threads(threads).build()?;
    let trace = pool.start_trace().ok();
    Ok(running(pool, || drop(trace)))
}

/// This pool, and a call after its end.
fn running(pool: Pool, end: impl FnOnce() + 'static) -> Brigade {
    let inside = pool.handle();
    Running::new(Owner(Arc::new(pool)), inside, end)
}

/// The pool's owner, shared by the submitting threads.
#[derive(Clone)]
pub(crate) struct Owner(Arc<Pool>);

submits!(Owner, |Owner(pool), job| pool.execute(job));

submits!(Handle, |pool, job| pool.execute(job));

/// The settings of a submission.
type Set = fn(JobBuilder) -> JobBuilder;

/// Starts the default pool for submissions with these settings, from outside and by jobs.
pub(super) fn rare(threads: usize, sets: [Set; 2]) -> io::Result<Running<Submits, Submits>> {
    let pool = Pool::builder().threads(threads).build()?;
    let [outside, inside] = sets.map(|set| Submits(pool.handle(), set));
    Ok(Running::new(outside, inside, || drop(pool)))
}

/// Submits jobs for which something is set.
#[derive(Clone)]
pub(crate) struct Submits(Handle, Set);

// As `execute` does; the tally detects a dropped job.
submits!(Submits, |Submits(pool, set), job| drop(set(pool.job()).execute(job)));
