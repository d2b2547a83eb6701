//! A `Debug` that shows no fields.

/// Implements `Debug` for a type, which prints the results of methods; the generic parameters stand before it.
///
/// ```
/// struct Secret<T>(T);
/// impl<T> Secret<T> {
///     fn len(&self) -> usize {
///         size_of::<T>()
///     }
/// }
/// brigade_sync::opaque!([T] Secret<T>: len);
/// assert_eq!(format!("{:?}", Secret(7_u8)), "Secret { len: 1, .. }");
/// ```
#[macro_export]
macro_rules! opaque {
    ($([$($generics:tt)*])? $type:ident $(<$($argument:tt),*>)? $(: $($method:ident),*)?) => {
        impl $(<$($generics)*>)? ::core::fmt::Debug for $type $(<$($argument),*>)? {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut debug = f.debug_struct(stringify!($type));
                $($(debug.field(stringify!($method), &self.$method());)*)?
                debug.finish_non_exhaustive()
            }
        }
    };
}
