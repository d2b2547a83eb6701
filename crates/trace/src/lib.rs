//! Records the activities of the threads of a pool, and writes them for a viewer.
//!
//! A pool has a [`Tracer`], and a [`Track`] for each worker, which writes on it with a [`Pen`] [`What`] it does. The record from
//! [`Tracer::begin`] to [`Tracer::take`] is a [`Trace`], which writes itself as JSON. `README.md` has the design.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! track
//! json
//! traced
//! event
//! what
//! ```

mod event;
mod json;
mod traced;
mod track;
mod what;

pub use traced::{Now, Trace, TraceError, Traced};
pub use track::{Pen, Scope, Session, Tracer, Track, Worker};
pub use what::{GUESTS, Label, Since, What};
