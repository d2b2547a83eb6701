//! Behaviour of the driver and its types: one file per group of claims, and a test's name is its claim.
//!
//! Not here: what needs the whole process for itself (signals, limits, system calls). Those are test binaries of their
//! own.

#![cfg(all(unix, not(brigade_loom)))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod machine;

mod it {
    mod auto_traits;
    mod current;
    mod driving;
    mod halves;
    mod names;
    mod pipes;
    mod short_reads;
    mod sources;
    mod tcp;
    mod udp_and_unix;
    mod waiting;
}
