//! The engine: how the workers of a pool find work, sleep, and end. It must not know through which API a job is
//! submitted.
//!
//! Two structs of plain data: [`shared`] is the state that all threads of a pool share, [`worker`] the state that only a
//! worker's thread uses. Each protocol has a module with all of its functions, and most have a page.

// Each module imports only from those in the lines below it (`ci/imports.sh` checks that), or from
// those in the first line, which are data of all:
//
//     shared   worker
//     clock
//     registry   supply   inspect   dump   guest
//     turn   fork
//     wait   bounded   submit   sweep
//     find   park   wake   futures   class
//     end   probe   pace
//     enter
//     queues
//     sleep
//     idle   semaphore   timers
//     roster
//     state   what
//     key

mod bounded;
mod class;
mod clock;
#[cfg(feature = "observe")]
mod dump;
mod end;
mod enter;
mod find;
mod fork;
mod futures;
mod guest;
mod idle;
mod inspect;
mod key;
mod pace;
mod park;
mod probe;
mod queues;
mod registry;
mod roster;
mod semaphore;
mod shared;
mod sleep;
mod state;
mod submit;
mod supply;
mod sweep;
mod timers;
mod turn;
mod wait;
mod wake;
mod what;
mod worker;

pub(crate) use bounded::{Admission, Unqueued};
pub use clock::now;
pub(crate) use clock::now_in;
pub(crate) use end::Leaving;
pub(crate) use end::off_pool::{
    cancel_contained, drop_off_pool, drop_value_off_pool, may_nest, pool_of_work,
};
pub(crate) use enter::{enter_outside, enter_pool, entered};
pub(crate) use fork::wait_outside;
pub(crate) use futures::groups::{Group, Members};
pub(crate) use key::{Key, Kind};
pub(crate) use probe::label_job;
pub(crate) use registry::{
    At, class_here, current_pool, find, forget, reach, reach_inline, reach_on_worker, reach_once,
    reach_owned,
};
pub(crate) use semaphore::{Permit, Room, Semaphore, Waiter};
pub(crate) use shared::Shared;
pub(crate) use sleep::backoff::LOOK_AGAIN;
pub(crate) use sleep::events::blocked::{BlockedThread, ThisThread};
#[cfg(feature = "io")]
pub(crate) use sleep::events::closed;
pub(crate) use supply::{enter, resources_of};
pub(crate) use timers::{Due, Entry, FAR, TimerKey};
pub(crate) use wait::Awaited;
pub(crate) use wait::blocked::{blocking, runs_in_place};
pub(crate) use wait::driven::Driven;
pub(crate) use wait::driven_pools::{catch_up, driven_pools, owns, wait_as};
pub(crate) use wait::held::hold;
pub(crate) use wait::outside::{link_limited, sleep_outside, wait_until};
pub(crate) use wait::threadless::link_driven;
#[cfg(brigade_seeded)]
pub(crate) use wake::monitor::monitor_runs;
pub(crate) use worker::{CURRENT, Child, Worker, is_worker_of, stopping, with_member, with_worker};
