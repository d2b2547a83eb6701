//! Large closures.

/// Evaluates an expression that schedules a closure: with the closure, or with a box of it if it is [large](brigade_task::is_large). A
/// timer is kept after its closure has ended, whose box is freed then. The expression returns a closure that is rejected, which is taken
/// out of its box.
///
/// Not for the other verbs, which have a cell that does it: both arms cost each closure of a program compile time.
macro_rules! box_if_large {
    ($closure:ident: $F:ty => $submit:expr) => {
        match const { brigade_task::is_large::<$F>() } {
            true => {
                let $closure = Box::new($closure);
                $submit.map_err(|rejected| rejected.map(|closure| *closure))
            }
            false => $submit,
        }
    };
}

pub(crate) use box_if_large;
