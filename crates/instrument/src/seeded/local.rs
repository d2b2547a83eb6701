//! Thread-locals of the threads of a run.

use core::ops::Deref;

use shuttle::thread;

use super::record;

/// A thread-local, which can be used in a run only.
#[derive(Debug)]
pub struct LocalKey<T: 'static>(&'static thread::LocalKey<T>);

impl<T> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(key: &'static thread::LocalKey<T>) -> Self {
        Self(key)
    }
}

impl<T> Deref for LocalKey<T> {
    type Target = thread::LocalKey<T>;

    fn deref(&self) -> &thread::LocalKey<T> {
        // It panics outside of a run.
        record::run();
        self.0
    }
}

#[doc(hidden)]
pub use shuttle::thread_local as declare;

/// Declares thread-locals.
#[doc(hidden)]
#[macro_export]
macro_rules! seeded_thread_local {
    ($($(#[$attribute:meta])* $visible:vis static $name:ident: $type:ty = const { $value:expr };)*) => {$(
        $(#[$attribute])*
        $visible static $name: $crate::seeded::local::LocalKey<$type> = {
            $crate::seeded::local::declare! { static KEY: $type = const { $value } }
            $crate::seeded::local::LocalKey::new(&KEY)
        };
    )*};
}

pub use seeded_thread_local as thread_local;
