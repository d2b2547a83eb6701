//! An end of a pipe or a socket, which counts its bytes and says when it changes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The bytes that go one way.
#[derive(Default)]
struct Flow {
    /// How many the kernel has taken, and of how many the writers know that.
    written: AtomicUsize,
    sent: AtomicUsize,
    /// How many the kernel has given, and how many the readers have.
    read: AtomicUsize,
    received: AtomicUsize,
    /// The end where they are written, or read, is closed or about to be.
    is_ended: AtomicBool,
    is_unread: AtomicBool,
    /// Held while bytes are read or written, and counted.
    reads: Mutex<()>,
    writes: Mutex<()>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        let [written, sent, read, received] =
            [&mut self.written, &mut self.sent, &mut self.read, &mut self.received]
                .map(|count| *count.get_mut());
        assert_eq!(sent, written, "what a cancelled or failed write wrote");
        assert_eq!(received, read, "what a cancelled or failed read took");
        assert!(read <= written);
    }
}

/// What an end is.
pub(super) enum Line {
    Pipe(File),
    Socket(UnixStream),
}

/// One end of a pipe or a socket. The model of the kernel hears of each change.
pub(super) struct End {
    wire: Line,
    incoming: Arc<Flow>,
    outgoing: Arc<Flow>,
    /// Dropped last.
    _closed: Changed,
}

/// Says that something may have changed, when it is dropped: a step.
struct Changed;

impl Drop for Changed {
    fn drop(&mut self) {
        crate::machine::changed();
    }
}

impl End {
    /// Two ends of one pipe or socket.
    pub(super) fn pair(one: Line, two: Line) -> (Self, Self) {
        let flows = [(); 2].map(|()| Arc::new(Flow::default()));
        let end = |wire, incoming: usize| {
            let (incoming, outgoing) = (flows[incoming].clone(), flows[1 - incoming].clone());
            Self { wire, incoming, outgoing, _closed: Changed }
        };
        (end(one, 0), end(two, 1))
    }

    /// A reader has so many bytes.
    pub(super) fn received(&self, count: usize) {
        self.incoming.received.fetch_add(count, Relaxed);
    }

    /// A writer knows of so many bytes.
    pub(super) fn sent(&self, count: usize) {
        self.outgoing.sent.fetch_add(count, Relaxed);
    }

    /// Whether the other end writes no more.
    pub(super) fn is_ended(&self) -> bool {
        self.incoming.is_ended.load(Relaxed)
    }

    /// Whether the other end reads no more.
    pub(super) fn is_unread(&self) -> bool {
        self.outgoing.is_unread.load(Relaxed)
    }

    /// A reader has been told the end.
    pub(super) fn has_ended(&self) {
        assert!(self.is_ended(), "the other end is there");
        let [read, written] = [&self.incoming.read, &self.incoming.written];
        assert_eq!(read.load(Relaxed), written.load(Relaxed), "an early end");
    }

    /// Has the other end of a socket wait no more for what none does here.
    pub(super) fn shut_down(&self, what: Shutdown) {
        if let Line::Socket(stream) = &self.wire {
            self.ends(what);
            stream.shutdown(what).expect("it is connected");
            drop(Changed);
        }
    }

    fn ends(&self, what: Shutdown) {
        match what {
            Shutdown::Read => self.incoming.is_unread.store(true, Relaxed),
            _ => self.outgoing.is_ended.store(true, Relaxed),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.ends(Shutdown::Read);
        self.ends(Shutdown::Write);
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.wire {
            Line::Pipe(file) => file.as_fd(),
            Line::Socket(stream) => stream.as_fd(),
        }
    }
}

impl Read for &End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _after = Changed;
        let _alone = self.incoming.reads.lock();
        let count = match &self.wire {
            Line::Pipe(file) => (&mut &*file).read(buffer),
            Line::Socket(stream) => (&mut &*stream).read(buffer),
        }?;
        let before = self.incoming.read.fetch_add(count, Relaxed);
        let is_right = |(offset, byte): (usize, &u8)| *byte == (before + offset) as u8;
        assert!(
            buffer[..count].iter().enumerate().all(is_right),
            "other bytes, or in another order"
        );
        Ok(count)
    }
}

impl Write for &End {
    /// Of `bytes`, only how many they are matters.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _after = Changed;
        let _alone = self.outgoing.writes.lock();
        let before = self.outgoing.written.load(Relaxed);
        let bytes: Vec<u8> = (before..before + bytes.len()).map(|number| number as u8).collect();
        let count = match &self.wire {
            Line::Pipe(file) => (&mut &*file).write(&bytes),
            Line::Socket(stream) => (&mut &*stream).write(&bytes),
        }?;
        self.outgoing.written.fetch_add(count, Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
