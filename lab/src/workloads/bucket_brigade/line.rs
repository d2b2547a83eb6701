//! A line of links with a carrier between each two, and what tells a lost byte from a repeated one.

use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::tally::Tally;
use crate::target::runtime::{Downstream, Piped, Runtime, Upstream};

/// A link through the system: where bytes go in, and where they come out.
type Pipe<R> = (Piped<<R as Runtime>::Writer>, Piped<<R as Runtime>::Reader>);

/// Makes a link through the system.
pub(super) fn pipe<R: Runtime>() -> io::Result<Pipe<R>> {
    let (out, into) = rustix::pipe::pipe()?;
    Ok((Piped(R::writer(into)?), Piped(R::reader(out)?)))
}

/// The bytes that have come by one place in the line.
///
/// A byte is the number of its iteration, the last eight bits of it. They come in order, so the byte
/// tells which one it is if no more than half of 256 are missing.
pub(super) struct Trail {
    /// Counts the hops.
    tally: &'static Tally,
    /// The place.
    hop: u32,
    /// One more than the highest number so far.
    next: u32,
}

impl Trail {
    /// Nothing has come by the place with this number.
    pub(super) fn new(tally: &'static Tally, hop: u32) -> Self {
        Trail { tally, hop, next: 0 }
    }

    /// Counts a byte that came by.
    #[inline]
    pub(super) fn note(&mut self, byte: u8) {
        let ahead = byte.wrapping_sub(self.next as u8) as i8;
        let number = self.next.wrapping_add_signed(ahead.into());
        self.tally.ran(number, self.hop);
        self.next = self.next.max(number.wrapping_add(1));
    }

    /// One more than the highest number so far.
    pub(super) fn arrived(&self) -> u32 {
        self.next
    }
}

/// The first stage of a line that has ended while there was work to do.
#[derive(Clone, Default)]
pub(super) struct Fallen(Arc<AtomicU32>);

impl Fallen {
    /// Notes the stage with this number, which is not 0.
    fn note(&self, stage: u32) {
        // Ordering: Release pairs with the Acquire in `first`. Those that end because this one did come later.
        let _ = self.0.compare_exchange(0, stage, Ordering::Release, Ordering::Relaxed);
    }

    /// The number of the first one, if any has ended.
    pub(super) fn first(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Acquire)).filter(|&stage| stage != 0)
    }
}

/// A place in the line, from 1, held by its carrier. A panic leaves it, and so does a runtime that
/// drops a task.
struct Post {
    /// Its number.
    stage: u32,
    /// Told when it is left.
    fallen: Fallen,
    /// Whether there is work to do.
    open: bool,
}

impl Drop for Post {
    fn drop(&mut self) {
        if self.open {
            self.fallen.note(self.stage);
        }
    }
}

/// A stage of the line: passes on what comes.
pub(super) struct Carrier<U, D> {
    /// Where that is. First, so that its end is noted before others see it from their links.
    post: Post,
    /// Where bytes come from.
    up: U,
    /// Where they go.
    down: D,
    /// Those that came.
    trail: Trail,
}

impl<U: Upstream, D: Downstream> Carrier<U, D> {
    /// Passes one byte on; false when there will be no more.
    #[inline]
    async fn hand_on(&mut self) -> bool {
        let Some(byte) = self.up.take().await else { return false };
        self.trail.note(byte);
        self.down.pass(byte).await
    }

    /// Passes all bytes on.
    pub(super) async fn work(mut self) {
        while self.hand_on().await {}
        self.post.open = false;
    }

    /// Passes so many bytes on and panics.
    pub(super) async fn die_after(mut self, bytes: u32) {
        for _ in 0..bytes {
            self.hand_on().await;
        }
        panic!("stage {} dies, as it was told", self.post.stage);
    }
}

/// A line in which nothing runs yet.
pub(super) struct Line<U, D> {
    /// Where bytes go in.
    pub(super) first: D,
    /// Those that pass them on, from the first to the last.
    pub(super) carriers: Vec<Carrier<U, D>>,
    /// Where they come out.
    pub(super) last: U,
    /// What has come out.
    pub(super) trail: Trail,
    /// The first that ended too early.
    pub(super) fallen: Fallen,
}

impl<U: Upstream, D: Downstream> Line<U, D> {
    /// A line of so many carriers, connected by what `link` makes.
    pub(super) fn new(
        carriers: u32,
        tally: &'static Tally,
        mut link: impl FnMut() -> io::Result<(D, U)>,
    ) -> io::Result<Self> {
        let (first, mut last) = link()?;
        let fallen = Fallen::default();
        let carriers = (0..carriers).map(|hop| {
            let (down, next) = link()?;
            let up = mem::replace(&mut last, next);
            let post = Post { stage: hop + 1, fallen: fallen.clone(), open: true };
            Ok(Carrier { post, up, down, trail: Trail::new(tally, hop) })
        });
        let carriers = carriers.collect::<io::Result<Vec<_>>>()?;
        let trail = Trail::new(tally, carriers.len() as u32);
        Ok(Line { first, carriers, last, trail, fallen })
    }
}

/// The end of a line whose carriers have no tasks: to take a byte is to do the work of them all.
pub(super) struct Relay<U, D> {
    /// Those that would pass it on.
    pub(super) carriers: Vec<Carrier<U, D>>,
    /// Where bytes come out.
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
