//! Chapters on the use of this crate.
//!
//! Their examples are compiled and run by `cargo test`.
//!
//! | chapter | about |
//! |---|---|
//! | [`choosing`] | the call for each task, the configuration for each program |
//! | [`threads_or_tasks`] | the costs of threads and tasks, and when to use which |
//! | [`shutting_down`] | the ways to end a pool, and the fate of its jobs |
//! | [`libraries`] | taking a pool from the caller |
//! | [`beside_tokio`] | computations of a tokio program on a pool |
//! | [`works_with`] | crates for channels, locks, signals, processes, tracing, HTTP, databases |
//! | [`simulation`] | tests on several threads that obey a seed |
//! | [`traces`] | a timeline of each thread, for a viewer |
//! | [`coming_from_rayon`], [`coming_from_tokio`], [`coming_from_smol`] | their calls here, and the differences |
//! | [`coming_from_rusty_pool`] | rusty_pool and threadpool |
//! | [`coming_from_executors`], [`coming_from_burst_pool`] | executors, burst-pool |
//! | [`coming_from_st3_and_crossbeam`] | queues for your own scheduler |
//! | [`coming_from_context_switch`] | the command for each of its programs |

#[doc = include_str!("choosing.md")]
pub mod choosing {}

#[doc = include_str!("threads_or_tasks.md")]
pub mod threads_or_tasks {}

#[doc = include_str!("shutting_down.md")]
pub mod shutting_down {}

#[doc = include_str!("libraries.md")]
pub mod libraries {}

#[doc = include_str!("beside_tokio.md")]
pub mod beside_tokio {}

#[doc = include_str!("simulation.md")]
pub mod simulation {}

#[doc = include_str!("traces.md")]
#[doc = include_str!("trace.svg")]
pub mod traces {}

#[doc = include_str!("works_with.md")]
pub mod works_with {}

#[doc = include_str!("coming_from_rayon.md")]
pub mod coming_from_rayon {}

#[doc = include_str!("coming_from_tokio.md")]
pub mod coming_from_tokio {}

#[doc = include_str!("coming_from_smol.md")]
pub mod coming_from_smol {}

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
