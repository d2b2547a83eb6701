//! Holds threads up at random places, like a system's scheduler that runs them rarely.

use std::fs;
use std::mem;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// How long the next thread is held up.
static NANOS: AtomicI32 = AtomicI32::new(0);

/// Sleeps: of the calls permitted in a handler, a sleep takes the time from no other thread.
extern "C" fn hold(_signal: libc::c_int) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: NANOS.load(Relaxed).into() };
    // SAFETY: `time` outlives the call, which may be called in a handler, and leaves `errno` as it is unless another signal comes.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// Until the process ends, holds up its threads in turn, for 0.1 to 5 ms each, at most one in 50 µs. `below` returns random
/// numbers below its argument.
///
/// Interrupted system calls are restarted, except the calls that never are.
///
/// # Panics
/// If the handler can't be installed.
pub fn hold_threads_up(mut below: impl FnMut(u64) -> u64 + Send + 'static) {
    // SAFETY: all zero is a `sigaction` without flags, and an empty set of signals.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_flags = libc::SA_RESTART;
    action.sa_sigaction = hold as *const () as usize;
    // SAFETY: the handler sleeps, and does nothing else.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()) }, 0);
    thread::spawn(move || {
        // SAFETY: takes nothing and can't fail.
        let own = unsafe { libc::gettid() };
        loop {
            thread::sleep(Duration::from_micros(50 + below(1_000)));
            // Short hold-ups are more frequent: each length is a share of the longest.
            let longest = 100_000 + below(4_900_000);
            NANOS.store((100_000 + below(longest)) as i32, Relaxed);
            let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
            let threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let threads: Vec<i32> = threads.filter(|thread| *thread != own).collect();
            let Some(thread) = threads.get(below(threads.len().max(1) as u64) as usize) else {
                continue;
            };
            // SAFETY: takes numbers only, and signals only threads of this process.
            unsafe { libc::syscall(libc::SYS_tgkill, process::id(), *thread, libc::SIGUSR1) };
        }
    });
}
