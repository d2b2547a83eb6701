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

/// Declares the chapters. Where a feature is not enabled, a link to an item behind it leads to the list of features.
macro_rules! chapters {
    ($($(#[$attribute:meta])* $name:ident: $file:literal;)*) => {$(
        #[doc = include_str!($file)]
        $(#[$attribute])*
        #[cfg_attr(not(feature = "affinity"), doc = include_str!("without_affinity.md"))]
        #[cfg_attr(not(feature = "observe"), doc = include_str!("without_observe.md"))]
        #[cfg_attr(not(feature = "test-util"), doc = include_str!("without_test_util.md"))]
        pub mod $name {}
    )*};
}

chapters! {
    choosing: "choosing.md";
    threads_or_tasks: "threads_or_tasks.md";
    shutting_down: "shutting_down.md";
    libraries: "libraries.md";
    beside_tokio: "beside_tokio.md";
    simulation: "simulation.md";
    #[doc = include_str!("trace.svg")]
    traces: "traces.md";
    works_with: "works_with.md";
    coming_from_rayon: "coming_from_rayon.md";
    coming_from_tokio: "coming_from_tokio.md";
    coming_from_smol: "coming_from_smol.md";
    coming_from_rusty_pool: "coming_from_rusty_pool.md";
    coming_from_executors: "coming_from_executors.md";
    coming_from_st3_and_crossbeam: "coming_from_st3_and_crossbeam.md";
    coming_from_burst_pool: "coming_from_burst_pool.md";
    coming_from_context_switch: "coming_from_context_switch.md";
}
