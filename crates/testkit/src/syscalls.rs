//! Counts the system calls of a thread, by the kernel: every call is announced to another thread (seccomp(2),
//! `SECCOMP_RET_USER_NOTIF`), which records it and lets it continue.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// As in `linux/seccomp.h`.
#[repr(C)]
#[derive(Default)]
struct Announced {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// As in `linux/seccomp.h`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const GO_ON: u32 = 1;

/// Announces every later system call of this thread to the returned file; `None` if the system does not support
/// it.
fn announce_all() -> Option<i32> {
    let every_call = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_USER_NOTIF,
    };
    let mut rules = [every_call];
    let program = libc::sock_fprog { len: 1, filter: rules.as_mut_ptr() };
    // SAFETY: only numbers; the thread can't gain privileges any more, and needs none.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: `program` and its rules outlive the call, which copies them.
    let file = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &program,
        )
    };
    i32::try_from(file).ok().filter(|file| *file >= 0)
}

/// Records the announced calls and lets them continue; ends with the thread that makes the calls.
fn supervise(file: i32, log: &Mutex<Vec<i64>>) {
    loop {
        let mut call = Announced::default();
        // SAFETY: `call` has the layout and, all zero, the content required by the kernel.
        if unsafe { libc::ioctl(file, RECEIVE, &mut call) } != 0 {
            return;
        }
        log.lock().unwrap().push(i64::from(call.number));
        let answer = Answer { id: call.id, value: 0, error: 0, flags: GO_ON };
        // SAFETY: `answer` has the layout required by the kernel.
        unsafe { libc::ioctl(file, SEND, &answer) };
    }
}

/// The end of a section of the log: a call made for no other purpose here.
pub fn mark() {
    // SAFETY: takes nothing and can't fail.
    unsafe { libc::getppid() };
}

/// Runs a body on a separate thread; returns the system calls between each two marks, first to last.
pub fn counted(body: impl FnOnce() + Send + 'static) -> Option<Vec<Vec<i64>>> {
    /// Values without a file: not announced yet, and not supported.
    const UNKNOWN: i32 = -1;
    const NONE: i32 = -2;
    let file = Arc::new(AtomicI32::new(UNKNOWN));
    let announce = file.clone();
    let caller = thread::spawn(move || {
        let listener = announce_all();
        announce.store(listener.unwrap_or(NONE), Ordering::SeqCst);
        if listener.is_some() {
            body();
        }
    });
    while file.load(Ordering::SeqCst) == UNKNOWN {
        thread::yield_now();
    }
    let file = file.load(Ordering::SeqCst);
    if file == NONE {
        println!("not counted: this system does not announce system calls");
        caller.join().unwrap();
        return None;
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = log.clone();
    thread::spawn(move || supervise(file, &written));
    caller.join().unwrap();
    let log = log.lock().unwrap();
    // Of 32 bits where a word has these.
    let mark: i64 = libc::SYS_getppid as _;
    let sections = log.split(|call| *call == mark).skip(1);
    Some(sections.map(<[i64]>::to_vec).collect())
}
