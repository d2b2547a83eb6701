//! The engine: how the workers of a pool find work, sleep, and end. It must not know through which API a job is
//! submitted.
//!
//! [`core`] is the state shared by a pool's owner, handles and workers: it accepts work and starts threads. [`work`]
//! composes the parts below it, and ends the pool. [`worker`] is the side of a worker's thread. [`registry`] leads from
//! a [`key`] to either.

// Each module imports only from those in the lines below it (`ci/imports.sh` checks that):
//
//     clock
//     registry   supply
//     worker
//     probe
//     processor
//     core
//     work
//     owned_tasks   ends
//     queues   threads
//     sleep
//     idle   semaphore   timers
//     current
//     key

mod clock;
mod core;
mod current;
mod ends;
mod idle;
mod key;
mod owned_tasks;
mod probe;
mod processor;
mod queues;
mod registry;
mod semaphore;
mod sleep;
mod supply;
mod threads;
mod timers;
mod work;
mod worker;

pub use clock::now;
pub(crate) use clock::now_in;
pub(crate) use core::Core;
pub(crate) use core::admission::{Admission, Unqueued};
pub(crate) use core::enter::{enter_outside, enter_pool, entered};
#[cfg(brigade_seeded)]
pub use core::monitor::monitor_runs;
pub(crate) use current::stopping;
pub(crate) use ends::off_pool::{cancel_contained, drop_off_pool, may_nest, pool_of_work};
pub(crate) use key::{ClassKey, Key, Kind};
pub(crate) use processor::{Group, LateGroup, Members, Processor};
pub(crate) use registry::{
    At, class_here, current_pool, forget, reach, reach_inline, reach_owned, rejected,
};
pub(crate) use semaphore::{Permit, Room, Semaphore, Waiter};
pub(crate) use sleep::backoff::LOOK_AGAIN;
pub(crate) use sleep::events::blocked::{BlockedThread, ThisThread};
#[cfg(feature = "io")]
pub(crate) use sleep::events::closed;
pub(crate) use supply::{enter, resources_of};
pub(crate) use timers::{Due, Entry, FAR, TimerKey};
pub(crate) use worker::{
    Awaited, CURRENT, Child, Driven, Worker, blocking, catch_up, label_job, owned, runs_in_place,
    share, sleep_outside, wait_as, wait_outside, wait_until, with_processor,
};
