//! Blocking a thread until another thread stores a token for it.
//!
//! [`Parker`] blocks a thread, [`ParkerGroup`] up to 32; a single system call wakes any subset of them.
//! Not `std::thread::park`: std's own locks consume its tokens (rust-lang/rust#145816).
//!
//! Each module imports only from those below it:
//!
//! ```text
//! group  single
//! sleeper (futex.rs or condvar.rs)
//! deadline
//! ```

mod deadline;
mod group;
mod single;
#[cfg_attr(
    all(target_os = "linux", not(any(brigade_loom, brigade_seeded, brigade_portable))),
    path = "futex.rs"
)]
#[cfg_attr(
    not(all(target_os = "linux", not(any(brigade_loom, brigade_seeded, brigade_portable)))),
    path = "condvar.rs"
)]
mod sleeper;

pub use self::group::ParkerGroup;
pub use self::single::Parker;
