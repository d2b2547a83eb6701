//! A thread-local reference, valid for the length of a call.

use core::cell::Cell;
use core::ptr;

use crate::unmodelled::LocalKey;

/// The storage of a [`ScopedKey`], for each thread.
///
/// **Scope rule.** The pointer is non-null only while [`ScopedKey::set`] is on the stack of this thread with the `&T`
/// behind the pointer, without a [`ScopedKey::hide`] above it. A guard restores the former pointer before `set` returns or unwinds.
pub struct ScopedSlot<T>(Cell<*const T>);

impl<T> Default for ScopedSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ScopedSlot<T> {
    /// Creates a slot without a reference.
    pub const fn new() -> Self {
        Self(Cell::new(ptr::null()))
    }
}

/// The key of a thread-local reference to a `T`, declared by [`scoped_thread_local!`](crate::scoped_thread_local).
#[derive(Clone, Copy)]
pub struct ScopedKey<T: 'static>(&'static LocalKey<ScopedSlot<T>>);

/// Declares a [`ScopedKey`].
///
/// ```
/// use std::cell::Cell;
/// brigade_sync::scoped_thread_local!(static LAMP: Cell<u32>);
/// assert!(LAMP.with(|lamp| lamp.is_none()));
/// LAMP.set(&Cell::new(7), || {
///     assert_eq!(LAMP.with(|lamp| lamp.map(Cell::get)), Some(7));
/// });
/// assert!(LAMP.with(|lamp| lamp.is_none()));
/// ```
#[macro_export]
macro_rules! scoped_thread_local {
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $visibility const $name: $crate::ScopedKey<$type> = {
            $crate::unmodelled::thread_local! {
                // No destructor: it is accessible until the thread has ended.
                static SLOT: $crate::ScopedSlot<$type> = const { $crate::ScopedSlot::new() };
            }
            $crate::ScopedKey::new(&SLOT)
        };
    };
}

impl<T: 'static> ScopedKey<T> {
    /// Creates the key of a slot.
    pub const fn new(slot: &'static LocalKey<ScopedSlot<T>>) -> Self {
        Self(slot)
    }

    /// Sets this thread's reference to `value` while `call` runs, and restores the former reference afterwards.
    pub fn set<R>(self, value: &T, call: impl FnOnce() -> R) -> R {
        self.set_to(ptr::from_ref(value), call)
    }

    /// Removes this thread's reference while `call` runs, and restores it afterwards.
    pub fn hide<R>(self, call: impl FnOnce() -> R) -> R {
        self.set_to(ptr::null(), call)
    }

    /// The pointer must be null, or to a value that outlives the call.
    fn set_to<R>(self, value: *const T, call: impl FnOnce() -> R) -> R {
        /// Restores the former pointer, on return and on unwinding.
        struct Restore<T: 'static>(&'static LocalKey<ScopedSlot<T>>, *const T);
        impl<T> Drop for Restore<T> {
            fn drop(&mut self) {
                self.0.with(|slot| slot.0.set(self.1));
            }
        }
        let former = self.replace(value);
        let _restore = Restore(self.0, former);
        call()
    }

    /// Not in the callers, which are generic: there is one copy a key.
    #[inline]
    fn replace(&self, value: *const T) -> *const T {
        self.0.with(|slot| slot.0.replace(value))
    }

    /// As [`replace`](Self::replace).
    #[inline(always)]
    fn pointer(&self) -> *const T {
        self.0.with(|slot| slot.0.get())
    }

    /// Removes this thread's reference, until the next `set` or the end of a nested `set`.
    ///
    /// Only writes a thread-local, which the child of a fork may do.
    pub fn clear(self) {
        self.0.with(|slot| slot.0.set(ptr::null()));
    }

    /// Calls `call` with this thread's reference, if any.
    #[inline(always)]
    pub fn with<R>(self, call: impl FnOnce(Option<&T>) -> R) -> R {
        // SAFETY: Scope rule; `set` is on this stack below, so its `&T` outlives `call`.
        call(unsafe { self.pointer().as_ref() })
    }
    /// Calls a method of `visitor` with this thread's reference, or the other method if there is none.
    ///
    /// ```
    /// use brigade_sync::Visit;
    /// brigade_sync::scoped_thread_local!(static LAMP: u32);
    /// struct Read;
    /// impl Visit<u32> for Read {
    ///     type Output = u32;
    ///     fn present(self, lamp: &u32) -> u32 {
    ///         *lamp
    ///     }
    ///     fn absent(self) -> u32 {
    ///         0
    ///     }
    /// }
    /// assert_eq!(LAMP.set(&7, || LAMP.visit(Read)), 7);
    /// assert_eq!(LAMP.visit(Read), 0);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn visit<V: Visit<T>>(self, visitor: V) -> V::Output {
        // SAFETY: Scope rule; `set` is on this stack below, so its `&T` outlives `visit`.
        match unsafe { self.pointer().as_ref() } {
            Some(reference) => visitor.present(reference),
            None => visitor.absent(),
        }
    }
}

/// The two continuations of [`ScopedKey::visit`]. Unlike a closure, it may be `#[track_caller]`.
pub trait Visit<T> {
    /// The result of either method.
    type Output;

    /// Called with the thread's reference.
    fn present(self, reference: &T) -> Self::Output;

    /// Called if the thread has no reference. A panic names the line of the call of [`ScopedKey::visit`].
    #[track_caller]
    fn absent(self) -> Self::Output;
}
