//! The line on one thread, which waits for the pipes with epoll, level-triggered: a wait, a read and a write for each hop,
//! and nothing else. It is the minimum for a runtime on one thread.

use std::collections::VecDeque;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use futures_lite::future::block_on;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::BucketBrigade;
use super::line::{self, Carrier, Ends};
use crate::target::runtime::{Piped, Upstream};
use crate::targets::runtimes::threads::Threads;
use crate::workloads::prelude::*;

/// The end of a pipe, which blocks; it is read only when there is a byte in it.
type End = Piped<File>;

/// Events of a wait, as many as tokio takes by default.
const EVENTS: usize = 1024;

/// The end of a line whose carriers have no tasks: taking a byte runs the loop until a byte has come out.
struct Loop {
    /// The set of all pipes.
    epoll: OwnedFd,
    /// The numbers of the pipes that were readable at the last wait, and are still unread. An event itself must stay on the thread.
    ready: VecDeque<u64>,
    /// The carriers, by the number of their pipe. A carrier that has ended is gone.
    carriers: Vec<Option<Carrier<End, End>>>,
    /// The last source.
    last: End,
}

impl BucketBrigade {
    /// Runs in a loop around epoll, on one thread.
    pub(super) fn epoll(&self, bench: &Bench) -> Outcome {
        let line = line::line(self.tasks as u32, bench.tally, line::pipe::<Threads>)?;
        let (carriers, Ends { first, last, trail }) = line;
        let last = Loop::new(carriers, last)?;
        block_on(self.alone(bench, Ends { first, last, trail }))
    }
}

impl Loop {
    /// A loop over the sources of these carriers and the source `last`.
    fn new(carriers: Vec<Carrier<End, End>>, last: End) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let sources = carriers.iter().map(|carrier| &carrier.up).chain([&last]);
        for (source, number) in sources.zip(0..) {
            epoll::add(&epoll, &source.0, EventData::new_u64(number), EventFlags::IN)?;
        }
        let (ready, carriers) = (VecDeque::new(), carriers.into_iter().map(Some).collect());
        Ok(Loop { epoll, ready, carriers, last })
    }

    /// Waits until there are bytes.
    fn wait(&mut self) -> io::Result<()> {
        let mut events = [const { MaybeUninit::<Event>::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut events, None) {
            Ok((events, _)) => self.ready.extend(events.iter().map(|event| event.data.u64())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Upstream for Loop {
    async fn take(&mut self) -> Option<u8> {
        loop {
            while let Some(number) = self.ready.pop_front() {
                let Some(place) = self.carriers.get_mut(number as usize) else {
                    return self.last.take().await;
                };
                let Some(carrier) = place else { continue };
                if !carrier.hand_on().await {
                    // This closes the carrier's pipes, and the set loses them.
                    *place = None;
                }
            }
            self.wait().expect("a set that can be waited for");
        }
    }
}
