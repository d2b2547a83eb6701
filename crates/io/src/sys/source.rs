//! A value and its registration with the operating system, which never outlives it.
//!
//! **Open rule.** The file of a [`Source`] is open while `open` is true. An [`Owned`] is made with the value inside and lends
//! it by `&` only, so it can't be closed or replaced. It sets `open` to false, under the lock, before it drops or returns the
//! value. The value is `'static`: if the `Owned` is forgotten, the file stays open. The file's number must be used under the
//! lock only, after a look at `open`.
//!
//! **Delete rule.** An added file is deleted in the step that sets `open` to false.

use std::io;
use std::sync::Arc;

use brigade_sync::awaited::Awaited;
use brigade_sync::budget::Turn;
use brigade_sync::{Mutex, fork};
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Pollable, Poller};
use crate::error::not_added;
use crate::event::{Direction, Directions, Interest, Trigger, Watch};
use crate::readiness::Readiness;
use crate::state::State;

/// The driver's data of a value, without the value.
pub(crate) struct Source {
    /// The number of the file; see the open rule.
    file: RawFd,
    /// The poller to which the file is added.
    poller: Arc<Poller>,
    /// The generation of the process that added it.
    process: u32,
    /// How it is treated.
    pub(crate) mode: Mode,
    /// The readiness in each direction.
    pub(crate) readiness: Directions<Readiness>,
    /// The turns of the operations in each direction.
    pub(crate) turns: Directions<Turn>,
    /// Everything else.
    locked: Mutex<Locked>,
}

/// How a source is treated, from the registration on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// How it is reported.
    pub(crate) trigger: Trigger,
    /// Whether the first operation in a direction is tried without waiting.
    pub(crate) untried: bool,
    /// Whether after a short read or write the next would block.
    pub(crate) short_is_last: bool,
}

impl Mode {
    /// The interest of a new source.
    fn first_interest(self) -> Interest {
        match self.trigger {
            // Permanently: an edge without a waiting task costs an event. But each read at the other end of a Unix socket makes room and
            // would be such an event, so writing follows when a task first waits for room, or for the connection.
            Trigger::Edge => Interest { write: !self.untried, ..Interest::BOTH },
            Trigger::Level | Trigger::Oneshot => Interest::NONE,
        }
    }
}

/// The data under a source's lock.
struct Locked {
    /// See the open rule.
    open: bool,
    /// The key of the file, if it was added.
    key: Option<usize>,
    /// The waiting tasks, and the interest.
    state: State,
}

/// A source, open and added, while its lock is held.
pub(crate) struct Registered<'a> {
    file: BorrowedFd<'a>,
    key: usize,
    source: &'a Source,
}

impl Registered<'_> {
    /// Changes the interest.
    pub(crate) fn modify(&self, interest: Interest) -> io::Result<()> {
        let Self { file, key, source } = *self;
        source.poller.modify(file, Watch { key, interest, trigger: source.mode.trigger })
    }
}

impl Source {
    /// The event a task waits for in this direction.
    pub(crate) fn awaited(&self, direction: Direction) -> Awaited {
        // Never negative while it is open.
        let file = u64::try_from(self.file).unwrap_or_default();
        match direction {
            Direction::Read => Awaited::Readable(file),
            Direction::Write => Awaited::Writable(file),
        }
    }

    /// Whether this process added it, and not the parent process, before a fork. In a child the lock may be held by a thread
    /// of the parent, and a change of the registration would change the parent's.
    pub(crate) fn is_here(&self) -> bool {
        self.process == fork::generation()
    }

    /// Calls `call` under the source's lock. No user code may run in it.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State, Option<Registered<'_>>) -> R) -> R {
        let mut locked = self.locked.lock();
        let locked = &mut *locked;
        let registered = locked.key.filter(|_| locked.open).map(|key| {
            // SAFETY: Open rule; `open` is true, and the lock is held for as long as `registered` lives.
            let file = unsafe { BorrowedFd::borrow_raw(self.file) };
            Registered { file, key, source: self }
        });
        call(&mut locked.state, registered)
    }
}

/// A value and its source.
pub(crate) struct Owned<T> {
    /// Dropped before the value is: fields are dropped in their order.
    source: DeleteOnDrop,
    /// The value.
    io: T,
}

/// Ends the registration when it is dropped.
struct DeleteOnDrop(Arc<Source>);

impl Drop for DeleteOnDrop {
    fn drop(&mut self) {
        let source = &self.0;
        if !source.is_here() {
            return;
        }
        let mut locked = source.locked.lock();
        if locked.key.take().is_some() {
            // SAFETY: Open rule; `open` is still true.
            let file = unsafe { BorrowedFd::borrow_raw(source.file) };
            // It has been added, so this can't fail; and if it did, the kernel would do it at the close.
            let _ = source.poller.delete(file);
        }
        locked.open = false;
    }
}

impl<T: Pollable + 'static> Owned<T> {
    /// Takes the value, without adding it yet.
    pub(crate) fn new(io: T, poller: Arc<Poller>, mode: Mode) -> Self {
        let readiness = || Readiness::new(mode.untried);
        let state = State::new(mode.trigger, mode.first_interest());
        let source = Source {
            file: borrow(&io).as_raw_fd(),
            poller,
            process: fork::generation(),
            mode,
            readiness: Directions { read: readiness(), write: readiness() },
            turns: Directions::default(),
            locked: Mutex::new(Locked { open: true, key: None, state }),
        };
        Self { source: DeleteOnDrop(Arc::new(source)), io }
    }

    /// Adds it under `key`, once.
    pub(crate) fn add(&self, key: usize) -> io::Result<()> {
        let source = self.source();
        let mut locked = source.locked.lock();
        // SAFETY: Open rule; `open` is true as long as there is an `Owned`. Not borrowed from the value again: this
        // would be user code, and might lend another file than the file to be deleted in the end.
        let file = unsafe { BorrowedFd::borrow_raw(source.file) };
        let Source { mode, .. } = **source;
        let watch = Watch { key, interest: mode.first_interest(), trigger: mode.trigger };
        source.poller.add(file, watch).map_err(not_added)?;
        locked.key = Some(key);
        Ok(())
    }
}

impl<T> Owned<T> {
    /// The value.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        &self.io
    }

    /// The driver's data of it.
    #[inline]
    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source.0
    }

    /// Ends the registration and returns the value.
    pub(crate) fn into_inner(self) -> T {
        let Self { source, io } = self;
        drop(source);
        io
    }
}

/// The file of a value.
#[cfg(unix)]
pub(crate) fn borrow<T: Pollable>(io: &T) -> BorrowedFd<'_> {
    io.as_fd()
}

/// The file of a value.
#[cfg(windows)]
pub(crate) fn borrow<T: Pollable>(io: &T) -> BorrowedFd<'_> {
    io.as_socket()
}
