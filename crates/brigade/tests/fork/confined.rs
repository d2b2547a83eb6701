//! A process that forbids a system call after its pools have begun to use it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use brigade::{Pool, join};

use crate::child::{End, await_end, fork};

/// Has a system call fail from now on, in all threads; `false` if the system can't.
fn forbid(call: libc::c_long) -> bool {
    // The load of the call's number, the test, and both answers; as in `linux/filter.h`.
    let step = |code: u32, jump: (u8, u8), k: u32| libc::sock_filter {
        code: code as u16,
        jt: jump.0,
        jf: jump.1,
        k,
    };
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, (0, 1), call as u32),
        step(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: it has integer arguments.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program is whole, and is copied.
    let set = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &program,
        )
    };
    set == 0
}

/// Whether another worker takes a fork that is left to it for some time. No worker is woken for it, after so many that were taken back.
fn is_stolen() -> bool {
    (0..20).for_each(|_| _ = join(|| (), || ()));
    let (here, begun) = (thread::current().id(), AtomicBool::new(false));
    let first = || {
        for _ in 0..10_000 {
            if begun.load(Ordering::SeqCst) {
                break;
            }
            thread::yield_now();
        }
    };
    let second = || {
        begun.store(true, Ordering::SeqCst);
        thread::current().id()
    };
    join(first, second).1 != here
}

/// In a child, as the filter is the process's.
pub(crate) fn forks_are_taken_by_other_workers_where_the_heavy_fence_is_forbidden_later() {
    let pid = fork(|| {
        let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
        pool.install(|| join(|| (), || ())).unwrap();
        if forbid(libc::SYS_membarrier) {
            // The first ones tell the pool.
            pool.install(|| while !is_stolen() {}).unwrap();
        }
        0
    });
    assert_eq!(await_end(pid), End::Exit(0));
}
