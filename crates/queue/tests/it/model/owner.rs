//! The operations of an owner on its ring.

use brigade_queue::StealError;

use super::{Item, Machine, Model, Operation, Ring};

impl<O: Model> Machine<O> {
    /// Applies an operation of an owner.
    pub(super) fn own(&mut self, at: usize, operation: Operation) {
        let item = self.item();
        let number = *item.number;
        let ring = &mut self.rings[at];
        let room = ring.room();
        match operation {
            Operation::Push { .. } => match ring.worker.push(item) {
                Ok(()) if room > 0 => ring.model.push_back(number),
                Err(item) if room == 0 => assert_eq!(*item.number, number),
                other => panic!("a push with room for {room} says {other:?}"),
            },
            Operation::PushCounted { .. } => match ring.worker.push_counted(item) {
                Ok(count) if room > 0 => {
                    ring.model.push_back(number);
                    assert_eq!(count, ring.model.len());
                }
                Err(item) if room == 0 => assert_eq!(*item.number, number),
                other => panic!("a push with room for {room} says {other:?}"),
            },
            Operation::Extend { count, .. } => {
                let count = usize::from(count);
                let items = self.items(count);
                let ring = &mut self.rings[at];
                let mut items = items.into_iter().inspect(|item| {
                    ring.model.push_back(*item.number);
                });
                ring.worker.extend(items.by_ref());
                assert_eq!(
                    items.len(),
                    count.saturating_sub(room),
                    "the rest is not taken from the iterator"
                );
            }
            Operation::Pop { .. } => {
                let popped = ring.worker.pop().map(|item| *item.number);
                assert_eq!(popped, O::take_next(&mut ring.model));
            }
            Operation::Drain { want, used, .. } => {
                let capacity = ring.worker.capacity();
                let items = self.items(capacity);
                Self::drain(&mut self.rings[at], want.into(), used.into(), items);
            }
            _ => {
                let half = ring.model.len().div_ceil(2);
                assert_eq!(self.injector.take_overflow(&ring.worker), half);
                let moved: Vec<_> = ring.model.drain(..half).collect();
                self.inject(moved);
            }
        }
    }

    /// Drains items; pops and pushes until the ring is full while the claim is open.
    fn drain(ring: &mut Ring<O>, want: usize, used: usize, items: Vec<Item>) {
        let there = ring.model.len();
        let asked = |count| {
            assert_eq!(count, there);
            want
        };
        let mut drain = match ring.worker.drain(asked) {
            Ok(drain) => drain,
            Err(error) => {
                assert!(there == 0 || want == 0, "{error}");
                return assert_eq!(error, StealError::Empty);
            }
        };
        let claimed: Vec<_> = ring.model.drain(..want.min(there)).collect();
        assert_eq!(drain.len(), claimed.len());
        for number in claimed.iter().take(used) {
            assert_eq!(drain.next().map(|item| *item.number), Some(*number));
        }
        let held = if used < claimed.len() { claimed.len() } else { 0 };
        if held > 0 {
            assert_eq!(ring.worker.stealer_ref().steal_one().err(), Some(StealError::Busy));
            assert_eq!(ring.worker.drain(|_| unreachable!()).err(), Some(StealError::Busy));
        }
        let pops = want % 2;
        for _ in 0..pops {
            let popped = ring.worker.pop().map(|item| *item.number);
            assert_eq!(popped, O::take_next(&mut ring.model));
        }
        // The slots popped in the meantime may stay in use with the claim.
        let free = ring.worker.capacity() - ring.model.len() - held;
        let room = ring.worker.spare_capacity();
        assert!(
            room <= free && room + pops >= free,
            "room for {room} while a claim of {held} is open, not {free}"
        );
        for item in items {
            let number = *item.number;
            if ring.worker.push(item).is_err() {
                break;
            }
            ring.model.push_back(number);
        }
        assert_eq!(ring.worker.spare_capacity(), 0, "it accepts as many as it reported");
        assert!(ring.model.len() + held <= ring.worker.capacity());
        if want % 4 < 2 {
            let rest = claimed.into_iter().skip(used);
            assert!(drain.map(|item| *item.number).eq(rest), "pushes do not reach what is claimed");
        }
    }
}
