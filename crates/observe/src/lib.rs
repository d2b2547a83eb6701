//! Observes the jobs of a pool: reports outcomes and long runs to hooks, and records the running jobs of each thread.
//!
//! An observed pool has an [`Observer`], made by [`Settings`], and is the observer's [`Site`]. A [`Watcher`] begins a [`Watch`] for each
//! job. The watch runs the job, and lists it in the [`Record`] of the thread. `README.md` has the design.
//!
//! ```
//! use brigade_observe::{End, Job, JobLabel, Record, Settings, Site, Watcher};
//! use brigade_task::Cause;
//! use std::panic::Location;
//! use std::sync::mpsc;
//!
//! /// A pool without workers: its jobs run where they are submitted.
//! struct Inline;
//! impl Site for Inline {
//!     fn is_here(&self) -> bool {
//!         true
//!     }
//!     fn on_thread(&self, other: &Record, call: &mut dyn FnMut(Option<usize>, &Record)) {
//!         call(None, other);
//!     }
//!     fn each(&self, _: &mut dyn FnMut(usize, &Record)) -> bool {
//!         true
//!     }
//!     fn runs(&self, _: &Job) {}
//!     fn hook_panicked(&self) {}
//! }
//!
//! let (sender, ends) = mpsc::channel();
//! let mut settings = Settings::default();
//! settings.on_outcome(move |outcome| _ = sender.send((outcome.name.map(String::from), outcome.end)));
//! let observer = settings.observer("inline".into(), Inline);
//!
//! let watcher = Watcher::new(&observer, JobLabel { name: Some("sum".into()), place: Location::caller(), class: "normal" });
//! assert_eq!(watcher.clone().begin(false).run(|| 6 * 7), 42);
//! assert_eq!(ends.recv()?, (Some("sum".into()), End::Returned));
//! drop(watcher.begin(false)); // With a job that never ran.
//! assert_eq!(ends.recv()?, (Some("sum".into()), End::Cancelled(Cause::Ended)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each module imports only from those below it:
//!
//! ```text
//! spans   watch
//! observer
//! stall
//! dump
//! record   unfinished
//! job   outcome   thread   times
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod dump;
mod job;
mod observer;
mod outcome;
mod record;
#[cfg(feature = "tracing")]
mod spans;
mod stall;
mod thread;
#[cfg(feature = "histograms")]
mod times;
mod unfinished;
mod watch;

pub use dump::{Awaits, Dump, JobDump, WaitDump, WaitingJob, WorkerDump};
pub use job::{Job, JobLabel};
pub use observer::{Observer, Settings, Site};
pub use outcome::{End, Outcome};
pub use record::{Record, Stretch};
pub use stall::Stall;
pub use thread::{ThreadInfo, ThreadState};
#[cfg(feature = "histograms")]
pub use times::{Histograms, Times};
pub use watch::{ListedTimer, Watch, Watcher};
