//! A closure called at the end of a scope.

/// Calls a closure when dropped, on return and on unwinding.
///
/// ```
/// let count = std::cell::Cell::new(0);
/// {
///     let _count = brigade_sync::Defer(|| count.set(1));
///     assert_eq!(count.get(), 0);
/// }
/// assert_eq!(count.get(), 1);
/// ```
#[must_use]
pub struct Defer<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Defer<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}
