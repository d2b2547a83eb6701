//! Traces of a pool: what each of its threads did, and when. `README.md` beside this file has the design.

#[cfg(feature = "trace")]
mod event;
#[cfg(feature = "trace")]
mod json;
#[cfg(feature = "trace")]
mod traced;
#[cfg(feature = "trace")]
mod track;
#[cfg(not(feature = "trace"))]
#[path = "no_track.rs"]
mod track;

#[cfg(feature = "trace")]
pub(crate) use event::{Label, Since, What};
#[cfg(feature = "trace")]
pub(crate) use traced::Traced;
#[cfg(feature = "trace")]
pub use traced::{Trace, TraceError};
#[cfg(feature = "trace")]
pub(crate) use track::{Now, Pen, Session, Worker};
pub(crate) use track::{Scope, Tracer, Track, Wake};

/// How many events of each thread a trace keeps, unless the pool's builder says otherwise: some 8 MB.
pub(crate) const LIMIT: usize = 1 << 17;
