//! Padding against false sharing.

use core::ops::{Deref, DerefMut};

/// Aligns a value to separate cache lines, so writes to neighbours do not slow it down.
///
/// 128 bytes: x86-64 fetches lines in pairs, and big ARM cores have lines of this size
/// (crossbeam-utils, `CachePadded`, has the survey).
///
/// ```
/// use brigade_sync::CachePadded;
/// let pair = [CachePadded::new(1_u8), CachePadded::new(2_u8)];
/// assert_eq!(std::mem::size_of_val(&pair), 256);
/// assert_eq!(*pair[0] + *pair[1], 3);
/// ```
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Creates a padded value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
