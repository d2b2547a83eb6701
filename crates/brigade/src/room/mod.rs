//! How many jobs of a bounded pool may be queued, and who waits until one more may.
//!
//! Each queued job holds a [`Place`], which its drop gives back: when the job starts, and just as well when it is
//! cancelled, evicted or discarded, on whatever thread. So the engine counts nothing, and the count is exact wherever
//! a job is queued.
//!
//! **Line rule.** One word holds the places taken and whether somebody stands in [`Line`]. Who wants to wait stands in line
//! first and tries once more then; who gives a place back wakes the first of the line if there is one. As both go by
//! changes of one word, either the one sees the free place or the other sees the line. Who leaves the line, with a
//! place or without, wakes the next one if there is a place: it may have been woken for that one.

mod line;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod seat;

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::{Mutex, Parker};

use line::Line;
pub(crate) use line::Spot;
pub(crate) use seat::{Seat, Usher};

/// Somebody stands in line. The other bits count the places that are taken.
const LINE: usize = !(usize::MAX >> 1);

/// What the queued jobs of one pool share.
pub(crate) struct Room {
    /// How many jobs may be queued.
    capacity: usize,
    /// Places taken, and [`LINE`], which is never set while nobody stands in line and the lock is free.
    word: AtomicUsize,
    line: Mutex<Line>,
}

/// The right to be queued; its drop gives it back.
pub(crate) struct Place(Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        // Ordering: Relaxed: this word alone is what the Line rule is about; the lock orders what is in line.
        if self.0.word.fetch_sub(1, Ordering::Relaxed) & LINE != 0 {
            self.0.wake_first();
        }
    }
}

/// A thread that waits, as a waker.
#[derive(Default)]
struct Waiting(Parker);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Room {
    /// Room for so many jobs.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        // No memory holds more jobs than that.
        let capacity = capacity.min(!LINE >> 1);
        Arc::new(Self { capacity, word: AtomicUsize::new(0), line: Mutex::default() })
    }

    /// Takes a place; `None` if there was none.
    pub(crate) fn try_take(self: &Arc<Self>) -> Option<Place> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !LINE < self.capacity {
            // Ordering: Relaxed, as in the drop of a place. A thread sees its own change of the word, or a later one.
            match self.word.compare_exchange_weak(
                word,
                word + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Place(self.clone())),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Takes a place whether there is one or not. Before it is used, either somebody else has to give one back for it
    /// or the room not to be [overdrawn](Self::is_overdrawn) any more.
    pub(crate) fn overdraw(self: &Arc<Self>) -> Place {
        // Ordering: Relaxed, as in the drop of a place.
        self.word.fetch_add(1, Ordering::Relaxed);
        Place(self.clone())
    }

    /// Whether more places are taken than there are.
    pub(crate) fn is_overdrawn(&self) -> bool {
        // Ordering: Relaxed, as in the drop of a place.
        self.word.load(Ordering::Relaxed) & !LINE > self.capacity
    }

    /// Waits for a place; `None` once `is_over`, or when `until` has come, no earlier.
    pub(crate) fn wait(
        self: &Arc<Self>,
        until: Option<Instant>,
        is_over: impl Fn() -> bool,
    ) -> Option<Place> {
        let thread = Arc::new(Waiting::default());
        let waker = Waker::from(thread.clone());
        let mut spot = Spot::new(self.clone());
        loop {
            spot.stand(&waker);
            let place = self.try_take();
            if place.is_some() || is_over() {
                return place;
            }
            let left = until.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            thread.0.park(left);
        }
    }

    /// Wakes all who wait to submit from outside, as there will be no place for them.
    pub(crate) fn wake_outsiders(&self) {
        let outsiders = self.change_line(Line::leave_outsiders);
        outsiders.into_iter().for_each(line::wake);
    }

    /// Takes the first out of the line and wakes it.
    fn wake_first(&self) {
        self.change_line(Line::leave_first).into_iter().for_each(line::wake);
    }

    /// Changes the line, and what the word says of it.
    fn change_line<R>(&self, change: impl FnOnce(&mut Line) -> R) -> R {
        let mut line = self.line.lock();
        let result = change(&mut line);
        // Ordering: Relaxed, as in the drop of a place: who sees the bit takes the lock next.
        if line.is_empty() {
            self.word.fetch_and(!LINE, Ordering::Relaxed);
        } else {
            self.word.fetch_or(LINE, Ordering::Relaxed);
        }
        result
    }

    /// Wakes the first of the line if there is a place for it.
    fn pass_on(&self) {
        // Ordering: Relaxed: the caller has just held the lock, so it sees the place for which it was woken.
        let word = self.word.load(Ordering::Relaxed);
        if word & LINE != 0 && word & !LINE < self.capacity {
            self.wake_first();
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_places_as_said_and_each_is_given_back() {
        let room = Room::new(3);
        for _ in 0..3 {
            let places: Vec<_> = (0..3).map_while(|_| room.try_take()).collect();
            assert_eq!(places.len(), 3);
            assert!(room.try_take().is_none());
        }
        let endless = Room::new(usize::MAX);
        assert!(endless.try_take().is_some());
    }

    #[test]
    fn a_place_in_advance_is_one_as_soon_as_another_is_given_back() {
        let room = Room::new(1);
        let first = room.try_take();
        let second = room.overdraw();
        assert!(room.is_overdrawn());
        drop(first);
        assert!(!room.is_overdrawn() && room.try_take().is_none());
        drop(second);
        assert!(room.try_take().is_some());
    }

    #[test]
    fn the_end_reaches_those_from_outside_and_leaves_the_others_in_line() {
        let room = Room::new(1);
        let place = room.try_take();
        let (set, outsider) = (Arc::new(Waiting::default()), Arc::new(Waiting::default()));
        let mut spots = [Spot::staying(room.clone()), Spot::new(room.clone())];
        spots[0].stand(&set.clone().into());
        spots[1].stand(&outsider.clone().into());
        room.wake_outsiders();
        assert!(outsider.0.try_take() && !set.0.try_take());
        drop(place);
        assert!(set.0.try_take());
    }

    #[test]
    fn a_wait_ends_with_a_place_or_when_it_is_over_or_in_time() {
        let room = Room::new(1);
        let place = room.wait(None, || false).expect("there was one");
        assert!(room.wait(None, || true).is_none());
        let at = Instant::now() + Duration::from_millis(5);
        assert!(room.wait(Some(at), || false).is_none());
        assert!(Instant::now() >= at);
        let other = room.clone();
        let waiter = std::thread::spawn(move || other.wait(None, || false).is_some());
        while room.word.load(Ordering::Relaxed) & LINE == 0 {
            brigade_sync::thread::yield_now();
        }
        drop(place);
        assert!(waiter.join().unwrap());
        assert_eq!(room.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_was_woken_and_leaves_wakes_the_next() {
        let room = Room::new(1);
        let place = room.try_take();
        let (first, second) = (Arc::new(Waiting::default()), Arc::new(Waiting::default()));
        let mut spots = [Spot::new(room.clone()), Spot::new(room.clone())];
        spots[0].stand(&first.clone().into());
        spots[1].stand(&second.clone().into());
        drop(place);
        assert!(first.0.try_take() && !second.0.try_take());
        let [leaving, _waiting] = spots;
        drop(leaving);
        assert!(second.0.try_take());
    }

    #[test]
    fn who_was_woken_for_nothing_is_first_again() {
        let room = Room::new(1);
        let place = room.try_take();
        let (first, second) = (Arc::new(Waiting::default()), Arc::new(Waiting::default()));
        let mut spots = [Spot::new(room.clone()), Spot::new(room.clone())];
        spots[0].stand(&first.clone().into());
        spots[1].stand(&second.clone().into());
        drop(place);
        assert!(first.0.try_take());
        let quicker = room.try_take();
        spots[0].stand(&first.clone().into());
        drop(quicker);
        assert!(first.0.try_take() && !second.0.try_take());
    }
}
