//! Observes the jobs of a pool: tells hooks how they ended and which run for long, and records what each thread runs.
//!
//! A pool that is observed has an [`Observer`], made by [`Settings`], and is its [`Site`]. Each job that is submitted gets a [`Watch`]
//! from a [`Watcher`], which runs it, and lists it in the [`Record`] of the thread that does. `README.md` has the design.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! spans   watch
//! observer
//! dump   stall
//! record
//! job   outcome   times
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod dump;
mod job;
mod observer;
mod outcome;
mod record;
#[cfg(feature = "tracing")]
mod spans;
mod stall;
#[cfg(feature = "histograms")]
mod times;
mod watch;

pub use dump::{Dump, JobDump, WaitDump, WorkerDump};
pub use job::Job;
pub use observer::{Observer, Settings, Site};
pub use outcome::{End, Outcome};
pub use record::{Record, Stretch};
pub use stall::Stall;
#[cfg(feature = "histograms")]
pub use times::{Histograms, Times};
pub use watch::{Call, Watch, Watcher};
