//! Iterators that panic, that use the sender themselves, and that continue after their end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use brigade_burst::channel;

use crate::crew::Crew;
use crate::tally::Tally;
use brigade_testkit::test;

#[test]
fn values_before_an_iterators_panic_are_received() {
    let (sender, first) = channel();
    let crew = Crew::waiting(&sender, 4);
    let values = (0..4).map(|n| if n < 2 { n } else { resume_unwind(Box::new("expected")) });
    let burst = catch_unwind(AssertUnwindSafe(|| sender.burst(values).count()));
    assert!(burst.is_err());
    let mut received = crew.take(2);
    received.sort_unstable();
    assert_eq!(received, [0, 1]);
    // The other two still wait, and these will wait again.
    brigade_testkit::eventually("all wait again", || sender.waiting() == 4);
    assert_eq!(sender.burst(10..14).count(), 0);
    crew.take(4);
    drop((sender, first));
    assert!(crew.join().is_empty());
}

#[test]
fn an_iterators_panic_at_any_call_loses_no_value() {
    for panics_at in 0..6 {
        let tally = Tally::default();
        let (sender, mut receiver) = channel();
        assert!(receiver.try_recv().is_err());
        let values = (0..5).map(|n| {
            let value = tally.value(n);
            if n == panics_at { resume_unwind(Box::new("expected")) } else { value }
        });
        // The first is handed over, the second rejected, and the others are taken here.
        let all = catch_unwind(AssertUnwindSafe(|| sender.burst(values).count()));
        assert_eq!(all.is_ok(), panics_at == 5);
        assert_eq!(receiver.try_recv().is_ok(), panics_at > 0);
        drop((sender, receiver));
        assert_eq!(tally.alive(), 0);
        assert_eq!(tally.dropped(), (panics_at + 1).min(5));
    }
}

#[test]
fn an_iterator_may_use_its_own_sender() {
    let (sender, mut first) = channel();
    let mut others = [(); 3].map(|()| sender.new_receiver());
    assert!(first.try_recv().is_err());
    others.iter_mut().for_each(|other| assert!(other.try_recv().is_err()));
    let values = (0..2).inspect(|n| {
        assert_eq!(sender.burst([10 + n]).count(), 0, "no seat is claimed meanwhile");
        assert_eq!(sender.wake(), 0);
    });
    assert_eq!(sender.burst(values).count(), 0);
    let mut received: Vec<_> = others.iter_mut().map(|other| other.try_recv().unwrap()).collect();
    received.push(first.try_recv().unwrap());
    received.sort_unstable();
    assert_eq!(received, [0, 1, 10, 11]);
}

#[test]
fn an_iterator_may_make_and_drop_receivers() {
    let (sender, mut first) = channel();
    assert!(first.try_recv().is_err());
    let values = (0..40).inspect(|_| {
        let mut passing = sender.new_receiver();
        assert!(passing.try_recv().is_err());
    });
    assert_eq!(sender.burst(values).next(), Some(1));
    assert_eq!(first.try_recv(), Ok(0));
}

#[test]
fn the_rest_of_an_iterator_is_not_touched() {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    let mut asked = 0;
    let mut leftover = sender.burst((0..100).inspect(|_| asked += 1));
    assert_eq!(leftover.size_hint(), (99, Some(99)));
    assert_eq!(leftover.next(), Some(1));
    drop(leftover);
    assert_eq!(asked, 2, "one handed over and one rejected");
}

#[test]
fn an_iterator_is_left_at_its_first_end() {
    let (sender, receiver) = channel();
    let mut calls = 0;
    let values = std::iter::from_fn(|| {
        calls += 1;
        (calls % 2 == 1).then_some(calls)
    });
    let mut leftover = sender.burst(values);
    assert_eq!([leftover.next(), leftover.next(), leftover.next()], [Some(1), None, None]);
    drop(receiver);
}
