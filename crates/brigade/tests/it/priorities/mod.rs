//! Classes of jobs: which runs first, how long the others wait, and what has which class.

mod at_once;
mod bounded;
mod inheritance;
mod mixed;
mod order;
mod raised;
mod waits;

use std::sync::mpsc::Sender;

use brigade::Priority;

const CLASSES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

/// A job that sends what a closure returns.
fn sends<T: Send + 'static>(
    to: &Sender<T>,
    what: impl FnOnce() -> T + Send + 'static,
) -> impl FnOnce() + Send + 'static {
    let to = to.clone();
    move || to.send(what()).unwrap()
}
