//! The bounds of what a pool runs, each with an error message that names the call for the other.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_sync::call_user;

/// A future, as `spawn` takes it. Every future implements it, and nothing else does.
///
/// A bound by [`Future`] itself has an error message of the compiler's, which can't name the call for a closure:
///
/// ```compile_fail,E0277
/// brigade::spawn(|| 42); // Note: to run a closure, write `execute(closure)`, or `submit(closure)` for its result.
/// ```
/// ```
/// assert_eq!(brigade::submit(|| 42).join()?, 42);
/// assert_eq!(brigade::spawn(async { 42 }).join()?, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a future",
    label = "not a future",
    note = "to run a closure, write `execute(closure)`, or `submit(closure)` for its result"
)]
pub trait Spawnable {
    /// The output of the future.
    type Output;

    /// Polls the future.
    #[doc(hidden)]
    fn poll_spawned(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output>;
}

// Otherwise the message would be about `Future`, which a closure does not implement.
#[diagnostic::do_not_recommend]
impl<F: Future + ?Sized> Spawnable for F {
    type Output = F::Output;

    fn poll_spawned(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        call_user(|| self.poll(context))
    }
}

/// A closure without arguments, as `execute` and `submit` take it. Every [`FnOnce`] without arguments implements it, and
/// nothing else does.
///
/// The compiler's own advice for a future is to wrap it in a closure, whose result would be a future that nothing
/// polls:
///
/// ```compile_fail,E0277
/// brigade::submit(async { 42 }); // Note: to run a future, write `spawn(future)`.
/// ```
/// ```
/// assert_eq!(brigade::spawn(async { 42 }).join()?, 42);
/// assert_eq!(brigade::submit(|| 42).join()?, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a closure without arguments",
    label = "not a closure without arguments",
    note = "to run a future, write `spawn(future)`: a closure that returns one never runs it"
)]
pub trait Callable<T = ()>: FnOnce() -> T {}

// Otherwise the message would be about `FnOnce`.
#[diagnostic::do_not_recommend]
impl<F: FnOnce() -> T, T> Callable<T> for F {}
