//! `Worker::steal_from`: the search over the rings of other workers.

use brigade_queue::{Limit, Order, StealError, Worker, fifo, lifo};

fn workers<O: Order>() -> [Worker<u32, O>; 4] {
    [(); 4].map(|()| Worker::new(8))
}

#[test]
fn a_search_begins_where_it_is_told_and_looks_once_at_each_ring_but_the_own() {
    fn body<O: Order>() {
        for (start, order) in [(0, [0, 1, 3]), (1, [1, 3, 0]), (2, [3, 0, 1]), (7, [3, 0, 1])] {
            let workers = workers::<O>();
            let stealers = workers.each_ref().map(Worker::stealer);
            for (number, worker) in (0..).zip(&workers) {
                worker.extend([number]);
            }
            let thief = &workers[2];
            let found = order.map(|_| thief.steal_from(&stealers, start, Limit::Half));
            assert_eq!(found, order.map(Ok), "from {start}");
            assert_eq!(thief.steal_from(&stealers, start, Limit::Half), Err(StealError::Empty));
            assert_eq!(thief.pop(), Some(2), "the own item is still there");
        }
        let alone = Worker::<u32, O>::new(2);
        assert_eq!(alone.steal_from(&[], 5, Limit::Half), Err(StealError::Empty));
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_search_returns_the_oldest_item_and_moves_as_many_as_the_limit_says() {
    let workers = workers::<fifo::Fifo>();
    let stealers = workers.each_ref().map(Worker::stealer);
    workers[3].extend(0..8);
    assert_eq!(workers[0].steal_from(&stealers, 0, Limit::HalfAtMost(3)), Ok(0));
    assert_eq!((workers[0].len(), workers[3].len()), (2, 5));
    assert_eq!(workers[0].pop(), Some(1));
}

#[test]
fn a_ring_with_another_thief_is_passed_by_and_reported_if_nothing_else_is_found() {
    let workers = workers::<fifo::Fifo>();
    let stealers = workers.each_ref().map(Worker::stealer);
    workers[1].extend(0..4);
    let claim = workers[1].drain(|_| 1).unwrap();
    assert_eq!(workers[0].steal_from(&stealers, 0, Limit::Half), Err(StealError::Busy));
    workers[3].extend([7]);
    assert_eq!(workers[0].steal_from(&stealers, 0, Limit::Half), Ok(7));
    drop(claim);
    assert_eq!(workers[0].steal_from(&stealers, 0, Limit::Half), Ok(1));
}
