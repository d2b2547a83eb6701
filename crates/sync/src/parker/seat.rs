//! Seats: the numbers of the threads of a group, and masks of them.

/// Seats of a group: one for each bit of a futex mask; fewer under the model checker.
pub(super) const SEATS: u32 = if cfg!(brigade_loom) { 3 } else { 32 };

/// Returns the mask of one seat.
///
/// # Panics
/// If there is no such seat.
#[inline]
#[track_caller]
pub(super) fn bit(seat: u32) -> u32 {
    assert!(seat < SEATS, "no such seat");
    1 << seat
}
