//! A value, its registration with the operating system, and that the second never outlives the first.
//!
//! **Open rule.** The file of a [`Source`] is open while `open` is true. An [`Owned`] is made with its value inside, lends
//! it by `&` only, so that nobody can close or exchange it, and sets `open` to false, under the lock, before it gives
//! the value back or drops it. Whoever uses the file's number does so under that lock, after a look at `open`.
//!
//! **Delete rule.** What was added is deleted in the step that sets `open` to false.

use std::io;
use std::sync::Arc;

use brigade_sync::{Mutex, fork};
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Interest, Pollable, Poller};
use crate::Trigger;
use crate::readiness::Readiness;
use crate::waiting::State;

/// What the driver knows of a value: all but the value.
pub(crate) struct Source {
    /// The number of the file; see the open rule.
    file: RawFd,
    /// Who watches it.
    poller: Arc<Poller>,
    /// The process that has it watched, by its generation.
    process: u32,
    /// What makes an event of it: one that says so, and not by kind.
    trigger: Trigger,
    /// What is believed of reading and of writing.
    pub(crate) readiness: [Readiness; 2],
    /// The rest, which one thread at a time looks at.
    held: Mutex<Held>,
}

/// What is under a source's lock.
struct Held {
    /// See the open rule.
    open: bool,
    /// The key it was added with, if it was.
    key: Option<usize>,
    /// Who waits for it.
    state: State,
}

/// The way to the operating system, as long as a source is open and its lock held.
pub(crate) struct Line<'a> {
    file: BorrowedFd<'a>,
    key: usize,
    source: &'a Source,
}

impl Line<'_> {
    /// Changes what is asked.
    pub(crate) fn ask(&self, asked: Interest) -> io::Result<()> {
        self.source.poller.change(self.file, self.key, asked, self.source.trigger)
    }
}

impl Source {
    /// Whether this is the process that has it watched, and no child of it: there the kernel's part is still the parent's,
    /// and whatever is asked or taken back is so for the parent too. Whoever had the lock at the fork is not there.
    pub(crate) fn is_here(&self) -> bool {
        self.process == fork::generation()
    }

    /// Calls with the state, under the source's lock, and with the line if the file is watched.
    ///
    /// No user code may run in `call`.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State, Option<Line<'_>>) -> R) -> R {
        let mut held = self.held.lock();
        let held = &mut *held;
        let line = held.key.filter(|_| held.open).map(|key| {
            // SAFETY: Open rule; `open` is true, and the lock is held for as long as `line` lives.
            let file = unsafe { BorrowedFd::borrow_raw(self.file) };
            Line { file, key, source: self }
        });
        call(&mut held.state, line)
    }
}

/// A value and its source.
pub(crate) struct Owned<T> {
    /// Dropped before the value is: fields are dropped in their order.
    closing: Closing,
    /// The value.
    io: T,
}

/// Ends the registration when it is dropped.
struct Closing(Arc<Source>);

impl Drop for Closing {
    fn drop(&mut self) {
        let source = &self.0;
        if !source.is_here() {
            return;
        }
        let mut held = source.held.lock();
        if held.key.take().is_some() {
            // SAFETY: Open rule; `open` is still true.
            let file = unsafe { BorrowedFd::borrow_raw(source.file) };
            // It is there, so this can't fail; and if it did the kernel would do it at the close.
            let _ = source.poller.delete(file);
        }
        held.open = false;
    }
}

impl<T: Pollable> Owned<T> {
    /// Takes the value, as yet unwatched.
    pub(crate) fn new(io: T, poller: Arc<Poller>, readiness: [Readiness; 2], state: State) -> Self {
        let file = borrow(&io).as_raw_fd();
        let trigger = state.trigger();
        let held = Mutex::new(Held { open: true, key: None, state });
        let source = Source { file, poller, process: fork::generation(), trigger, readiness, held };
        Self { closing: Closing(Arc::new(source)), io }
    }

    /// Has it watched under `key`, once.
    pub(crate) fn add(&self, key: usize, asked: Interest) -> io::Result<()> {
        let source = &self.closing.0;
        let mut held = source.held.lock();
        // SAFETY: Open rule; `open` is true as long as there is an `Owned`. Not borrowed from the value again: that
        // is user code, and might lend another file than the one that is deleted in the end.
        let file = unsafe { BorrowedFd::borrow_raw(source.file) };
        source.poller.add(file, key, asked, source.trigger)?;
        held.key = Some(key);
        Ok(())
    }
}

impl<T> Owned<T> {
    /// The value.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        &self.io
    }

    /// What the driver knows of it.
    #[inline]
    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.closing.0
    }

    /// Ends the registration and gives the value back.
    pub(crate) fn into_inner(self) -> T {
        let Self { closing, io } = self;
        drop(closing);
        io
    }
}

/// The file of a value, by the name that the system has for it.
#[cfg(unix)]
pub(crate) fn borrow<T: Pollable>(io: &T) -> BorrowedFd<'_> {
    io.as_fd()
}

/// The file of a value, by the name that the system has for it.
#[cfg(windows)]
pub(crate) fn borrow<T: Pollable>(io: &T) -> BorrowedFd<'_> {
    io.as_socket()
}
