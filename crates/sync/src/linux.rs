//! The functions, types and constants of Linux that this crate uses, with their names in C.
//!
//! Compiling the crate `libc`, which has all of them, is 5 % of compiling a program with a pool. So they are declared here for the
//! targets of most programs, on which glibc and musl agree; the others use `libc`. A test compares the two.

#![allow(non_camel_case_types, non_upper_case_globals, reason = "their names in C")]
#![allow(dead_code, reason = "models use fewer")]

use core::ffi::{c_int, c_uint, c_ulong, c_void};

pub(crate) use core::ffi::c_long;
pub(crate) type pid_t = c_int;
pub(crate) type time_t = c_long;

#[repr(C)]
pub(crate) struct timespec {
    pub(crate) tv_sec: time_t,
    pub(crate) tv_nsec: c_long,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct sigset_t([c_ulong; 16]);

#[repr(C)]
pub(crate) struct sched_attr {
    pub(crate) size: u32,
    pub(crate) sched_policy: u32,
    pub(crate) sched_flags: u64,
    pub(crate) sched_nice: i32,
    pub(crate) sched_priority: u32,
    pub(crate) sched_runtime: u64,
    pub(crate) sched_deadline: u64,
    pub(crate) sched_period: u64,
}

// SAFETY: the C library has these functions, with arguments of these types.
unsafe extern "C" {
    pub(crate) fn clock_gettime(clock: c_int, time: *mut timespec) -> c_int;
    pub(crate) fn getpid() -> pid_t;
    pub(crate) fn gettid() -> pid_t;
    pub(crate) fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
    pub(crate) fn sched_getaffinity(thread: pid_t, size: usize, cpus: *mut c_void) -> c_int;
    pub(crate) fn sched_getcpu() -> c_int;
    pub(crate) fn sched_setaffinity(thread: pid_t, size: usize, cpus: *const c_void) -> c_int;
    pub(crate) fn setpriority(which: c_int, who: c_uint, value: c_int) -> c_int;
    pub(crate) fn sigfillset(set: *mut sigset_t) -> c_int;
    pub(crate) fn syscall(number: c_long, ...) -> c_long;
}

/// Chooses the number that a system call has on this target.
const fn number(x86_64: c_long, aarch64: c_long) -> c_long {
    if cfg!(target_arch = "x86_64") { x86_64 } else { aarch64 }
}

pub(crate) const SYS_futex: c_long = number(202, 98);
pub(crate) const SYS_getpriority: c_long = number(140, 141);
pub(crate) const SYS_membarrier: c_long = number(324, 283);
pub(crate) const SYS_sched_setattr: c_long = number(314, 274);
pub(crate) const CLOCK_MONOTONIC: c_int = 1;
pub(crate) const FUTEX_PRIVATE_FLAG: c_int = 128;
pub(crate) const FUTEX_WAIT_BITSET: c_int = 9;
pub(crate) const FUTEX_WAKE_BITSET: c_int = 10;
pub(crate) const MEMBARRIER_CMD_PRIVATE_EXPEDITED: c_int = 1 << 3;
pub(crate) const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;
pub(crate) const PRIO_PROCESS: c_int = 0;
pub(crate) const SCHED_FLAG_KEEP_POLICY: c_int = 8;
pub(crate) const SIG_BLOCK: c_int = 0;
pub(crate) const SIG_SETMASK: c_int = 2;

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    #[test]
    fn constants_and_types_are_those_of_libc() {
        macro_rules! compare {
            (constants: $($constant:ident)*) => {
                $(assert_eq!($constant as i64, libc::$constant as i64, stringify!($constant));)*
            };
            ($type:ident: $($field:ident)*) => {
                let [here, there] = [size_of::<$type>(), size_of::<libc::$type>()];
                assert_eq!(here, there, stringify!($type));
                assert_eq!(align_of::<$type>(), align_of::<libc::$type>(), stringify!($type));
                $(assert_eq!(offset_of!($type, $field), offset_of!(libc::$type, $field));)*
            };
        }
        compare!(constants: SYS_futex SYS_getpriority SYS_membarrier SYS_sched_setattr);
        compare!(constants: CLOCK_MONOTONIC PRIO_PROCESS SCHED_FLAG_KEEP_POLICY SIG_BLOCK SIG_SETMASK);
        compare!(constants: FUTEX_PRIVATE_FLAG FUTEX_WAIT_BITSET FUTEX_WAKE_BITSET);
        compare!(constants: MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        compare!(constants: MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        compare!(pid_t:);
        compare!(time_t:);
        compare!(sigset_t:);
        compare!(timespec: tv_sec tv_nsec);
        compare!(sched_attr: size sched_policy sched_flags sched_nice sched_priority);
        compare!(sched_attr: sched_runtime sched_deadline sched_period);
    }
}
