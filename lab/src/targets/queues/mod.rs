//! The queues under test, without a pool around them, and their tables.

mod brigade;
mod crossbeam;
mod rings;

use brigade_queue::ShardedInjector;
use crossbeam_deque::Worker;
use crossbeam_queue::SegQueue;

use self::brigade::SHARDS;
use crate::target::queue::{CAPACITY, VisitQueue};
use crate::target::{Entry, family};

family! {
    /// Queues with a single owner and thieves, and queues shared by all threads.
    Queues: VisitQueue;
    own("brigade-lifo", "brigade: lifo::Worker, bounded") => visit(|| brigade_queue::lifo::Worker::new(CAPACITY));
    own("brigade-fifo", "brigade: fifo::Worker, bounded") => visit(|| brigade_queue::fifo::Worker::new(CAPACITY));
    peer("st3-lifo", "st3: lifo::Worker, bounded") => visit(|| ::st3::lifo::Worker::new(CAPACITY));
    peer("st3-fifo", "st3: fifo::Worker, bounded") => visit(|| ::st3::fifo::Worker::new(CAPACITY));
    #[cfg(feature = "full")]
    own("brigade-st3-lifo", "st3's lifo::Worker on brigade").further()
        => visit(|| brigade_st3::lifo::Worker::new(CAPACITY));
    #[cfg(feature = "full")]
    own("brigade-st3-fifo", "st3's fifo::Worker on brigade").further()
        => visit(|| brigade_st3::fifo::Worker::new(CAPACITY));
    // tokio's queue behind the interface of st3, built by `ci/lab.sh st3`.
    peer("tokio-fifo", "tokio's queue, as st3's benchmark has it, bounded")
        .elsewhere("brigade-lab-st3-tokio", "st3-fifo");
    peer("crossbeam-lifo", "crossbeam-deque: Worker::new_lifo") => visit(Worker::new_lifo);
    peer("crossbeam-fifo", "crossbeam-deque: Worker::new_fifo") => visit(Worker::new_fifo);
    own("brigade-injector", "brigade: Injector") => visit_injector(brigade_queue::Injector::new);
    own("brigade-sharded", "brigade: ShardedInjector") => visit_injector(|| ShardedInjector::new(SHARDS));
    peer("crossbeam-injector", "crossbeam-deque: Injector") => visit_injector(crossbeam_deque::Injector::new);
    peer("segqueue", "crossbeam-queue: SegQueue") => visit_injector(SegQueue::new);
}

/// Whether thieves of this deque may ask for any number of items: those of tokio's queue take half of them.
pub(crate) fn steals_any_number(target: &Entry) -> bool {
    target.name != "tokio-fifo"
}

/// Whether any thread pushes to this queue and pops from it, and none owns it.
pub(crate) fn is_injector(target: &Entry) -> bool {
    ["brigade-injector", "brigade-sharded", "crossbeam-injector", "segqueue"].contains(&target.name)
}

#[cfg(test)]
mod tests;
