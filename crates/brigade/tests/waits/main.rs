//! Every call that waits, on every kind of thread, for every kind of job that its thread may have to run meanwhile; and every
//! operation of I/O that is always ready.
//!
//! A binary of its own: a call that never ends leaves its threads behind.

#![cfg(unix)]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod cells;
mod current;
mod operations;
mod outcome;
mod programs;
mod rows;
mod run;
mod table;
