//! The traits of types that show none of their fields.

/// Implements `Debug`, which prints the result of a method if one is given, and unwind safety: a panic in a job leaves
/// no value of the type half changed.
macro_rules! opaque {
    ($type:ident $(<$T:ident>)? $(: $method:ident)?) => {
        impl $(<$T>)? core::fmt::Debug for $type $(<$T>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut debug = f.debug_struct(stringify!($type));
                $(debug.field(stringify!($method), &self.$method());)?
                debug.finish_non_exhaustive()
            }
        }

        impl $(<$T>)? std::panic::UnwindSafe for $type $(<$T>)? {}
        impl $(<$T>)? std::panic::RefUnwindSafe for $type $(<$T>)? {}
    };
}

pub(crate) use opaque;
