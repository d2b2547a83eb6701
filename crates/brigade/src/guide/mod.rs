//! Chapters about the use of this crate.
//!
//! Their examples are compiled and run by `cargo test`.
//!
//! | chapter | about |
//! |---|---|
//! | [`choosing`] | which call and which pool for which program |
//! | [`threads_or_tasks`] | what threads and tasks cost, and which to use when |
//! | [`shutting_down`] | the ways to end a pool, and what happens to its jobs |
//! | [`libraries`] | taking a pool from the caller |
//! | [`traces`] | what each thread did and when, for a viewer |
//! | [`works_with`] | crates for channels, locks, signals, processes, tracing, HTTP |
//! | [`coming_from_rayon`], [`coming_from_tokio`] | the same calls here, and programs before and after |
//! | [`coming_from_rusty_pool`], which is about threadpool too | the same |
//! | [`coming_from_executors`], [`coming_from_burst_pool`] | the same |
//! | [`coming_from_st3_and_crossbeam`] | st3 and crossbeam-deque in schedulers of your own |
//! | [`coming_from_context_switch`] | the command for each of its programs |

#[doc = include_str!("choosing.md")]
pub mod choosing {}

#[doc = include_str!("threads_or_tasks.md")]
pub mod threads_or_tasks {}

#[doc = include_str!("shutting_down.md")]
pub mod shutting_down {}

#[doc = include_str!("libraries.md")]
pub mod libraries {}

#[doc = include_str!("traces.md")]
#[doc = include_str!("trace.svg")]
pub mod traces {}

#[doc = include_str!("works_with.md")]
pub mod works_with {}

#[doc = include_str!("coming_from_rayon.md")]
pub mod coming_from_rayon {}

#[doc = include_str!("coming_from_tokio.md")]
pub mod coming_from_tokio {}

#[doc = include_str!("coming_from_rusty_pool.md")]
pub mod coming_from_rusty_pool {}

#[doc = include_str!("coming_from_executors.md")]
pub mod coming_from_executors {}

#[doc = include_str!("coming_from_st3_and_crossbeam.md")]
pub mod coming_from_st3_and_crossbeam {}

#[doc = include_str!("coming_from_burst_pool.md")]
pub mod coming_from_burst_pool {}

#[doc = include_str!("coming_from_context_switch.md")]
pub mod coming_from_context_switch {}
