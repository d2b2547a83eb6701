//! Boxes whose memory a thread keeps for its next ones.
//!
//! A closure that does not fit into its job is in a box: allocated where the job is made, freed where it runs. Of a job of a scope that was a
//! third of all instructions. So a thread keeps the memory of some boxes that it has freed. Memory that flows one way, as from a submitter to
//! workers, is allocated and freed each time.
//!
//! **Block rule.** A block, memory of the layout of [`Block`] from the global allocator, has one owner: a box, or the list of a thread. Its
//! content is initialized only while a box owns it.

use core::cell::Cell;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};

use brigade_sync::Defer;

/// The size of a block. The jobs of `fork-join --program nqueens-scope` capture 32 bytes: it takes 0.8 of the time by blocks.
const SIZE: usize = 64;

/// How many blocks a thread keeps: 4 KiB, so 1 MiB in a pool of 256 threads.
const MOST: usize = 64;

/// Memory that is in a list.
#[repr(C, align(16))]
struct Block {
    next: *mut Block,
    rest: MaybeUninit<[u8; SIZE - size_of::<*mut Block>()]>,
}

/// The blocks that a thread keeps, until it ends.
struct Spares {
    first: Cell<*mut Block>,
    count: Cell<usize>,
}

brigade_sync::unmodelled::thread_local! {
    static SPARES: Spares = const { Spares { first: Cell::new(ptr::null_mut()), count: Cell::new(0) } };
}

impl Spares {
    #[inline(always)]
    fn take(&self) -> Option<NonNull<Block>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: Block rule: it is the list's, which has written the pointer in it.
        self.first.set(unsafe { (*first.as_ptr()).next });
        self.count.set(self.count.get() - 1);
        Some(first)
    }

    /// Takes a block, which must be the caller's; `false` if there are enough.
    #[inline(always)]
    fn put(&self, block: NonNull<Block>) -> bool {
        let has_room = self.count.get() < MOST;
        if has_room {
            // SAFETY: Block rule: nothing is in it any more. The pointer is its first field.
            unsafe { block.cast::<*mut Block>().write(self.first.get()) };
            self.first.set(block.as_ptr());
            self.count.set(self.count.get() + 1);
        }
        has_room
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        while let Some(block) = self.take() {
            free(block);
        }
    }
}

#[cold]
#[inline(never)]
fn allocate() -> NonNull<Block> {
    NonNull::from(Box::leak(Box::<Block>::new_uninit())).cast()
}

#[cold]
#[inline(never)]
fn free(block: NonNull<Block>) {
    // SAFETY: Block rule: it is the caller's, who forgets it.
    drop(unsafe { Box::from_raw(block.as_ptr().cast::<MaybeUninit<Block>>()) });
}

/// A box, in a block if it fits.
pub(crate) struct Boxed<T>(NonNull<T>);

// SAFETY: it owns its content, as a box does.
unsafe impl<T: Send> Send for Boxed<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Boxed<T> {}

impl<T> Boxed<T> {
    const FITS: bool = size_of::<T>() <= SIZE && align_of::<T>() <= align_of::<Block>();

    #[inline(always)]
    pub(crate) fn new(content: T) -> Self {
        if const { !Self::FITS } {
            return Self(NonNull::from(Box::leak(Box::new(content))));
        }
        // A thread that ends keeps none.
        let block = SPARES.try_with(Spares::take).ok().flatten().unwrap_or_else(allocate).cast();
        // SAFETY: Block rule; the content fits.
        unsafe { block.write(content) };
        Self(block)
    }

    /// The content.
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        // SAFETY: it owns its content.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn into_inner(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: it owns its content, which nothing reads again.
        let content = unsafe { this.0.read() };
        // SAFETY: the content has been moved out.
        unsafe { this.give_back() };
        content
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// Once, at the end of this, whose content must have been moved out or dropped.
    #[inline(always)]
    unsafe fn give_back(&self) {
        if const { !Self::FITS } {
            // SAFETY: `new` has made it from a box.
            return drop(unsafe { Box::from_raw(self.0.as_ptr().cast::<MaybeUninit<T>>()) });
        }
        let block = self.0.cast();
        if !SPARES.try_with(|spares| spares.put(block)).unwrap_or(false) {
            free(block);
        }
    }
}

impl<T> Drop for Boxed<T> {
    fn drop(&mut self) {
        let content = self.0.as_ptr();
        // SAFETY: the content has been dropped by then, or its drop has panicked.
        let _end = Defer(|| unsafe { self.give_back() });
        // SAFETY: it owns its content, which is dropped once.
        unsafe { content.drop_in_place() };
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn count() -> usize {
        SPARES.with(|spares| spares.count.get())
    }

    #[test]
    fn a_thread_keeps_what_it_frees_up_to_a_limit() {
        let boxes = |many| (0..many).map(|number| Boxed::new([number; 5])).collect::<Vec<_>>();
        let work = move || {
            for (number, other) in boxes(MOST + 9).into_iter().enumerate() {
                assert_eq!(other.get()[4], number);
                if number % 2 == 0 {
                    drop(other)
                } else {
                    assert_eq!(other.into_inner()[0], number)
                }
            }
            assert_eq!(count(), MOST);
            let kept = boxes(3);
            assert_eq!(count(), MOST - 3);
            kept
        };
        let moved = thread::spawn(work).join().unwrap();
        drop(moved);
        assert_eq!(count(), 3, "the memory belongs to the thread that frees it");
    }

    #[test]
    fn what_does_not_fit_is_a_box() {
        #[repr(align(64))]
        struct Aligned(u8);
        let before = count();
        assert_eq!(Boxed::new(Aligned(7)).into_inner().0, 7);
        assert_eq!(Boxed::new([1_u8; SIZE + 1]).get()[SIZE], 1);
        assert_eq!(count(), before);
    }

    #[test]
    fn the_content_is_dropped_once_and_a_panic_of_it_frees_the_block() {
        struct Panics(#[expect(dead_code, reason = "it is dropped")] Arc<()>);
        impl Drop for Panics {
            fn drop(&mut self) {
                panic::resume_unwind(Box::new(()));
            }
        }
        let (counted, before) = (Arc::new(()), count());
        drop(Boxed::new(counted.clone()));
        let held = Boxed::new(counted.clone()).into_inner();
        assert_eq!(Arc::strong_count(&counted), 2);
        drop(held);
        let panics = Boxed::new(Panics(counted.clone()));
        assert!(panic::catch_unwind(AssertUnwindSafe(|| drop(panics))).is_err());
        assert_eq!(Arc::strong_count(&counted), 1);
        assert_eq!(count(), before.max(1));
    }
}
