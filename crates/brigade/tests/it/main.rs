//! Behaviour of the pool: one file per group of claims, and a test's name is its claim.
//!
//! Not here: what needs the whole process for itself (allocations, idle CPU, the default pool,
//! thread and file counts). Those are test binaries of their own beside this folder.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod bell;
mod crowd;
mod full;
mod gate;
mod latch;
mod policy;
mod quiet;
mod roll_call;
mod seed;
mod trees;
mod watchdog;

mod aborting;
mod auto_traits;
mod blocking_jobs;
mod building;
mod cancelled_flag;
mod cancelling;
mod capacity;
mod churn;
mod closing;
mod conformance;
mod counters;
mod crew_corners;
mod deadlines;
mod deadlocks;
mod detaching;
mod dispatch;
mod dropping;
mod evicting;
mod fairness;
mod futures;
mod futures_for_room;
mod given_back;
mod growing;
mod handles;
mod headcount;
mod hooks;
#[cfg(feature = "io")]
mod io;
mod isolation;
mod joining;
mod keeping;
mod late_workers;
mod later_work;
mod limits;
mod lookout;
mod memory;
mod on_panic;
mod order;
mod panics;
mod park_tokens;
mod placement;
mod racing_close;
mod racing_growth;
mod replaced_crates;
mod resizing;
mod running_in_caller;
mod shrinking;
mod shutdown;
mod slow_spawner;
mod spawn_aside;
mod spawn_block_on;
mod spawn_cancel;
mod spawn_ending;
mod spawn_fairness;
mod spawn_local;
mod spawn_local_pool;
mod spawn_wakers;
mod spawner;
mod spawning;
mod standing_by;
mod task_set;
mod task_set_cancel;
mod task_set_capacity;
mod task_set_limit;
mod task_set_on_workers;
mod thread_locals;
mod time_cancel;
mod time_ending;
mod time_precision;
mod time_schedule;
mod time_sleep;
mod user_drops;
mod waiting;
mod waiting_for_room;
mod waves;
mod when_full;
mod work_conservation;
