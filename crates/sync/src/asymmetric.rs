//! A pair of fences: the frequent side costs nothing.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::fork::PerProcess;
use crate::step;

/// Whether a heavy fence has failed. `core`'s atomic also under the model checker, where none fails.
static FAILED: AtomicBool = AtomicBool::new(false);

/// A pair of fences between two kinds of threads: [`light`](Self::light) for the threads that pass it often,
/// and [`heavy`](Self::heavy) for the others.
///
/// A light and a heavy fence order the operations around them as two `SeqCst` fences do: if each of two threads writes a
/// location, passes a fence, and reads the other's location, at least one sees the other's write. Two light fences order
/// nothing.
///
/// On Linux the heavy fence is the system call `membarrier`, which makes every thread of the process pass a fence, and the
/// light fence only keeps the compiler from moving operations. Without `membarrier` both are `SeqCst` fences. The technique
/// is from D. Dice, H. Huang, M. Yang, "Asymmetric Dekker Synchronization" (2001); Folly's `asymmetricThreadFence` is
/// another implementation.
///
/// ```
/// use brigade_sync::AsymmetricFence;
/// use brigade_sync::atomic::{AtomicBool, Ordering};
/// use std::thread;
/// let (fence, often, rarely) = (AsymmetricFence::new(), AtomicBool::new(false), AtomicBool::new(false));
/// let (seen, other) = thread::scope(|scope| {
///     let other = scope.spawn(|| {
///         rarely.store(true, Ordering::Relaxed);
///         fence.heavy();
///         often.load(Ordering::Relaxed)
///     });
///     often.store(true, Ordering::Relaxed);
///     fence.light();
///     (rarely.load(Ordering::Relaxed), other.join().unwrap())
/// });
/// assert!(seen || other, "at least one sees the other's write");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AsymmetricFence {
    /// Whether the heavy fence is the system call.
    is_lopsided: bool,
}

impl Default for AsymmetricFence {
    fn default() -> Self {
        Self::new()
    }
}

impl AsymmetricFence {
    /// Returns the fences of this process.
    ///
    /// The first call in a process with several threads may take some 10 ms: the kernel waits until each of them has been
    /// scheduled. With a single thread it takes a microsecond; see [`prepare`](Self::prepare).
    pub fn new() -> Self {
        static REGISTERED: PerProcess<OnceLock<bool>> = PerProcess::new();
        Self { is_lopsided: *REGISTERED.get().get_or_init(imp::register) }
    }

    /// Returns a pair of `SeqCst` fences, for code that need not be ordered against the fences of the process.
    pub const fn full() -> Self {
        Self { is_lopsided: false }
    }

    /// Does the work of the first [`new`](Self::new) while it takes a microsecond, so while the process has a single thread.
    ///
    /// ```
    /// brigade_sync::AsymmetricFence::prepare();
    /// ```
    pub fn prepare() {
        if imp::has_one_thread() {
            Self::new();
        }
    }

    /// The frequent side.
    #[inline(always)]
    pub fn light(self) {
        if self.is_lopsided {
            core::sync::atomic::compiler_fence(Ordering::SeqCst);
            step();
        } else {
            full();
        }
    }

    /// The rare side: takes some microseconds. Returns `false` if the system call has failed, which happens only if it was
    /// forbidden after [`new`](Self::new). Then this was an ordinary fence, not ordered against a light fence.
    #[must_use]
    pub fn heavy(self) -> bool {
        crate::atomic::fence(crate::atomic::Ordering::SeqCst);
        let is_ordered = !self.is_lopsided || imp::barrier();
        if !is_ordered {
            // Ordering: Relaxed: it publishes nothing.
            FAILED.store(true, Ordering::Relaxed);
        }
        is_ordered
    }

    /// Whether a heavy fence has failed in this process, or in a process it descends from by forks. Then both sides need ordinary
    /// fences from now on.
    ///
    /// ```
    /// use brigade_sync::AsymmetricFence;
    /// assert!(AsymmetricFence::new().heavy() && !AsymmetricFence::has_failed());
    /// ```
    #[inline]
    pub fn has_failed() -> bool {
        // Ordering: Relaxed, as in `heavy`.
        FAILED.load(Ordering::Relaxed)
    }
}

/// A fence without the system call, out of line: the code around a light fence is the product.
#[cold]
#[inline(never)]
fn full() {
    crate::atomic::fence(crate::atomic::Ordering::SeqCst);
}

#[cfg(all(target_os = "linux", not(miri), not(any(brigade_loom, brigade_seeded))))]
mod imp {
    use core::ffi::c_int;
    use std::os::unix::fs::MetadataExt;

    use crate::linux;

    /// Whether the calling thread is the only thread; `false` if unknown.
    pub(super) fn has_one_thread() -> bool {
        // A folder has a link from its name, a link from itself, and a link from each folder in it.
        std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == 3)
    }

    fn membarrier(command: c_int) -> bool {
        // SAFETY: the call has three integer arguments and no effect on memory.
        unsafe { linux::syscall(linux::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Prepares the process for [`barrier`]; `false` if the kernel can't.
    pub(super) fn register() -> bool {
        membarrier(linux::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && barrier()
    }

    /// Makes each running thread of this process pass a fence.
    pub(super) fn barrier() -> bool {
        membarrier(linux::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }
}

/// Systems without the call, and the model checker, which does not know it.
#[cfg(not(all(target_os = "linux", not(miri), not(any(brigade_loom, brigade_seeded)))))]
mod imp {
    pub(super) fn has_one_thread() -> bool {
        false
    }

    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn barrier() -> bool {
        false
    }
}
