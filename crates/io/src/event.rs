//! The data about a source between the driver and the operating system.

use core::ops::{Index, IndexMut};

/// A direction in which a source can be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Reading, or accepting.
    Read,
    /// Writing, or having connected.
    Write,
}

impl Direction {
    pub(crate) const BOTH: [Self; 2] = [Self::Read, Self::Write];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directions<T> {
    pub(crate) read: T,
    pub(crate) write: T,
}

impl<T> Index<Direction> for Directions<T> {
    type Output = T;

    #[inline]
    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }
}

impl<T> IndexMut<Direction> for Directions<T> {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        }
    }
}

/// The directions in which the operating system reports events of a source.
pub(crate) type Interest = Directions<bool>;

impl Interest {
    pub(crate) const NONE: Self = Self { read: false, write: false };
    pub(crate) const BOTH: Self = Self { read: true, write: true };
}

/// When the operating system reports a source. It affects only the speed of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// At every wait, as long as it is ready in a direction of the interest.
    Level,
    /// Once, when it becomes ready.
    Edge,
    /// Once, when it is ready in a direction of the interest, which is empty from then on. Where a system offers nothing else.
    Oneshot,
}

impl Trigger {
    /// Whether a waiting task gets a report of a direction that is ready already. By edge only a change to ready is reported.
    pub(crate) fn reports_what_is_left(self) -> bool {
        self != Self::Edge
    }

    /// Sockets by edge, everything else by level.
    ///
    /// A pipe is read once per event by one task, which then waits again: by level this takes fewer system calls. Of a
    /// socket, with several threads, another thread often polls before the task has read, and by level it would get the
    /// same event again.
    pub(crate) fn by_kind(is_socket: bool) -> Self {
        if is_socket { Self::Edge } else { Self::Level }
    }
}

/// The events of a source that the operating system must report, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// The key in the events.
    pub(crate) key: usize,
    pub(crate) interest: Interest,
    pub(crate) trigger: Trigger,
}

/// The look of the driver that found an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The driving thread may sleep in the next, which a repeated report would prevent.
    pub(crate) sleeps: bool,
    /// It found further events.
    pub(crate) is_crowd: bool,
}

/// A report of the operating system about a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The key of the source.
    pub(crate) key: usize,
    /// Whether an operation would not block.
    pub(crate) ready: Directions<bool>,
    /// Whether it is the last event: nothing follows the bytes to be read now, or nothing more can be written.
    pub(crate) ended: Directions<bool>,
}
