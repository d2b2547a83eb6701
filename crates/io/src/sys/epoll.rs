//! Waiting on Linux: a system call, `epoll_wait`, for each wait. `sys` describes each method.

use std::io;
use std::time::Duration;

use brigade_sync::time;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::calls;
use crate::event::{Directions, Event, Interest, Trigger, Watch};

/// The key of the notifier. No source has it: the index would be the largest possible.
const NOTIFIER: u64 = u64::MAX;

/// The most events of a wait; more are left for the next. The tasks must fit into a worker's local queue, which has 256
/// slots: any overflow would be queued behind everything that comes later.
const EVENTS: usize = 128;

/// Reading: also the close of the other side's half, which an edge reports only once, and urgent data.
const READ: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::PRI);
/// The events for a reader.
const READABLE: EventFlags = READ.union(EventFlags::HUP).union(EventFlags::ERR);
/// The events for a writer.
const WRITABLE: EventFlags = EventFlags::OUT.union(EventFlags::HUP).union(EventFlags::ERR);
/// After these nothing changes for a writer.
const ENDED: EventFlags = EventFlags::HUP.union(EventFlags::ERR);
/// After these nothing changes for a reader, or a short read proves nothing: a read ends where urgent data is.
const READ_ENDED: EventFlags = ENDED.union(EventFlags::RDHUP).union(EventFlags::PRI);

/// An epoll instance and an eventfd to end its wait.
#[derive(Debug)]
pub(crate) struct Poller {
    /// The instance.
    epoll: OwnedFd,
    /// Each write to it is an edge, so it need not be read.
    notifier: OwnedFd,
}

impl Poller {
    pub(crate) const REPORTS_THE_END: bool = true;

    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let notifier = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &notifier, EventData::new_u64(NOTIFIER), flags)?;
        Ok(Self { epoll, notifier })
    }

    pub(crate) fn trigger(&self, is_socket: bool) -> Trigger {
        calls::trigger(is_socket)
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        loop {
            match calls::write(&self.notifier, &1_u64.to_ne_bytes()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                // The counter is full, as it is not read otherwise.
                Err(Errno::AGAIN) => {
                    let _ = rustix::io::read(&self.notifier, &mut [0; 8]);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        // A deadline beyond the clock's range is none.
        let deadline = match timeout {
            Some(Duration::ZERO) | None => None,
            Some(timeout) => time::now().checked_add(timeout),
        };
        let mut rest = timeout;
        loop {
            match self.wait_once(events, rest) {
                Ok(()) if !events.0.is_empty() => return Ok(()),
                // The milliseconds are over, or a signal came: wait for the rest.
                Ok(()) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            rest = match (timeout, deadline) {
                (Some(Duration::ZERO), _) => return Ok(()),
                (_, None) => None,
                (_, Some(deadline)) => Some(time::until(deadline)),
            };
            if rest == Some(Duration::ZERO) {
                return Ok(());
            }
        }
    }

    pub(crate) fn add(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        Ok(calls::add(&self.epoll, file, data(watch), flags(watch))?)
    }

    pub(crate) fn modify(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        Ok(calls::modify(&self.epoll, file, data(watch), flags(watch))?)
    }

    pub(crate) fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        Ok(calls::delete(&self.epoll, file)?)
    }

    /// May return early, with no event.
    fn wait_once(&self, events: &mut Events, rest: Option<Duration>) -> Result<(), Errno> {
        /// The unit of `epoll_wait`.
        const UNIT: Duration = Duration::from_millis(1);
        /// `epoll_wait` waits for about 24 days at most.
        const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);
        let timeout = match rest {
            None => None,
            Some(rest) if rest.is_zero() || rest >= UNIT => {
                // Down to whole milliseconds; the wait for the rest is below.
                let millis = rest.min(LONGEST).as_millis() as u64;
                Some(timespec(Duration::from_millis(millis)))
            }
            Some(rest) => {
                let instance = &mut [PollFd::new(&self.epoll, PollFlags::IN)];
                if calls::poll(instance, Some(&timespec(rest)))? == 0 {
                    return Ok(());
                }
                Some(Timespec::default())
            }
        };
        calls::wait(&self.epoll, &mut events.0, timeout.as_ref())
    }
}

fn data(watch: Watch) -> EventData {
    EventData::new_u64(watch.key as u64)
}

fn flags(watch: Watch) -> EventFlags {
    let Watch { interest, trigger, .. } = watch;
    let trigger = match trigger {
        Trigger::Edge => EventFlags::ET,
        Trigger::Oneshot => EventFlags::ONESHOT,
        // The kernel adds ERR and HUP to every interest. If there is none, it must report those once only.
        Trigger::Level if interest == Interest::NONE => EventFlags::ONESHOT,
        Trigger::Level => EventFlags::empty(),
    };
    let read = if interest.read { READ } else { EventFlags::empty() };
    let write = if interest.write { EventFlags::OUT } else { EventFlags::empty() };
    trigger | read | write
}

fn timespec(duration: Duration) -> Timespec {
    // Both fit: it is less than 25 days.
    Timespec { tv_sec: duration.as_secs() as _, tv_nsec: duration.subsec_nanos().into() }
}

/// As the kernel writes them.
pub(crate) struct Events(Vec<epoll::Event>);

// SAFETY: an event could hold a pointer; each of these is written by the kernel, from the numbers given to it by
// `Poller`.
unsafe impl Send for Events {}

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(EVENTS))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().filter(|event| event.data.u64() != NOTIFIER).map(|event| {
            let flags = event.flags;
            let has = |wanted| flags.intersects(wanted);
            Event {
                key: event.data.u64() as usize,
                ready: Directions { read: has(READABLE), write: has(WRITABLE) },
                ended: Directions { read: has(READ_ENDED), write: has(ENDED) },
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_notifier_does_not_block() {
        let poller = Poller::new().unwrap();
        let mut events = Events::new();
        rustix::io::write(&poller.notifier, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        poller.wait(&mut events, None).unwrap();
        for _ in 0..1000 {
            poller.notify().unwrap();
        }
        poller.wait(&mut events, None).unwrap();
        assert_eq!(events.0.len(), 1, "the notifier, once");
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.0.is_empty(), "a thousand notifications are one");
    }
}
