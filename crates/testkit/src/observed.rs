//! The system's allocator, observed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// The system's allocator, for a test binary that counts or limits allocations.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use brigade_testkit::Observed;
///
/// static CALLS: AtomicUsize = AtomicUsize::new(0);
///
/// fn count(_bytes: usize) -> bool {
///     CALLS.fetch_add(1, Ordering::Relaxed);
///     true
/// }
///
/// #[global_allocator]
/// static ALLOCATOR: Observed = Observed::new(count, |_| ());
///
/// let before = CALLS.load(Ordering::Relaxed);
/// drop(Box::new([0; 100]));
/// assert!(CALLS.load(Ordering::Relaxed) > before);
/// ```
pub struct Observed {
    allocates: fn(usize) -> bool,
    frees: fn(usize),
}

impl Observed {
    /// Calls `allocates` with the number of bytes before an allocation, which fails if the call returns `false`, and `frees`
    /// with the freed number. Neither may allocate.
    pub const fn new(allocates: fn(usize) -> bool, frees: fn(usize)) -> Self {
        Self { allocates, frees }
    }
}

// SAFETY: every call goes to the system's allocator with the arguments it came with, or returns null for lack of memory.
unsafe impl GlobalAlloc for Observed {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !(self.allocates)(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller keeps the rules of `alloc`, which are the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        (self.frees)(layout.size());
        // SAFETY: the caller keeps the rules of `dealloc`; `alloc` above used the same allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}
