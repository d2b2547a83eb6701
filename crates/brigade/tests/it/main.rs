//! Behaviour of the pool: one file per group of claims, and a test's name is its claim.
//!
//! Not here: what needs the whole process for itself (allocations, idle CPU, the default pool,
//! thread and file counts). Those are test binaries of their own beside this folder.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![cfg_attr(not(target_os = "linux"), allow(unused_imports, reason = "of tests that are Linux's"))]
#![forbid(unsafe_code)]

mod support;

mod bounded;
mod broadcast;
mod driver;
mod futures;
mod jobs;
mod lifecycle;
mod limited;
mod local_pool;
mod observe;
mod priorities;
mod roster;
mod scoped;
mod task_set;
mod time;
mod waiting;
