//! How a process learns that it is the child of a fork.
//!
//! A forked child has one thread, a copy of the one that forked, and copies of whatever the others had in hand: locks that
//! nobody opens any more, values half written. What a parent's thread may have been busy with is told by its
//! [`generation`] and left alone; [`PerProcess`] holds what a child must have anew.
//!
//! Noticed is the `fork` of the C library, which calls what `pthread_atfork` registers. A child that came about otherwise
//! (`vfork`, the bare system call) is not noticed; all that such a child may do is call `exec` or `_exit`. Where there is
//! no fork, the generation is always 0.
//!
//! Not here: handlers that lock everything before a fork, so that the child finds it whole. They would have to take every
//! lock of every pool, in one order with the locks of user code, and whoever forks would wait for them.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::io;

/// Of the standard library, also in a model: it is no part of one, and a model has no statics.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Tells a process from the one that it was forked from: a number that the child does not share with any ancestor.
///
/// 0 until the first fork that is [watched](watch). Wraps around, after 2^32 generations.
#[inline(always)]
pub fn generation() -> u32 {
    // Ordering: Relaxed: it changes while there is one thread only.
    GENERATION.load(Ordering::Relaxed)
}

/// What the one thread of a forked child does before `fork` returns there.
pub trait OnChild {
    /// Called in the child, by the thread that forked. It may write thread-locals that need no destructor, and atomics; it
    /// must not allocate, take a lock, or panic, which ends the child. Doing it twice must be as good as once.
    fn on_child();
}

/// Has forks of this process noticed from now on, in its children and theirs, and `C` called in them.
///
/// Once is enough; more calls cost a load each. One type per program: of a second one nothing is called.
///
/// ```
/// use brigade_sync::fork::{self, OnChild};
/// struct Nothing;
/// impl OnChild for Nothing {
///     fn on_child() {}
/// }
/// fork::watch::<Nothing>()?;
/// assert_eq!(fork::generation(), 0, "nobody has forked");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`io::ErrorKind::OutOfMemory`] if the system has no memory to note it.
pub fn watch<C: OnChild>() -> io::Result<()> {
    imp::watch::<C>()
}

/// Writes a line to stderr and aborts the process.
///
/// Takes no lock that another thread may have held at a fork, as those of [`std::io::stderr`] and of a panic.
pub fn abort(reason: &str) -> ! {
    imp::tell(reason);
    std::process::abort()
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

    // Each C library of a Unix has it; the crate libc names it for some of them only.
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<Handler>,
            parent: Option<Handler>,
            child: Option<Handler>,
        ) -> c_int;
    }

    /// The first thing in a child.
    extern "C" fn child<C: OnChild>() {
        // Ordering: Relaxed, as in `generation`.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        C::on_child();
    }

    pub(super) fn watch<C: OnChild>() -> io::Result<()> {
        /// Whether it has been registered. No `Once`: a child that was forked inside one would find it locked for ever.
        static WATCHES: AtomicBool = AtomicBool::new(false);
        // Ordering: Acquire and Release: whoever sees it set may fork.
        if WATCHES.load(Ordering::Acquire) {
            return Ok(());
        }
        // Threads that come here at once each register it; then a fork counts for as many generations.
        // SAFETY: it may be called at any time with functions that stay, and in a child `child` does what may be done there.
        match unsafe { pthread_atfork(None, None, Some(child::<C>)) } {
            0 => {
                WATCHES.store(true, Ordering::Release);
                Ok(())
            }
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    pub(super) fn tell(reason: &str) {
        // SAFETY: it is not closed here; if it is no file, or not stderr any more, what is written goes astray.
        let stderr = unsafe { File::from_raw_fd(2) };
        let _ = writeln!(&*ManuallyDrop::new(stderr), "{reason}");
    }
}

#[cfg(not(all(unix, not(miri))))]
mod imp {
    use std::io;

    use super::OnChild;

    /// Nobody forks.
    pub(super) fn watch<C: OnChild>() -> io::Result<()> {
        Ok(())
    }

    pub(super) fn tell(reason: &str) {
        eprintln!("{reason}");
    }
}

/// A value of which each process has its own: a child does not get to see what its parent's threads were doing with theirs.
///
/// For statics. No lock is taken to make one, so a fork at any moment leaves the child able to.
///
/// **Chain rule.** What `newest` points to, and what follows it, came from a `Box` that is never freed or changed.
///
/// ```
/// use brigade_sync::fork::PerProcess;
/// static NAMES: PerProcess<brigade_sync::Mutex<Vec<&str>>> = PerProcess::new();
/// NAMES.get().lock().push("parent");
/// assert_eq!(*NAMES.get().lock(), ["parent"]); // In a forked child it would be empty.
/// assert_eq!(NAMES.inherited().count(), 0);
/// ```
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    /// That of the youngest process that made one; null before anybody did.
    newest: AtomicPtr<Node<T>>,
}

#[derive(Debug)]
struct Node<T: 'static> {
    /// Whose it is.
    generation: u32,
    value: T,
    /// Those of the ancestors.
    former: Option<&'static Self>,
}

// SAFETY: it hands out shared references to values that any thread may have made.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}

impl<T> PerProcess<T> {
    /// Makes one of which no process has a value yet.
    pub const fn new() -> Self {
        Self { newest: AtomicPtr::new(ptr::null_mut()) }
    }

    fn newest(&self) -> Option<&'static Node<T>> {
        // Ordering: Acquire pairs with the Release in `make`.
        let newest = self.newest.load(Ordering::Acquire);
        // SAFETY: Chain rule.
        unsafe { newest.as_ref() }
    }

    /// This process's value, if it has one.
    #[inline]
    pub fn existing(&self) -> Option<&'static T> {
        let newest = self.newest()?;
        (newest.generation == generation()).then_some(&newest.value)
    }

    /// This process's value, made now if there is none.
    #[inline]
    pub fn get(&self) -> &'static T
    where
        T: Default,
    {
        self.existing().unwrap_or_else(|| self.make())
    }

    #[cold]
    fn make(&self) -> &'static T
    where
        T: Default,
    {
        let former = self.newest();
        if let Some(own) = former.filter(|node| node.generation == generation()) {
            // Another thread was faster.
            return &own.value;
        }
        let node = Node { generation: generation(), value: T::default(), former };
        let node = Box::into_raw(Box::new(node));
        let expected = former.map_or(ptr::null_mut(), |former| ptr::from_ref(former).cast_mut());
        // Ordering: Release publishes the node; Acquire on failure, for that of who was first.
        let made =
            self.newest.compare_exchange(expected, node, Ordering::Release, Ordering::Acquire);
        let newest = match made {
            Ok(_) => node,
            Err(first) => {
                // SAFETY: it came from the box above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(node) });
                first
            }
        };
        // SAFETY: Chain rule. Whoever was first is of this process: no other writes here.
        unsafe { &(*newest).value }
    }

    /// The values of the processes that this one descends from, the closest first: as they were at the fork, so only what
    /// can be read without a lock is of use.
    pub fn inherited(&self) -> impl Iterator<Item = &'static T> + use<T> {
        let own = generation();
        let all = core::iter::successors(self.newest(), |node| node.former);
        all.filter(move |node| node.generation != own).map(|node| &node.value)
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
    fn threads_that_ask_at_once_get_the_same_value() {
        // Static, as they are made to be: their values stay.
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
