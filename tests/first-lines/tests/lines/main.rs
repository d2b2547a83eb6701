//! The first lines of users of other pools. The README of this package counts them.
//!
//! A test has the line's number. Where a line has another word here, the comment above says what was typed. The text is that of
//! the line otherwise; an assertion takes the place of what it prints.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![allow(
    clippy::clone_on_copy,
    clippy::manual_unwrap_or,
    clippy::manual_unwrap_or_default,
    clippy::useless_vec,
    reason = "the lines are as they were typed"
)]

mod crossbeam_and_st3;
mod futures_and_executors;
mod instead;
mod one_liners;
mod probes;
mod rayon_and_threadpool;
mod tokio;
