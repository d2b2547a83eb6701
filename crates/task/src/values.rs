//! The values that follow a job.

use core::any::Any;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::contain::drop_contained;

/// A value of any type.
type Value = Arc<dyn Any + Send + Sync>;

/// Values that follow a job, at most one of a type. A clone shares them.
///
/// They are dropped with the last clone, and a panic of their destructors is contained.
///
/// ```
/// use brigade_task::Values;
/// let outer = Values::default().with("a word").with(1);
/// let inner = Values::default().with(2).over(outer);
/// assert_eq!((inner.get().as_deref(), inner.get().as_deref()), (Some(&2), Some(&"a word")));
/// assert_eq!(inner.get::<char>(), None);
/// ```
#[derive(Clone, Default)]
pub struct Values(Option<Arc<List>>);

struct List(Vec<Value>);

// A job sees a shared reference to a value that other jobs use at the same time, as it sees a static.
impl UnwindSafe for Values {}
impl RefUnwindSafe for Values {}

impl Values {
    /// Whether there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Adds a value, in place of a value of the same type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        Self(Some(Arc::new(List(vec![Arc::new(value)])))).over(self)
    }

    /// Adds the values of `outer` whose types these values have not.
    #[must_use]
    pub fn over(self, outer: Self) -> Self {
        let (own, outer) = match (self.0, outer.0) {
            (Some(own), Some(outer)) if !Arc::ptr_eq(&own, &outer) => (own, outer),
            (own, outer) => return Self(own.or(outer)),
        };
        let mut all = own.0.clone();
        for value in &outer.0 {
            // Of the value: an `Arc` has a type, too.
            let id = (**value).type_id();
            if own.0.iter().all(|own| (**own).type_id() != id) {
                all.push(value.clone());
            }
        }
        Self(Some(Arc::new(List(all))))
    }

    /// Returns the value of a type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let values = self.0.as_ref()?;
        let value = values.0.iter().find(|value| value.is::<T>())?;
        value.clone().downcast().ok()
    }
}

impl Drop for List {
    fn drop(&mut self) {
        for value in self.0.drain(..) {
            drop_contained(value);
        }
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Values").field(&self.0.as_ref().map_or(0, |values| values.0.len())).finish()
    }
}
