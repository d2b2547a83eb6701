//! Traces of brigade's pools, for `trace WORKLOAD`: each target of brigade's begins one when its pool has been built.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use brigade::{Pool, Tracing};

use crate::stop::Stop;

/// The traces of this process, if any are wanted.
static TRACES: Mutex<Option<Vec<Tracing>>> = Mutex::new(None);

/// Calls a closure with the traces.
fn with<R>(call: impl FnOnce(&mut Option<Vec<Tracing>>) -> R) -> R {
    call(&mut TRACES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// From now on, pools are traced.
pub(crate) fn want() {
    with(|traces| *traces = Some(Vec::new()));
}

/// Begins to trace a new pool, if that is wanted.
pub(crate) fn begin(pool: Pool) -> Pool {
    with(|traces| traces.iter_mut().for_each(|traces| traces.extend(pool.start_trace())));
    pool
}

/// Ends the traces and writes the one that has most to a file; returns what to say about it.
pub(crate) fn save(path: &Path) -> Result<String, Stop> {
    let traces = with(Option::take).into_iter().flatten().map(Tracing::finish);
    let Some(trace) = traces.max_by_key(|trace| trace.recorded()) else {
        return Err(Stop::Usage(
            "only the pools of brigade can be traced: name one with --target".to_owned(),
        ));
    };
    let written = trace.save(path);
    written.map_err(|error| Stop::Failed(format!("{}: {error}", path.display())))?;
    Ok(format!(
        "{}: {trace}\nOpen it in https://ui.perfetto.dev, or in Chrome's about:tracing.",
        path.display()
    ))
}
