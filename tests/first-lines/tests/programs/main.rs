//! The first drafts of six small programs. The README of this package says which words differ.
//!
//! Each module is a program. Its `run` is the program's `main`, with what that took from the command line as arguments and what
//! it printed as its result.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

mod p1_hash;
mod p2_server;
mod p3_bounded;
mod p4_join;
mod p5_periodic;
mod p6_generic;
