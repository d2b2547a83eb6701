//! A hierarchical timing wheel in front of a sorted map: most timers are cancelled long before they are due, and cost no order.
//!
//! The wheel is scheme 7 of Varghese and Lauck, [*Hashed and Hierarchical Timing Wheels*] (SOSP 1987), with the level of a timer
//! by the highest digit in which the ticks of timer and wheel differ, as in tokio's. The slots are lists without order. Unlike
//! theirs, ticks fire nothing: a slot whose time comes is emptied into the map, which has the exact order of the deadlines.
//! So timers fire on time, however coarse a tick is, and no thread wakes for a tick.
//!
//! Where the exact time of the earliest timer is needed, as a thread goes to sleep until it, the slots up to that timer are
//! emptied although their time has not come. Timers set before these go to the map at once, and pay for their order: so do all
//! timers before the earliest, once a thread sleeps until it.
//!
//! [*Hashed and Hierarchical Timing Wheels*]: https://doi.org/10.1145/41457.37504

use core::mem;
use core::time::Duration;
use std::time::Instant;

use crate::agenda::{Agenda, Key};
use crate::sorted::SortedMap;

/// A tick has 2 to the power of this nanoseconds, some 1 ms: as precise as most timeouts are, and longer than a wake-up.
const TICK: u32 = 20;
/// A level has 2 to the power of this slots: as many as a word has bits.
const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
/// As many as all ticks of 64 bits of nanoseconds need.
const LEVELS: usize = (u64::BITS - TICK).div_ceil(DIGIT) as usize;

/// No node.
const NIL: u32 = u32::MAX;
/// Nodes kept without a timer.
const KEPT: usize = 1024;

/// The set timers.
pub(crate) struct Wheel<T> {
    /// Timers before `horizon` in the order of their deadlines, with their nodes.
    near: SortedMap<(Instant, u64), u32>,
    /// The first node of each slot's list, with the timers from `horizon` on.
    heads: [[u32; SLOTS]; LEVELS],
    /// The non-empty slots of each level.
    occupied: [u64; LEVELS],
    /// In ticks since `start`.
    horizon: u64,
    nodes: Vec<Node<T>>,
    /// The first of the nodes without a timer, which are linked by `next`.
    free: u32,
    /// How many have a timer.
    len: usize,
    /// How many timers have ever been set.
    set: u64,
    start: Instant,
}

/// A timer, or none.
struct Node<T> {
    at: Instant,
    number: u64,
    /// `None` while it is free.
    entry: Option<T>,
    list: List,
    /// The neighbours in the list of the slot.
    next: u32,
    previous: u32,
}

/// Where the timer of a node is found.
#[derive(Clone, Copy)]
enum List {
    Near,
    Slot { level: u8, slot: u8 },
}

impl<T> Wheel<T> {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            near: SortedMap::default(),
            heads: [[NIL; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            horizon: 0,
            nodes: Vec::new(),
            free: NIL,
            len: 0,
            set: 0,
            start,
        }
    }

    /// The tick of a deadline: the last for all deadlines centuries away.
    fn tick(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.start).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX) >> TICK
    }

    fn node(&mut self, index: u32) -> &mut Node<T> {
        &mut self.nodes[index as usize]
    }

    /// The node of this timer, if it has not fired.
    fn find(&mut self, key: Key) -> Option<&mut Node<T>> {
        let node = self.nodes.get_mut(key.place as usize)?;
        if node.number == key.number && node.entry.is_some() { Some(node) } else { None }
    }

    /// Puts the timer of a node where it belongs.
    fn link(&mut self, index: u32) {
        let Node { at, number, .. } = *self.node(index);
        let tick = self.tick(at);
        if tick < self.horizon {
            self.near.insert((at, number), index);
            self.node(index).list = List::Near;
            return;
        }
        let highest = (tick ^ self.horizon | 1).ilog2();
        let level = highest / DIGIT;
        let slot = digit(tick, level);
        let next = mem::replace(&mut self.heads[level as usize][slot], index);
        self.occupied[level as usize] |= 1 << slot;
        let node = self.node(index);
        (node.next, node.previous) = (next, NIL);
        node.list = List::Slot { level: level as u8, slot: slot as u8 };
        if next != NIL {
            self.node(next).previous = index;
        }
    }

    /// Takes the timer of a node out of where it is.
    fn unlink(&mut self, index: u32) {
        let Node { at, number, list, next, previous, .. } = *self.node(index);
        let List::Slot { level, slot } = list else {
            self.near.remove(&(at, number));
            return;
        };
        let (level, slot) = (level as usize, slot as usize);
        if next != NIL {
            self.node(next).previous = previous;
        }
        if previous != NIL {
            self.node(previous).next = next;
            return;
        }
        self.heads[level][slot] = next;
        if next == NIL {
            self.occupied[level] &= !(1 << slot);
        }
    }

    /// Takes a timer out, and frees the node.
    fn take(&mut self, index: u32) -> Option<T> {
        self.unlink(index);
        let free = mem::replace(&mut self.free, index);
        let node = self.node(index);
        node.next = free;
        let entry = node.entry.take();
        self.len -= 1;
        if self.len == 0 && self.nodes.len() > KEPT {
            (self.nodes, self.free) = (Vec::new(), NIL);
        }
        entry
    }

    /// The first non-empty slot, if it begins by then: level, number, and first tick.
    fn next_slot(&self, end: u64) -> Option<(u32, usize, u64)> {
        // A timer of a higher level differs from `horizon` in a higher digit, so it is later.
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        let slot = self.occupied[level].trailing_zeros();
        let (level, above) = (level as u32, DIGIT * (level as u32 + 1));
        let higher = self.horizon >> above << above;
        let begin = higher | u64::from(slot) << (DIGIT * level);
        if begin > end { None } else { Some((level, slot as usize, begin)) }
    }

    /// Empties the first non-empty slot: into lower levels, or, of the lowest, into the map.
    fn advance(&mut self, (level, slot, begin): (u32, usize, u64)) {
        self.horizon = begin + u64::from(level == 0);
        self.empty(level, slot);
        // The new time may be the first of a slot in each of the higher levels, whose timers now differ in a lower digit.
        for level in 1..LEVELS as u32 {
            if self.horizon & ((1 << (DIGIT * level)) - 1) != 0 {
                break;
            }
            self.empty(level, digit(self.horizon, level));
        }
    }

    /// Puts the timers of a slot where they belong now.
    fn empty(&mut self, level: u32, slot: usize) {
        self.occupied[level as usize] &= !(1 << slot);
        let mut index = mem::replace(&mut self.heads[level as usize][slot], NIL);
        while index != NIL {
            let next = self.node(index).next;
            self.link(index);
            index = next;
        }
    }

    /// Moves all timers due by `end` into the map.
    fn sort_until(&mut self, end: Instant) {
        let end = self.tick(end);
        while let Some(next) = self.next_slot(end) {
            self.advance(next);
        }
    }
}

/// Makes an agenda without timers. Deadlines before `start` are possible, but keep their order at a higher cost.
pub fn new<T: Send + 'static>(start: Instant) -> Box<dyn Agenda<T>> {
    Box::new(Wheel::new(start))
}

/// The digit of a tick for this level.
fn digit(tick: u64, level: u32) -> usize {
    (tick >> (DIGIT * level)) as usize % SLOTS
}

impl<T: Send> Agenda<T> for Wheel<T> {
    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn bound(&self) -> Option<Instant> {
        if let Some(&((first, _), _)) = self.near.first() {
            return Some(first);
        }
        let (_, _, begin) = self.next_slot(u64::MAX)?;
        self.start.checked_add(Duration::from_nanos(begin << TICK))
    }

    fn first(&mut self) -> Option<Instant> {
        while self.near.is_empty() {
            let next = self.next_slot(u64::MAX)?;
            self.advance(next);
        }
        self.bound()
    }

    fn count_until(&mut self, end: Instant, most: usize) -> usize {
        self.sort_until(end);
        self.near.count_until(&(end, u64::MAX), most)
    }

    fn last_until(&mut self, end: Instant) -> Option<Instant> {
        self.sort_until(end);
        let &((last, _), _) = self.near.last_until(&(end, u64::MAX))?;
        Some(last)
    }

    fn insert(&mut self, at: Instant, entry: T) -> Key {
        let number = self.set;
        self.set += 1;
        let node =
            Node { at, number, entry: Some(entry), list: List::Near, next: NIL, previous: NIL };
        let index = self.free;
        let index = if index == NIL {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            self.free = self.node(index).next;
            *self.node(index) = node;
            index
        };
        self.len += 1;
        self.link(index);
        Key { number, place: index }
    }

    fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.find(key)?.entry.as_mut()
    }

    fn remove(&mut self, key: Key) -> Option<T> {
        self.find(key)?;
        self.take(key.place)
    }

    fn take_due(&mut self, now: Instant) -> Option<T> {
        self.sort_until(now);
        let &((first, _), index) = self.near.first()?;
        if first <= now { self.take(index) } else { None }
    }

    fn take_unless(&mut self, stays: &dyn Fn(&T) -> bool) -> Vec<T> {
        let (mut taken, mut index) = (Vec::new(), 0);
        while let Some(node) = self.nodes.get(index) {
            if node.entry.as_ref().is_some_and(|entry| !stays(entry)) {
                taken.extend(self.take(index as u32));
            }
            index += 1;
        }
        taken
    }
}
