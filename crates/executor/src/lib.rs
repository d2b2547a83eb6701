//! Traits for libraries that run closures and futures on an executor of their caller's.
//!
//! A library takes `&impl Executor` or `&dyn Executor`, and its caller passes a pool of `brigade`, [`Inline`], or another type.
//! [`ExecutorExt`] has the methods for closures of any type.
//!
//! ```
//! use brigade_executor::{Executor, ExecutorExt, Inline};
//! use std::sync::mpsc;
//!
//! /// Squares some numbers, each on the caller's executor. Returns at once; the squares come as they are ready.
//! fn squares(executor: &impl Executor, numbers: Vec<u64>) -> mpsc::Receiver<u64> {
//!     let (sender, squares) = mpsc::channel();
//!     for number in numbers {
//!         let sender = sender.clone();
//!         executor.execute(move || _ = sender.send(number * number));
//!     }
//!     squares
//! }
//!
//! assert_eq!(squares(&Inline, vec![1, 2, 3]).iter().sum::<u64>(), 14);
//! ```
//!
//! A function that waits for its jobs would block a thread of its caller's, and for ever if the executor has no other thread:
//! return what the caller may wait for.
//!
//! A type that implements [`Executor`] needs one method:
//!
//! ```
//! use brigade_executor::{Executor, ExecutorExt, Job};
//! use std::sync::mpsc::{SendError, Sender, channel};
//!
//! /// Sends jobs to a thread.
//! struct Thread(Sender<Job>);
//!
//! impl Executor for Thread {
//!     fn accept(&self, job: Job) -> Result<(), Job> {
//!         self.0.send(job).map_err(|SendError(job)| job)
//!     }
//! }
//!
//! let (sender, jobs) = channel::<Job>();
//! let worker = std::thread::spawn(move || jobs.iter().map(|job| job()).count());
//! let thread = Thread(sender);
//! thread.execute(|| println!("on the thread"));
//! drop(thread);
//! assert_eq!(worker.join().unwrap(), 1);
//! ```
//!
//! Each module imports only from those below it:
//!
//! ```text
//! inline
//! executor   spawner
//! rejected
//! ```
#![forbid(unsafe_code)]

mod executor;
mod inline;
mod rejected;
mod spawner;

pub use executor::{Executor, ExecutorExt, Job};
pub use inline::Inline;
pub use rejected::Rejected;
pub use spawner::{BoxFuture, LocalBoxFuture, LocalSpawner, LocalSpawnerExt, Spawner, SpawnerExt};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
