//! Large closures.

/// Evaluates an expression that submits a closure: with the closure, or with a box of it if it is [large](brigade_task::is_large).
///
/// Each call on the way to a queue may move the closure, and needs stack for that. So the box is made in the first of them. With
/// `unboxing` the expression returns a closure that is rejected, which is taken out of its box.
macro_rules! box_if_large {
    ($closure:ident: $F:ty => unboxing $submit:expr) => {
        match const { brigade_task::is_large::<$F>() } {
            true => {
                let $closure = Box::new($closure);
                $submit.map_err(|rejected| rejected.map(|closure| *closure))
            }
            false => $submit,
        }
    };
    ($closure:ident: $F:ty => $submit:expr) => {
        match const { brigade_task::is_large::<$F>() } {
            true => {
                let $closure = Box::new($closure);
                $submit
            }
            false => $submit,
        }
    };
}

pub(crate) use box_if_large;
