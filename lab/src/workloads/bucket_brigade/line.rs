//! A line of links with a carrier between each two, and the counts to detect lost and repeated bytes.

use std::collections::VecDeque;
use std::mem;
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use crate::target::runtime::{Downstream, Piped, Upstream};
use crate::workloads::echo::connect;
use crate::workloads::prelude::*;

/// A link through the system: the sink and the source.
type Pipe<R> = (Piped<<R as Runtime>::Writer>, Piped<<R as Runtime>::Reader>);

/// A link by a connection.
type Connection<R> = (Piped<<R as Runtime>::Stream>, Piped<<R as Runtime>::Stream>);

/// Makes a link by a TCP connection.
pub(super) fn tcp<R: Runtime>() -> io::Result<Connection<R>> {
    let ends = connect(1)?.pop();
    let Some((writer, reader)) = ends else { unreachable!("it has made one") };
    connection::<R>(writer, reader)
}

/// Makes a link by a pair of Unix sockets.
///
/// Their type is that of TCP connections: each runtime reads and writes both by the same system calls, which take any connected socket.
pub(super) fn unix<R: Runtime>() -> io::Result<Connection<R>> {
    let (writer, reader) = UnixStream::pair()?;
    connection::<R>(OwnedFd::from(writer).into(), OwnedFd::from(reader).into())
}

/// A link by the two ends of a connection.
fn connection<R: Runtime>(writer: TcpStream, reader: TcpStream) -> io::Result<Connection<R>> {
    Ok((Piped(R::stream(writer)?), Piped(R::stream(reader)?)))
}

/// Makes a link through the system.
pub(super) fn pipe<R: Runtime>() -> io::Result<Pipe<R>> {
    let (out, into) = rustix::pipe::pipe()?;
    let (writer, reader) = R::pipe(into, out)?;
    Ok((Piped(writer), Piped(reader)))
}

/// The bytes that have passed a place in the line.
///
/// A byte is the last eight bits of the number of an iteration. Bytes pass in order, so a byte identifies the
/// iteration if no more than half of 256 are missing.
pub(super) struct Trail {
    /// Counts the hops.
    tally: &'static Tally,
    /// The place.
    hop: u32,
    /// The highest number so far, plus 1.
    next: u32,
}

impl Trail {
    /// Creates the count of the place with this number.
    pub(super) fn new(tally: &'static Tally, hop: u32) -> Self {
        Trail { tally, hop, next: 0 }
    }

    /// Counts a byte that passed.
    #[inline]
    pub(super) fn note(&mut self, byte: u8) {
        let ahead = byte.wrapping_sub(self.next as u8) as i8;
        let number = self.next.wrapping_add_signed(ahead.into());
        self.tally.ran(number, self.hop);
        self.next = self.next.max(number.wrapping_add(1));
    }
}

/// A stage of the line: passes bytes on.
pub(super) struct Carrier<U, D> {
    /// The source of bytes.
    pub(super) up: U,
    /// The sink of bytes.
    down: D,
    /// The bytes that have passed.
    trail: Trail,
}

impl<U: Upstream, D: Downstream> Carrier<U, D> {
    /// Passes a byte on; false when there will be no more.
    #[inline]
    pub(super) async fn hand_on(&mut self) -> bool {
        let Some(byte) = self.up.take().await else { return false };
        self.trail.note(byte);
        self.down.pass(byte).await
    }

    /// Passes all bytes on.
    pub(super) async fn work(mut self) {
        while self.hand_on().await {}
    }

    /// Passes this many bytes on and panics.
    pub(super) async fn die_after(mut self, bytes: u32) {
        for _ in 0..bytes {
            self.hand_on().await;
        }
        panic!("a stage dies, as it was told");
    }
}

/// The two ends of a line.
pub(super) struct Ends<U, D> {
    /// The sink.
    pub(super) first: D,
    /// The source.
    pub(super) last: U,
    /// The bytes that have come out.
    pub(super) trail: Trail,
}

/// A line before the start: the carriers, from the first to the last, and the ends.
type Line<U, D> = (Vec<Carrier<U, D>>, Ends<U, D>);

/// A line of this many carriers, connected by the links of `link`.
pub(super) fn line<U: Upstream, D: Downstream>(
    carriers: u32,
    tally: &'static Tally,
    mut link: impl FnMut() -> io::Result<(D, U)>,
) -> io::Result<Line<U, D>> {
    let (first, mut last) = link()?;
    let all = (0..carriers).map(|hop| {
        let (down, next) = link()?;
        let up = mem::replace(&mut last, next);
        Ok(Carrier { up, down, trail: Trail::new(tally, hop) })
    });
    let all = all.collect::<io::Result<Vec<_>>>()?;
    Ok((all, Ends { first, last, trail: Trail::new(tally, carriers) }))
}

impl<U: Upstream, D: Downstream> Ends<U, D> {
    /// Puts bytes with these numbers into the first end, `window` at a time, and takes them out of the
    /// last end; the seconds of each. None if the line broke.
    pub(super) async fn pass(
        &mut self,
        bytes: Range<u32>,
        window: u32,
        fault: Fault,
    ) -> Option<Vec<f64>> {
        let mut times = Vec::with_capacity(bytes.len());
        let (mut sent, mut begun) = (bytes.start, VecDeque::with_capacity(window as usize));
        while self.trail.next < bytes.end {
            while sent < bytes.end.min(self.trail.next + window) {
                begun.push_back(Instant::now());
                for _ in 0..fault.copies(sent) {
                    self.first.pass(sent as u8).await.then_some(())?;
                }
                sent += 1;
            }
            self.trail.note(self.last.take().await?);
            // They arrive in the order in which they left.
            times.extend(begun.pop_front().map(|begun| begun.elapsed().as_secs_f64()));
        }
        Some(times)
    }

    /// Closes the first end, and counts the bytes that come out of the last until it is closed too: none, unless a byte was repeated.
    pub(super) async fn close(self) {
        let Ends { first, mut last, mut trail } = self;
        drop(first);
        while let Some(byte) = last.take().await {
            trail.note(byte);
        }
    }
}

/// The end of a line whose carriers have no tasks: taking a byte does the work of all of them.
pub(super) struct Relay<U, D> {
    /// The carriers.
    pub(super) carriers: Vec<Carrier<U, D>>,
    /// The last source.
    pub(super) last: U,
}

impl<U: Upstream, D: Downstream> Upstream for Relay<U, D> {
    async fn take(&mut self) -> Option<u8> {
        for carrier in &mut self.carriers {
            carrier.hand_on().await.then_some(())?;
        }
        self.last.take().await
    }
}
