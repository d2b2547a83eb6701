//! A child process, what it checks, and how it ended.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::panics;

/// How long a child may take; it does nothing slow.
const LIMIT: Duration = Duration::from_secs(5);

/// Forks; returns 0 in the child.
pub(crate) fn fork_here() -> libc::pid_t {
    silence_children();
    // SAFETY: the child does what a child with one thread may: glibc sees to malloc, brigade to itself.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", io::Error::last_os_error());
    pid
}

/// Forks; the child does this, and exits with its code.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> libc::pid_t {
    let pid = fork_here();
    if pid == 0 {
        exit_now(panic::catch_unwind(AssertUnwindSafe(child)).unwrap_or_else(|payload| {
            say(panics::text(&*payload).unwrap_or_default());
            101
        }));
    }
    pid
}

/// Prints without the lock of stderr, which another thread may have held at the fork.
fn say(text: &str) {
    // SAFETY: the bytes are readable.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// A panic in a child is not printed by the hook.
fn silence_children() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let (loud, parent) = (panic::take_hook(), process::id());
        panic::set_hook(Box::new(move |info| {
            if process::id() == parent {
                loud(info);
            }
        }));
    });
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exit(i32),
    Signal(i32),
    /// It had to be killed.
    Hung,
}

pub(crate) fn await_end(pid: libc::pid_t) -> End {
    let (begun, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: `status` is writable.
        match unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } {
            0 if begun.elapsed() < LIMIT => thread::sleep(Duration::from_micros(200)),
            0 => {
                // SAFETY: it is our child, and not waited for yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                // SAFETY: as above.
                unsafe { libc::waitpid(pid, &mut status, 0) };
                return End::Hung;
            }
            _ if libc::WIFEXITED(status) => return End::Exit(libc::WEXITSTATUS(status)),
            _ => return End::Signal(libc::WTERMSIG(status)),
        }
    }
}

/// A claim that a child checks, and its message.
pub(crate) type Claim<'a> = (&'static str, Box<dyn FnOnce() -> bool + 'a>);

pub(crate) fn claim<'a>(said: &'static str, holds: impl FnOnce() -> bool + 'a) -> Claim<'a> {
    (said, Box::new(holds))
}

/// Forks; the child checks the claims.
#[track_caller]
pub(crate) fn assert_in_child(claims: Vec<Claim<'_>>) {
    let said: Vec<_> = claims.iter().map(|(said, _)| *said).collect();
    let pid = fork(|| {
        let fails = claims.into_iter().position(|(_, holds)| !holds());
        fails.map_or(0, |index| index as i32 + 1)
    });
    match await_end(pid) {
        End::Exit(0) => {}
        End::Exit(code @ 1..=100) => panic!("in the child: not so: {}", said[code as usize - 1]),
        other => panic!("the child ended with {other:?}"),
    }
}
