//! The traits of types that show none of their fields.

/// Implements `Debug`, which prints the result of a method if one is given, and unwind safety: a panic in a job leaves
/// no value of the type half changed.
macro_rules! opaque {
    ($type:ident $(<$T:ident>)? $(: $method:ident)?) => {
        brigade_sync::opaque!($([$T])? $type $(<$T>)? $(: $method)?);
        impl $(<$T>)? std::panic::UnwindSafe for $type $(<$T>)? {}
        impl $(<$T>)? std::panic::RefUnwindSafe for $type $(<$T>)? {}
    };
}

pub(crate) use opaque;
