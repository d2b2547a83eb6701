//! Detects a forked child.
//!
//! A forked child has a single thread, a copy of the forking thread. Memory is as the other threads left it: with locks
//! never to be released and values half written. [`generation`] identifies the values that a thread of the parent may
//! have been changing, so the child leaves them alone. [`PerProcess`] holds values that a child must create anew.
//!
//! Only the C library's `fork` is detected: it calls the handlers registered by `pthread_atfork`. A child created
//! otherwise (`vfork`, the bare system call) is not detected; it may only call `exec` or `_exit`. Where there is no
//! fork, the generation is always 0.
//!
//! Rejected: handlers that take every lock before a fork, so the child finds all data consistent. They would have to take
//! every lock of every pool, in an order that includes the locks of user code, and every fork would wait for them.

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::io;

use crate::CachePadded;

/// `core`'s atomic also under the model checker: it is not part of a model, and models have no statics.
///
/// Every submission reads it, and the linker may put beside it a counter that threads write often.
static GENERATION: CachePadded<AtomicU32> = CachePadded::new(AtomicU32::new(0));

/// Returns a number that differs from the numbers of all ancestors of this process.
///
/// It is 0 until the first [watched](watch) fork, and wraps around after 2^32 generations.
#[inline(always)]
pub fn generation() -> u32 {
    // A run is as a process: its threads, which no other run has, end with it.
    #[cfg(brigade_seeded)]
    return brigade_instrument::seeded::run();
    // Ordering: Relaxed: it only changes while the process has a single thread.
    #[cfg(not(brigade_seeded))]
    GENERATION.load(Ordering::Relaxed)
}

/// An action of a forked child's only thread, before `fork` returns in the child.
pub trait OnChild {
    /// Runs in the child, on the forking thread.
    ///
    /// It may write atomics, and thread-locals without a destructor. It must not allocate, take a lock or panic, which
    /// would end the child. A second call must have no further effect.
    fn on_child();
}

/// Detects forks of this process and its descendants from now on, and calls `C` in each child.
///
/// Further calls cost a load each and change nothing. A program uses a single type: a second type is never called.
///
/// ```
/// use brigade_sync::fork::{self, OnChild};
/// struct Nothing;
/// impl OnChild for Nothing {
///     fn on_child() {}
/// }
/// fork::watch::<Nothing>()?;
/// assert_eq!(fork::generation(), 0, "no fork yet");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`io::ErrorKind::OutOfMemory`] if the system has no memory for the registration.
pub fn watch<C: OnChild>() -> io::Result<()> {
    imp::watch::<C>()
}

/// Writes a line to stderr and aborts the process.
///
/// Takes no lock that may have been held at a fork, unlike [`std::io::stderr`] and a panic.
pub fn abort(reason: &str) -> ! {
    write_stderr(reason);
    std::process::abort()
}

/// Writes a line to stderr; takes no lock, as [`abort`].
pub(crate) fn write_stderr(line: &str) {
    imp::write_stderr(line);
}

#[cfg(all(unix, not(miri)))]
mod imp {
    use core::ffi::c_int;
    use core::mem::ManuallyDrop;
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::FromRawFd;

    use super::{GENERATION, OnChild};

    type Handler = unsafe extern "C" fn();

    // Every Unix C library has it; the crate libc declares it only for some.
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<Handler>,
            parent: Option<Handler>,
            child: Option<Handler>,
        ) -> c_int;
    }

    /// Runs in each child before `fork` returns.
    extern "C" fn child<C: OnChild>() {
        // Ordering: Relaxed, as in `generation`.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        C::on_child();
    }

    pub(super) fn watch<C: OnChild>() -> io::Result<()> {
        /// Whether `child` has been registered. Not a `Once`: a child forked during the call would find it locked forever.
        static WATCHES: AtomicBool = AtomicBool::new(false);
        // Ordering: Acquire pairs with the Release below: a thread that sees it set may fork.
        if WATCHES.load(Ordering::Acquire) {
            return Ok(());
        }
        // Concurrent calls each register it; then a fork advances the generation by more than 1.
        // SAFETY: it may be called at any time with functions that stay loaded; `child` does only what a child may do.
        match unsafe { pthread_atfork(None, None, Some(child::<C>)) } {
            0 => {
                WATCHES.store(true, Ordering::Release);
                Ok(())
            }
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    pub(super) fn write_stderr(line: &str) {
        // SAFETY: `ManuallyDrop` keeps it open. If the descriptor is not stderr any more, the line goes elsewhere.
        let stderr = unsafe { File::from_raw_fd(2) };
        let mut stderr = &*ManuallyDrop::new(stderr);
        let _ = stderr.write_all(line.as_bytes()).and_then(|()| stderr.write_all(b"\n"));
    }
}

#[cfg(not(all(unix, not(miri))))]
mod imp {
    use std::io;

    use super::OnChild;

    /// Does nothing: there is no fork.
    pub(super) fn watch<C: OnChild>() -> io::Result<()> {
        Ok(())
    }

    pub(super) fn write_stderr(line: &str) {
        eprintln!("{line}");
    }
}

/// A value per process: a forked child does not see the parent's.
///
/// For statics. Creating the value takes no lock, so a fork at any moment leaves the child able to create another.
///
/// **Node rule.** The newest node came from a `Box` that is never freed or changed.
///
/// ```
/// use brigade_sync::fork::PerProcess;
/// static NAMES: PerProcess<brigade_sync::Mutex<Vec<&str>>> = PerProcess::new();
/// NAMES.get().lock().push("parent");
/// assert_eq!(*NAMES.get().lock(), ["parent"]); // In a forked child it would be empty.
/// ```
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    /// The value of the youngest process that has a value; null before the first.
    /// Without a type, so that it is compiled once for all values.
    newest: AtomicPtr<()>,
    value: PhantomData<fn() -> T>,
}

#[derive(Debug)]
struct Node<T> {
    /// The generation of the creating process.
    generation: u32,
    value: T,
}

// SAFETY: it hands out shared references to values created on any thread, hence `Send + Sync`.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}

impl<T> PerProcess<T> {
    /// Creates a cell without a value in any process.
    pub const fn new() -> Self {
        Self { newest: AtomicPtr::new(ptr::null_mut()), value: PhantomData }
    }

    /// Returns this process's value, if any.
    #[inline]
    pub fn existing(&self) -> Option<&'static T> {
        // Ordering: Acquire pairs with the Release in `create`.
        let newest = self.newest.load(Ordering::Acquire);
        // SAFETY: Node rule.
        match unsafe { newest.cast::<Node<T>>().as_ref() } {
            Some(node) if node.generation == generation() => Some(&node.value),
            _ => None,
        }
    }

    /// Returns this process's value, created now if there is none.
    #[inline]
    pub fn get(&self) -> &'static T
    where
        T: Default,
    {
        self.existing().unwrap_or_else(|| self.create())
    }

    #[cold]
    fn create(&self) -> &'static T
    where
        T: Default,
    {
        // Ordering: Relaxed: only compared below.
        let former = self.newest.load(Ordering::Relaxed);
        if let Some(own) = self.existing() {
            // Another thread created it first.
            return own;
        }
        let node = Node { generation: generation(), value: T::default() };
        let node = Box::into_raw(Box::new(node));
        // Ordering: Release publishes the node; Acquire on failure, for the node of the winning thread.
        let created =
            self.newest.compare_exchange(former, node.cast(), Ordering::Release, Ordering::Acquire);
        let newest = match created {
            Ok(_) => node,
            Err(first) => {
                // SAFETY: it came from the box above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(node) });
                first.cast()
            }
        };
        // SAFETY: Node rule. The winning thread belongs to this process: no other process writes this memory.
        unsafe { &(*newest).value }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn concurrent_first_calls_agree() {
        // Static, as intended: their values are never freed.
        static VALUES: [PerProcess<u8>; 50] = [const { PerProcess::new() }; 50];
        for value in &VALUES {
            let together = Barrier::new(4);
            let got: Vec<usize> = std::thread::scope(|scope| {
                let ask = || {
                    together.wait();
                    ptr::from_ref(value.get()).addr()
                };
                let asked: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                asked.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(got.iter().all(|one| *one == got[0]), "{got:?}");
        }
    }
}
