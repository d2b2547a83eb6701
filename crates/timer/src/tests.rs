use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use super::new;

/// Nanoseconds until a timer is due: most within `scale`, and some up to centuries away, often at the edge of a slot.
fn distance(rng: &mut fastrand::Rng, scale: u64) -> u64 {
    let around = 1_u64 << rng.u32(..63);
    match rng.u32(..12) {
        0 => around,
        1 => around - 1,
        2 => around + rng.u64(..around),
        _ => rng.u64(..scale),
    }
}

#[test]
fn a_wheel_keeps_the_order_of_a_sorted_map() {
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..200 {
        let (start, scale) = (Instant::now(), 1 << rng.u32(18..46));
        let (mut wheel, mut sorted) = (new(start), BTreeMap::new());
        let mut now = start;
        for number in 0..400_u64 {
            let at = now + Duration::from_nanos(distance(&mut rng, scale));
            let key = wheel.insert(at, number);
            sorted.insert((at, number), key);
            if rng.u32(..3) == 0 {
                let cancelled = sorted.iter().nth(rng.usize(..sorted.len()));
                let (cancelled, key) = cancelled.map(|(&at, &key)| (at, key)).unwrap();
                assert!(wheel.get_mut(key).is_some());
                assert!(wheel.remove(key).is_some() && wheel.remove(key).is_none());
                sorted.remove(&cancelled);
            }
            let first = sorted.first_key_value().map(|(&(at, _), _)| at);
            assert_eq!(wheel.is_empty(), first.is_none());
            assert!(wheel.bound() <= first && wheel.bound().is_some() == first.is_some());
            match rng.u32(..8) {
                0 => assert_eq!(wheel.first(), first),
                1 => {
                    let end = now + Duration::from_nanos(distance(&mut rng, scale));
                    let due = sorted.range(..=(end, u64::MAX));
                    let last = due.clone().last().map(|(&(at, _), _)| at);
                    assert_eq!(wheel.count_until(end, 5), due.count().min(5));
                    assert_eq!(wheel.last_until(end), last);
                }
                2 => {
                    now += Duration::from_nanos(rng.u64(..scale / 16));
                    while let Some(due) = sorted.first_entry().filter(|due| due.key().0 <= now) {
                        let (at, key) = due.remove_entry();
                        assert_eq!(wheel.take_due(now), Some(at.1), "{:?} in round {round}", at.0);
                        assert!(wheel.get_mut(key).is_none(), "it was another one");
                    }
                    assert!(wheel.take_due(now).is_none());
                }
                _ => {}
            }
        }
        assert_eq!(wheel.take_unless(&|_| false).len(), sorted.len());
        assert!(wheel.is_empty() && wheel.bound().is_none() && wheel.first().is_none());
    }
}

#[test]
fn a_wheel_turned_to_a_higher_slot_knows_its_timers() {
    // The last tick of a block at each level, and timers behind it in the order in which they are set.
    for end in (1..7).map(|digits| 1_u64 << (6 * digits)) {
        let start = Instant::now();
        let at = |tick: u64| start + Duration::from_nanos(tick << 20);
        let mut wheel = new(start);
        wheel.insert(at(end - 1), 0);
        wheel.insert(at(end + 5), 1);
        assert!(wheel.take_due(at(end - 1)).is_some());
        wheel.insert(at(end + 10), 2);
        assert!(wheel.bound() <= Some(at(end + 5)), "{end}");
        assert_eq!(wheel.first(), Some(at(end + 5)), "{end}");
    }
}
