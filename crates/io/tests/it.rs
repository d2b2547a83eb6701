//! Behaviour of the driver and its types: one file per group of claims, and a test's name is its claim.
//!
//! Not here: what needs the whole process for itself (signals, limits, system calls). Those are test binaries of their
//! own.

#![cfg(not(brigade_loom))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod machine;

mod it {
    #[cfg(unix)]
    mod auto_traits;
    #[cfg(unix)]
    mod current;
    #[cfg(unix)]
    mod driving;
    mod halves;
    mod names;
    #[cfg(unix)]
    mod pipes;
    #[cfg(unix)]
    mod short_reads;
    #[cfg(unix)]
    mod sources;
    mod tcp;
    mod udp_and_unix;
    #[cfg(unix)]
    mod waiting;
}
