//! Large closures.

/// Evaluates an expression that schedules a closure, or a box of the closure if it is
/// [large](brigade_task::is_large): a timer may outlive its closure, and the box is freed with the closure. The
/// expression returns a rejected closure, which is taken out of the box.
///
/// Not for the other verbs, which submit any large closure as a box of the same type: both arms cost compile time for each
/// closure of a program.
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
