//! All adapters behave alike.

use super::{Queues, VisitQueue, is_injector};
use crate::failure::Outcome;
use crate::target::queue::{CAPACITY, Deque, Injector, Item, MOST_STOLEN, Make, Missed};
use crate::target::{Accept, Family};

/// Runs `$body` on every deque.
macro_rules! on_every_deque {
    ($body:ident) => {
        struct Body(&'static str);

        impl VisitQueue for Body {
            fn visit<D: Deque>(self, make: Make<D>) -> Outcome {
                $body(self.0, make);
                Ok(Vec::new())
            }

            fn visit_injector<I: Injector>(self, _: Make<I>) -> Outcome {
                unreachable!("{} is a deque", self.0)
            }
        }

        let here = Queues::TARGETS.iter().filter(|target| target.elsewhere.is_none());
        let deques = here.filter(|target| !is_injector(target));
        deques.for_each(|target| assert!(Queues::accept(target, Body(target.name)).is_ok()));
    };
}

/// A deque with the items `0..count`.
fn filled<D: Deque>(make: Make<D>, count: usize) -> D {
    let deque = make();
    (0..count).for_each(|item| assert_eq!(deque.push(item as Item), Ok(())));
    deque
}

/// The remaining items, in ascending order.
fn rest<D: Deque>(deque: &D) -> Vec<Item> {
    let mut rest: Vec<_> = std::iter::from_fn(|| deque.pop()).collect();
    rest.sort_unstable();
    rest
}

#[test]
fn the_name_says_the_owners_end() {
    fn body<D: Deque>(name: &str, make: Make<D>) {
        let next = filled(make, CAPACITY).pop();
        let newest = name.ends_with("lifo");
        assert_eq!(next, Some(if newest { CAPACITY as Item - 1 } else { 0 }), "{name}");
    }
    on_every_deque!(body);
}

#[test]
fn a_theft_of_a_batch_moves_the_oldest_ones() {
    fn body<D: Deque>(name: &str, make: Make<D>) {
        for batch in [1, 8, CAPACITY / 2] {
            let (victim, thief) = (filled(make, CAPACITY), make());
            assert_eq!(thief.steal(&victim.stealer(), batch), Ok(()), "{name}");
            assert_eq!(rest(&thief), (0..batch as Item).collect::<Vec<_>>(), "{name}");
            assert_eq!(rest(&victim).len(), CAPACITY - batch, "{name}");
        }
        assert_eq!(make().steal(&make().stealer(), 8), Err(Missed::Empty), "{name}");
    }
    on_every_deque!(body);
}

#[test]
fn a_half_theft_returns_one_and_moves_the_rest() {
    fn body<D: Deque>(name: &str, make: Make<D>) {
        for (count, taken) in [(1, 1), (2, 1), (5, 3), (CAPACITY, MOST_STOLEN)] {
            let (victim, thief) = (filled(make, count), make());
            let item = thief.steal_half(&victim.stealer()).expect("something to take");
            let mut stolen = rest(&thief);
            stolen.push(item);
            stolen.sort_unstable();
            assert_eq!(stolen, (0..taken as Item).collect::<Vec<_>>(), "{count} in {name}");
            assert_eq!(rest(&victim).len(), count - taken, "{count} in {name}");
        }
        assert_eq!(make().steal_half(&make().stealer()), Err(Missed::Empty), "{name}");
    }
    on_every_deque!(body);
}

#[test]
fn an_injector_keeps_the_order() {
    struct Body(&'static str);

    impl VisitQueue for Body {
        fn visit<D: Deque>(self, _: Make<D>) -> Outcome {
            unreachable!("{} is an injector", self.0)
        }

        fn visit_injector<I: Injector>(self, make: Make<I>) -> Outcome {
            let injector = make();
            (0..100).for_each(|word| assert_eq!(injector.push(0, [word; 4]), Ok(()), "{}", self.0));
            (0..100).for_each(|word| assert_eq!(injector.pop(), Some([word; 4]), "{}", self.0));
            assert_eq!(injector.pop(), None, "{}", self.0);
            Ok(Vec::new())
        }
    }

    let injectors = Queues::TARGETS.iter().filter(|target| is_injector(target));
    injectors.for_each(|target| assert!(Queues::accept(target, Body(target.name)).is_ok()));
}
