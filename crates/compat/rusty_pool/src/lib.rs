//! The API of [rusty_pool](https://docs.rs/rusty_pool/0.7.0) on pools of brigade.
//!
//! A program takes it by `[patch.crates-io]`, or under another name by `package = "rusty_pool"` and a path, and compiles
//! unchanged. The README has the differences.
//!
//! ```
//! let pool = rusty_pool::Builder::new().core_size(2).max_size(8).build();
//! let six = pool.evaluate(|| 6);
//! let answer = pool.complete(async { six.receiver.await.map(|six| six * 7) });
//! assert_eq!(answer.await_complete(), Ok(42));
//! ```
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it:
//
//     builder
//     pool
//     join_handle   task

mod builder;
mod join_handle;
mod pool;
mod task;

pub use builder::{Builder, MAX_SIZE};
pub use join_handle::JoinHandle;
pub use pool::ThreadPool;
pub use task::Task;
