//! Whose turn it is, for receivers served in turns.

use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::{CachePadded, ParkerGroup};

/// The number of seats of a group.
const SEATS: usize = ParkerGroup::SEATS as usize;

/// The seat from which the next search begins, counted over all groups.
///
/// A hint: a claim decides which thread gets a seat, so threads that search at once from the same position get two seats.
/// On a separate cache line, as every handed-over value moves it.
#[derive(Debug, Default)]
pub(crate) struct Cursor(CachePadded<AtomicUsize>);

impl Cursor {
    /// Returns the group and the seat from which to search.
    pub(crate) fn position(&self) -> (usize, u32) {
        // Ordering: Relaxed: a hint.
        let position = self.0.load(Ordering::Relaxed);
        (position / SEATS, (position % SEATS) as u32)
    }

    /// Continues behind the served seat.
    pub(crate) fn move_behind(&self, group: usize, seat: u32) {
        // Ordering: Relaxed: a hint.
        self.0.store(group * SEATS + seat as usize + 1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_seat_after_a_groups_last_is_in_the_next_group() {
        let cursor = Cursor::default();
        assert_eq!(cursor.position(), (0, 0));
        cursor.move_behind(0, 30);
        assert_eq!(cursor.position(), (0, 31));
        cursor.move_behind(0, 31);
        assert_eq!(cursor.position(), (1, 0));
        cursor.move_behind(7, 4);
        assert_eq!(cursor.position(), (7, 5));
    }
}
