//! A value that references can't reach.
//!
//! **Exclusive rule.** A shared reference to an [`Exclusive`] gives no access to the value in it, except
//! for [`downcast_ref`](Exclusive::downcast_ref), which gives access to a value of a `Sync` type.

#[cfg(feature = "std")]
use core::any::Any;

/// A value that is always `Sync`, since only its owner can use it.
///
/// ```
/// use brigade_sync::Exclusive;
/// use std::cell::Cell;
/// fn shared<T: Sync>(value: T) -> T {
///     value
/// }
/// let cell = shared(Exclusive::new(Cell::new(41)));
/// assert_eq!(cell.into_inner().get() + 1, 42);
/// ```
pub struct Exclusive<T>(T);

// SAFETY: Exclusive rule.
unsafe impl<T> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

#[cfg(feature = "std")]
impl Exclusive<Box<dyn Any + Send>> {
    /// Returns a reference to the value in the box if it is a `T`.
    ///
    /// ```
    /// use brigade_sync::Exclusive;
    /// use std::any::Any;
    /// let text: Box<dyn Any + Send> = Box::new("text");
    /// let text = Exclusive::new(text);
    /// assert_eq!(text.downcast_ref::<&str>(), Some(&"text"));
    /// assert_eq!(text.downcast_ref::<String>(), None);
    /// ```
    pub fn downcast_ref<T: Any + Sync>(&self) -> Option<&T> {
        // `type_id`, which this calls on a shared reference, looks at the type and not at the value.
        (*self.0).downcast_ref()
    }
}
