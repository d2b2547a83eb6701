//! The owner's view of the positions may be out of date, by up to a whole lap.

use super::*;

/// Pushes items, of which a thief takes all but the last `left`, while the owner only pushes.
fn pushes_only<O: Order>(pushes: u32, left: u32) -> Worker<u32, O> {
    let worker = ring::<O>(8);
    for item in 0..pushes {
        worker.push(item).unwrap();
        if item >= left {
            assert_eq!(worker.stealer_ref().steal_one(), Ok(item - left));
        }
    }
    worker
}

/// Returns numbers of pushes around one and two laps of positions.
fn about_a_lap<O: Order>() -> impl Iterator<Item = u32> {
    let lap = 1_u32 << O::BITS;
    [1, lap - 3, 2 * lap - 3].into_iter().flat_map(|first| first..first + 6).filter(|n| *n > 4)
}

#[test]
fn an_owner_pops_the_rest_after_about_a_lap() {
    fn body<O: Modelled>() {
        for pushes in about_a_lap::<O>() {
            for left in 0..4 {
                let worker = pushes_only::<O>(pushes, left);
                let mut model: VecDeque<_> = (pushes - left..pushes).collect();
                while let Some(item) = worker.order().pop_model(&mut model) {
                    assert_eq!(worker.pop(), Some(item), "{left} left of {pushes}");
                }
                assert_eq!(worker.pop(), None, "{left} left of {pushes}");
            }
        }
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
    body::<Lifo<16>>();
    body::<Fifo<16>>();
}

#[test]
fn an_owner_counts_the_rest_after_about_a_lap() {
    fn body<O: Order>() {
        for pushes in about_a_lap::<O>() {
            for left in 0..4 {
                let worker = pushes_only::<O>(pushes, left);
                assert_eq!(worker.len(), left as usize, "of {pushes}");
                assert_eq!(worker.spare_capacity(), 8 - left as usize, "of {pushes}");
            }
        }
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}

/// Checks that a counted push returns the number of queued items after `pushes` others.
fn counts<O: Order>(pushes: u32, left: u32) {
    let worker = pushes_only::<O>(pushes, left);
    let expected = left as usize + 1;
    assert_eq!(worker.push_counted(0), Ok(expected), "after {pushes}, {left} left");
}

#[test]
fn a_counted_push_counts_the_queue() {
    fn body<O: Order>() {
        for left in 0..4 {
            // The counted push does not complete a lap.
            about_a_lap::<O>()
                .filter(|pushes| pushes % (1 << O::BITS) != 0)
                .for_each(|pushes| counts::<O>(pushes, left));
        }
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}

#[test]
fn a_counted_push_after_a_lap_counts_the_queue() {
    counts::<Lifo<8>>(1 << 8, 1);
    counts::<Fifo<8>>(1 << 8, 1);
}

#[test]
fn an_owner_robbed_of_all_finds_all_slots_free() {
    fn body<O: Order>() {
        for pushes in about_a_lap::<O>() {
            let worker = pushes_only::<O>(pushes, 0);
            for item in 0..8 {
                assert_eq!(worker.push(item), Ok(()), "after {pushes} pushes");
            }
            assert_eq!(worker.push(8), Err(8));
            assert!(worker.drain(|count| count).unwrap().eq(0..8));
        }
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}
