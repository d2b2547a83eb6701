//! Waiting on Linux: one system call, `epoll_wait`, for one wait.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::{Event, Interest};
use crate::Trigger;

/// The key of the bell. No source has it: its index would be the largest there is.
const BELL: u64 = u64::MAX;

/// How many events one wait can give: more are left for the next. Few enough for a worker's own queue, which has 256
/// places: what overflows would wait behind whatever comes later.
const EVENTS: usize = 128;

/// Reading: also that the other side closed its half, which an edge tells only once.
const READ: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);
/// What there is to tell a reader.
const READABLE: EventFlags = READ.union(EventFlags::HUP).union(EventFlags::ERR);
/// What there is to tell a writer.
const WRITABLE: EventFlags = EventFlags::OUT.union(EventFlags::HUP).union(EventFlags::ERR);
/// After these a writer waits for nothing.
const ENDED: EventFlags = EventFlags::HUP.union(EventFlags::ERR);
/// After these a reader waits for nothing.
const READ_ENDED: EventFlags = ENDED.union(EventFlags::RDHUP);

/// An epoll instance and the bell that ends its wait.
#[derive(Debug)]
pub(crate) struct Poller {
    /// The instance.
    epoll: OwnedFd,
    /// Each write to it is an edge, so nobody has to read it.
    bell: OwnedFd,
}

impl Poller {
    /// Whether a short read or write of a stream proves that there is no more: the end of a stream is told beside
    /// the readiness, so that it can't be missed.
    pub(crate) const TELLS_THE_END: bool = true;

    pub(crate) fn new(_: Trigger) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { epoll, bell })
    }

    /// Ends the wait of this moment, or the next one.
    pub(crate) fn ring(&self) -> io::Result<()> {
        loop {
            match rustix::io::write(&self.bell, &1_u64.to_ne_bytes()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                // Full: nobody reads it, as an edge needs no reader.
                Err(Errno::AGAIN) => {
                    let _ = rustix::io::read(&self.bell, &mut [0; 8]);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for at least one event, the bell or the end of `timeout`.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        // A deadline beyond the clock's range is none.
        let deadline = match timeout {
            Some(Duration::ZERO) | None => None,
            Some(timeout) => Instant::now().checked_add(timeout),
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
                (_, Some(deadline)) => Some(deadline.saturating_duration_since(Instant::now())),
            };
            if rest == Some(Duration::ZERO) {
                return Ok(());
            }
        }
    }

    /// May return early, with no event.
    fn wait_once(&self, events: &mut Events, rest: Option<Duration>) -> Result<(), Errno> {
        /// What `epoll_wait` counts in.
        const UNIT: Duration = Duration::from_millis(1);
        /// `epoll_wait` takes about 24 days in one call.
        const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);
        let timeout = match rest {
            None => None,
            Some(rest) if rest.is_zero() || rest >= UNIT => {
                // Down to whole milliseconds; what is left is waited for below.
                let millis = rest.min(LONGEST).as_millis() as u64;
                Some(timespec(Duration::from_millis(millis)))
            }
            Some(rest) => {
                let instance = &mut [PollFd::new(&self.epoll, PollFlags::IN)];
                if poll(instance, Some(&timespec(rest)))? == 0 {
                    return Ok(());
                }
                Some(Timespec::default())
            }
        };
        epoll::wait(&self.epoll, spare_capacity(&mut events.0), timeout.as_ref())?;
        Ok(())
    }

    /// Has `file` watched under `key`.
    pub(super) fn add(
        &self,
        file: BorrowedFd<'_>,
        key: usize,
        asked: Interest,
        trigger: Trigger,
    ) -> io::Result<()> {
        epoll::add(&self.epoll, file, EventData::new_u64(key as u64), flags(asked, trigger))?;
        Ok(())
    }

    /// Changes what `file` is watched for.
    pub(super) fn change(
        &self,
        file: BorrowedFd<'_>,
        key: usize,
        asked: Interest,
        trigger: Trigger,
    ) -> io::Result<()> {
        epoll::modify(&self.epoll, file, EventData::new_u64(key as u64), flags(asked, trigger))?;
        Ok(())
    }

    /// Has `file` watched no longer.
    pub(super) fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        epoll::delete(&self.epoll, file)?;
        Ok(())
    }
}

/// How the kernel is asked; `trigger` is that of one source.
fn flags(asked: Interest, trigger: Trigger) -> EventFlags {
    let trigger = match trigger {
        Trigger::Edge => EventFlags::ET,
        Trigger::Oneshot => EventFlags::ONESHOT,
        // The kernel adds ERR and HUP to everything asked. Asked for nothing, it has to tell those once only.
        _ if asked == Interest::NONE => EventFlags::ONESHOT,
        _ => EventFlags::empty(),
    };
    let read = if asked.read { READ } else { EventFlags::empty() };
    let write = if asked.write { EventFlags::OUT } else { EventFlags::empty() };
    trigger | read | write
}

fn timespec(duration: Duration) -> Timespec {
    // Both fit: it is less than 25 days.
    Timespec { tv_sec: duration.as_secs() as _, tv_nsec: duration.subsec_nanos().into() }
}

/// Room for the events of one wait.
pub(crate) struct Events(Vec<epoll::Event>);

// SAFETY: an event could hold a pointer; every one in here is written by the kernel, from the numbers that `Poller` has
// given it.
unsafe impl Send for Events {}

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(EVENTS))
    }

    /// What was heard of sources.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().filter(|event| event.data.u64() != BELL).map(|event| {
            let flags = event.flags;
            Event {
                key: event.data.u64() as usize,
                read: flags.intersects(READABLE),
                write: flags.intersects(WRITABLE),
                read_ended: flags.intersects(READ_ENDED),
                write_ended: flags.intersects(ENDED),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bell_rings_without_blocking() {
        let poller = Poller::new(Trigger::Level).unwrap();
        let mut events = Events::new();
        rustix::io::write(&poller.bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        poller.wait(&mut events, None).unwrap();
        for _ in 0..1000 {
            poller.ring().unwrap();
        }
        poller.wait(&mut events, None).unwrap();
        assert_eq!(events.0.len(), 1, "the bell, once");
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.0.is_empty(), "a thousand rings are one");
    }
}
