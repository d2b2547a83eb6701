//! A thief that is preempted between its look and its claim, or between its claim and its release.

use super::*;

/// Takes a thief's snapshot.
fn observe<O: Order>(worker: &Worker<u32, O>) -> positions::Snapshot {
    worker.ring().positions.observe(worker.ring().capacity()).unwrap()
}

/// Claims by a thief's snapshot; `None` if it must look again.
fn claim<'a, O: Order>(
    worker: &'a Worker<u32, O>,
    seen: &positions::Snapshot,
    count: u32,
) -> Option<Drain<'a, u32, O>> {
    let claim = worker.ring().positions.claim(seen, count)?;
    Some(Drain::new(worker.ring(), claim))
}

/// Returns a ring with the items 0, 1 and 2.
fn with_three<O: Order>() -> Worker<u32, O> {
    let worker = ring(4);
    worker.extend(0..3);
    worker
}

/// Pushes and pops one item, `times` times.
fn turn_over<O: Order>(worker: &Worker<u32, O>, times: u32) {
    for item in 0..times {
        worker.push(item).unwrap();
        worker.pop().unwrap();
    }
}

fn fails_a_step_beside_a_lap<O: Order>() {
    let lap = 1 << O::BITS;
    for times in [1, 2, lap - 1, lap + 1, 2 * lap - 1, 2 * lap + 1] {
        let worker = with_three::<O>();
        let seen = observe(&worker);
        turn_over(&worker, times);
        assert!(claim(&worker, &seen, 2).is_none(), "after {times} pushes and pops");
        assert_eq!((worker.len(), worker.spare_capacity()), (3, 1));
        assert_eq!(worker.stealer_ref().steal(&worker, |_| 1), Ok(1), "nothing is left claimed");
    }
}

#[test]
fn a_claim_fails_after_any_pops_but_a_lap() {
    fails_a_step_beside_a_lap::<Lifo<8>>();
    fails_a_step_beside_a_lap::<Fifo<8>>();
    fails_a_step_beside_a_lap::<Lifo<16>>();
    fails_a_step_beside_a_lap::<Fifo<16>>();
}

/// The limit of the protocol: after exactly as many pops as there are positions, the atomics have their former values.
fn succeeds_after_a_lap<O: Modelled>() {
    let worker = with_three::<O>();
    let seen = observe(&worker);
    let mut model: VecDeque<_> = (0..3).collect();
    for item in 0..1 << O::BITS {
        worker.push(item).unwrap();
        model.push_back(item);
        assert_eq!(worker.pop(), worker.order().pop_model(&mut model));
    }
    assert_eq!(seen.count, 3);
    let claimed = claim(&worker, &seen, seen.count).expect("the words are as they were");
    assert!(claimed.eq(model), "as many are queued as then, and they are the ones claimed");
    assert_eq!((worker.len(), worker.spare_capacity(), worker.pop()), (0, 4, None));
}

#[test]
fn a_claim_after_a_lap_of_pops_gets_the_queue() {
    succeeds_after_a_lap::<Lifo<8>>();
    succeeds_after_a_lap::<Fifo<8>>();
    succeeds_after_a_lap::<Lifo<16>>();
    succeeds_after_a_lap::<Fifo<16>>();
}

#[test]
fn a_claim_fails_after_a_single_pop() {
    fn body<O: Modelled>() {
        let worker = with_three::<O>();
        let seen = observe(&worker);
        assert_eq!(worker.pop(), worker.order().pop_model(&mut (0..3).collect()));
        assert!(claim(&worker, &seen, 1).is_none());
        assert_eq!(worker.len(), 2);
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
    body::<Lifo>();
    body::<Fifo>();
}

#[test]
fn a_claim_succeeds_after_pushes_only() {
    fn body<O: Order>() {
        let worker = with_three::<O>();
        let seen = observe(&worker);
        worker.push(3).unwrap();
        assert!(claim(&worker, &seen, 2).unwrap().eq([0, 1]));
        assert_eq!(worker.len(), 2);
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}

#[test]
fn a_claim_fails_after_another_thief() {
    fn body<O: Order>() {
        let worker = with_three::<O>();
        let seen = observe(&worker);
        assert_eq!(worker.stealer_ref().steal_one(), Ok(0));
        assert!(claim(&worker, &seen, 1).is_none());
        assert_eq!(worker.stealer_ref().steal_one(), Ok(1), "nothing is left claimed");
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}

#[test]
fn a_claim_fails_if_another_thief_is_at_it() {
    fn body<O: Order>() {
        let worker = with_three::<O>();
        let seen = observe(&worker);
        let held = claim(&worker, &observe(&worker), 1).unwrap();
        assert!(claim(&worker, &seen, 1).is_none());
        assert!(held.eq([0]));
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}

/// Returns what a thief sees that is preempted between its loads: an end that is newer than the claims.
fn sees_an_end_that_is_newer_by<O: Order>(pushes: u32) -> Result<u32, StealError> {
    let worker = with_three::<O>();
    let positions = &worker.ring().positions;
    let end = positions.end();
    positions.publish(O::plus(end, pushes));
    let seen = positions.observe(worker.ring().capacity());
    positions.publish(end);
    seen.map(|seen| seen.count)
}

#[test]
fn a_thief_never_counts_beyond_the_slots() {
    fn body<O: Order>() {
        let lap = 1 << O::BITS;
        assert_eq!(sees_an_end_that_is_newer_by::<O>(1), Ok(4));
        for pushes in [2, 3, lap / 2 - 3] {
            assert_eq!(sees_an_end_that_is_newer_by::<O>(pushes), Ok(4), "{pushes} pushes later");
        }
        for pushes in [lap / 2 - 2, lap - 4, lap - 3] {
            let seen = sees_an_end_that_is_newer_by::<O>(pushes);
            assert_eq!(seen, Err(StealError::Empty), "{pushes} pushes later: crossed");
        }
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
    body::<Lifo<16>>();
    body::<Fifo<16>>();
}

/// Checks that every way to take items returns `Busy` while a thief holds a claim.
fn all_ways_return_busy<O: Order>(worker: &Worker<u32, O>) {
    let (stealer, other) = (worker.stealer(), ring::<O>(4));
    let never = |_| -> usize { unreachable!("not called while a thief holds a claim") };
    assert_eq!(stealer.steal_one(), Err(StealError::Busy));
    assert_eq!(stealer.steal(&other, never), Err(StealError::Busy));
    assert_eq!(stealer.steal_and_pop(&other, never), Err(StealError::Busy));
    assert_eq!(stealer.steal(&other, |count| count), Err(StealError::Busy));
    assert_eq!(stealer.steal_half_and_pop(&other), Err(StealError::Busy));
    assert_eq!(worker.drain(never).err(), Some(StealError::Busy));
    assert!(other.is_empty());
}

#[test]
fn other_thieves_are_busy_until_the_release() {
    fn body<O: Order>() {
        let worker = with_three::<O>();
        let mut held = claim(&worker, &observe(&worker), 2).unwrap();
        all_ways_return_busy(&worker);
        assert_eq!(held.next(), Some(0));
        all_ways_return_busy(&worker);
        assert_eq!(held.next(), Some(1));
        assert_eq!(worker.stealer_ref().steal_one(), Ok(2), "the last read releases the claim");
        assert_eq!(held.next(), None);
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}

/// Pushes and pops over several laps of positions while a thief holds two slots.
fn goes_on_beside_a_claim<O: Modelled>(capacity: usize, laps: u32) {
    let worker = ring::<O>(capacity);
    worker.extend(0..3);
    let mut held = claim(&worker, &observe(&worker), 2).unwrap();
    let (mut model, mut random): (VecDeque<_>, _) = ([2].into(), fastrand::Rng::with_seed(11));
    assert_eq!(held.next(), Some(0));
    for item in 3..(laps << O::BITS) {
        // Each fifo pop moves the head further from the slots that the thief holds: fewer and fewer slots are left.
        if model.len() > 1 && random.bool() {
            assert_eq!(worker.pop(), worker.order().pop_model(&mut model));
        }
        match worker.push(item) {
            Ok(()) => model.push_back(item),
            Err(_) => {
                assert_eq!(worker.spare_capacity(), 0, "rejected only when full");
                if model.len() == 1 {
                    break;
                }
                assert_eq!(worker.pop(), worker.order().pop_model(&mut model));
            }
        }
        assert_eq!(worker.len(), model.len());
    }
    while worker.push(7_000).is_ok() {
        model.push_back(7_000);
    }
    all_ways_return_busy(&worker);
    assert_eq!(held.next(), Some(1), "the claimed slots were not overwritten");
    assert_eq!(worker.spare_capacity(), capacity - model.len());
    while worker.push(8_000).is_ok() {
        model.push_back(8_000);
    }
    assert_eq!(worker.len(), capacity);
    let rest = worker.drain(|count| count).unwrap();
    assert!(rest.eq(model), "everything comes out once, in order");
}

#[test]
fn the_owner_fills_up_beside_a_claim() {
    goes_on_beside_a_claim::<Lifo<8>>(4, 3);
    goes_on_beside_a_claim::<Fifo<8>>(4, 3);
    goes_on_beside_a_claim::<Lifo<8>>(128, 3);
    goes_on_beside_a_claim::<Fifo<8>>(128, 3);
}

#[test]
fn a_wholly_claimed_ring_is_empty_and_full() {
    fn body<O: Order>() {
        let worker = ring::<O>(4);
        worker.extend(0..4);
        let held = claim(&worker, &observe(&worker), 4).unwrap();
        assert_eq!((worker.len(), worker.spare_capacity()), (0, 0));
        assert_eq!((worker.pop(), worker.push(9)), (None, Err(9)));
        assert!(held.eq(0..4));
        assert_eq!((worker.push(4), worker.pop()), (Ok(()), Some(4)));
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
}
