//! Every adapter means the same by what it calls the same.

use super::*;

/// Runs `$body` on every deque.
macro_rules! on_every_deque {
    ($body:ident) => {
        $body::<brigade_queue::lifo::Worker<Item>>("brigade-lifo");
        $body::<brigade_queue::fifo::Worker<Item>>("brigade-fifo");
        $body::<::st3::lifo::Worker<Item>>("st3-lifo");
        $body::<::st3::fifo::Worker<Item>>("st3-fifo");
        $body::<CrossbeamLifo>("crossbeam-lifo");
        $body::<CrossbeamFifo>("crossbeam-fifo");
    };
}

/// A deque with the items `0..count`.
fn filled<D: Deque>(count: usize) -> D {
    let deque = D::new();
    (0..count).for_each(|item| assert_eq!(deque.push(item as Item), Ok(())));
    deque
}

/// What there is left, in ascending order.
fn rest<D: Deque>(deque: &D) -> Vec<Item> {
    let mut rest: Vec<_> = std::iter::from_fn(|| deque.pop()).collect();
    rest.sort_unstable();
    rest
}

#[test]
fn the_name_says_which_end_the_owner_pops() {
    fn body<D: Deque>(name: &str) {
        let next = filled::<D>(CAPACITY).pop();
        let newest = name.ends_with("lifo");
        assert_eq!(next, Some(if newest { CAPACITY as Item - 1 } else { 0 }), "{name}");
    }
    on_every_deque!(body);
}

#[test]
fn a_theft_of_a_batch_moves_the_oldest_ones() {
    fn body<D: Deque>(name: &str) {
        for batch in [1, 8, CAPACITY / 2] {
            let (victim, thief) = (filled::<D>(CAPACITY), D::new());
            assert_eq!(victim.stealer().steal(&thief, batch), Ok(()), "{name}");
            assert_eq!(rest(&thief), (0..batch as Item).collect::<Vec<_>>(), "{name}");
            assert_eq!(rest(&victim).len(), CAPACITY - batch, "{name}");
        }
        assert_eq!(D::new().stealer().steal(&D::new(), 8), Err(Missed::Empty), "{name}");
    }
    on_every_deque!(body);
}

#[test]
fn a_theft_of_half_returns_one_and_moves_the_others() {
    fn body<D: Deque>(name: &str) {
        for (count, taken) in [(1, 1), (2, 1), (5, 3), (CAPACITY, MOST_STOLEN)] {
            let (victim, thief) = (filled::<D>(count), D::new());
            let item = victim.stealer().steal_half(&thief).expect("something to take");
            let mut stolen = rest(&thief);
            stolen.push(item);
            stolen.sort_unstable();
            assert_eq!(stolen, (0..taken as Item).collect::<Vec<_>>(), "{count} in {name}");
            assert_eq!(rest(&victim).len(), count - taken, "{count} in {name}");
        }
        assert_eq!(D::new().stealer().steal_half(&D::new()), Err(Missed::Empty), "{name}");
    }
    on_every_deque!(body);
}

#[test]
fn an_injector_keeps_the_order() {
    fn body<I: Injector>() {
        let injector = I::new();
        (0..100).for_each(|word| assert_eq!(injector.push(0, [word; 4]), Ok(())));
        (0..100).for_each(|word| assert_eq!(injector.pop(), Some([word; 4])));
        assert_eq!(injector.pop(), None);
    }
    body::<brigade_queue::Injector<Job>>();
    body::<brigade_queue::ShardedInjector<Job>>();
    body::<crossbeam_deque::Injector<Job>>();
    body::<crossbeam_queue::SegQueue<Job>>();
}
