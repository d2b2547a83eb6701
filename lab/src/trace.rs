//! Traces of brigade's pools, for `trace WORKLOAD`: the targets of brigade build their pools here.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use brigade::{Builder, Pool, Tracing};

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

/// Builds a pool, which is traced if that is wanted.
pub(crate) fn build(builder: Builder) -> io::Result<Pool> {
    let pool = builder.build()?;
    with(|traces| traces.iter_mut().for_each(|traces| traces.extend(pool.start_trace())));
    Ok(pool)
}

/// The answer to a target that has no such pool.
pub(crate) fn strange() -> Stop {
    Stop::Usage("only the pools of brigade can be traced: name one with --target".to_owned())
}

/// Ends the traces and writes the one that has most to a file; returns what to say about it.
pub(crate) fn save(path: &Path) -> Result<String, Stop> {
    let traces = with(Option::take).into_iter().flatten().map(Tracing::finish);
    let Some(trace) = traces.max_by_key(|trace| trace.recorded()) else {
        return Err(strange());
    };
    let written = trace.save(path);
    written.map_err(|error| Stop::Failed(format!("{}: {error}", path.display())))?;
    Ok(format!(
        "{}: {trace}\nOpen it in https://ui.perfetto.dev, or in Chrome's about:tracing.",
        path.display()
    ))
}
