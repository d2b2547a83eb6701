//! The API of [threadpool](https://docs.rs/threadpool/1.8.1) on pools of brigade.
//!
//! A program takes it by `[patch.crates-io]`, or under another name by `package = "threadpool"` and a path, and compiles
//! unchanged. The README has the differences.
//!
//! ```
//! let pool = threadpool::ThreadPool::new(4);
//! let (sender, receiver) = std::sync::mpsc::channel();
//! for number in 1..=8 {
//!     let sender = sender.clone();
//!     pool.execute(move || sender.send(number).unwrap());
//! }
//! assert_eq!(receiver.iter().take(8).sum::<i32>(), 36);
//! ```
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it:
//
//     builder
//     pool

mod builder;
mod pool;

pub use builder::Builder;
pub use pool::ThreadPool;
