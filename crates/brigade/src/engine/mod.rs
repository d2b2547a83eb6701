//! The engine: how the workers of one pool find their work, sleep, and end.
//!
//! [`Core`] is what the owner, the handles and the workers of a pool share. Each of its parts is a state with its own methods:
//! `queues` (the [`injectors`], the [`lanes`], and in [`peers`] what each worker has), `threads`, and `events` (timers and I/O). Also `tasks`
//! (pending futures) and `ledger` (jobs that ended off the pool). The protocols that need several of them are in [`core`] (the
//! injection of work, and the choice of a worker for it), [`admission`], [`broadcast`], [`resume`] and [`end`]. [`worker`] is the
//! side of a worker's thread, [`monitor`] the thread that looks after all pools, and [`dispatch`] hands jobs to workers without a queue. [`inspect`] reads what all of them do.

mod admission;
mod backoff;
mod bound;
mod broadcast;
mod core;
mod counts;
mod current;
mod dispatch;
mod end;
mod enter;
mod events;
mod following;
mod injectors;
mod inspect;
mod lanes;
mod late;
mod ledger;
mod local;
mod mailbox;
mod monitor;
mod off_pool;
mod origins;
mod owned_tasks;
mod park_spot;
mod peers;
mod probe;
mod queues;
mod resources;
mod resume;
mod signal;
mod sleeper;
mod threads;
mod worker;

pub(crate) use admission::{Admission, Unqueued};
pub(crate) use bound::Bound;
pub(crate) use core::Core;
pub(crate) use current::stopping;
pub(crate) use dispatch::dispatch;
pub(crate) use end::cancel_contained;
pub(crate) use enter::{enter, enter_pool, entered, resources_of};
pub(crate) use events::blocked::{BlockedThread, ThisThread};
#[cfg(feature = "io")]
pub(crate) use events::closed;
#[cfg(brigade_seeded)]
pub use monitor::monitor_runs;
pub(crate) use off_pool::{drop_off_pool, may_nest, nest};
pub(crate) use probe::{Scope, Span};
pub(crate) use worker::{
    Awaited, CURRENT, Child, Driven, Worker, blocking, label_job, owned, runs_in_place, wait_as,
    wait_outside,
};
