//! st3's second benchmark: a toy executor, whose workers steal when they are out of work.
//!
//! The numbers of tasks and of their steps are drawn once per worker and are the same for every
//! target and repetition; the steals depend on the kernel's scheduling.

use super::race::Race;
use super::{Queue, fill};

use crate::target::queue::{CAPACITY, Deque, Item, Make, Missed};
use crate::workloads::prelude::*;

/// The most steps of a task.
const STEPS: u64 = 100;

/// The factor that makes room for the number of steps left to a task.
const LEFT: u64 = 128;

/// The numbers of a worker.
fn random(worker: u64) -> SmallRng {
    SmallRng::seed_from_u64(worker)
}

/// The first tasks of a worker. The lower digits of a task are the steps after the first, the
/// others distinguish it from all other tasks.
fn tasks(worker: u64) -> Vec<Item> {
    let mut random = random(worker);
    let count = random.random_range(1..=CAPACITY as u64);
    let task = |index| {
        let identity = scramble(worker * CAPACITY as u64 + index).wrapping_mul(LEFT);
        identity + random.random_range(0..STEPS)
    };
    (0..count).map(task).collect()
}

/// Every step of all tasks of so many workers: a task counts down.
pub(super) fn expected(workers: u64) -> Sum {
    let steps = |task: Item| (0..=task % LEFT).map(move |done| task - done);
    (0..workers).flat_map(tasks).flat_map(steps).collect()
}

impl Queue {
    /// Runs all tasks, again and again.
    pub(super) fn execute<D: Deque>(&self, make: Make<D>, bench: &Bench) -> Outcome {
        let (tally, total) = (bench.tally, self.total());
        let race = Arc::new(Race::new(self.workers() as usize));
        let deques: Vec<D> = iter::repeat_with(make).take(self.workers() as usize).collect();
        let stealers: Vec<_> = deques.iter().map(D::stealer).collect();
        let mut workers = deques.into_iter().zip(0..).map(|(deque, index)| {
            let mut victims = stealers.clone();
            victims.remove(index as usize);
            let (tasks, random) = (tasks(index), random(index));
            Worker { deque, victims, tasks, random, race: Arc::clone(&race), tally }
        });
        let mut first = workers.next().expect("one at least");
        let others = workers.map(|mut worker| {
            on_thread(move || (0..total).try_for_each(|_| worker.repetition(Fault::None).map(drop)))
        });
        let others: Vec<_> = others.collect();
        let values = self.repeat(bench, |fault| first.repetition(fault))?;
        others.into_iter().try_for_each(joined)?;
        Ok(values)
    }
}

/// A thread of the executor.
struct Worker<D: Deque> {
    /// The worker's queue.
    deque: D,
    /// The queues of all others, in any order.
    victims: Vec<D::Stealer>,
    /// The tasks at the beginning of each repetition.
    tasks: Vec<Item>,
    /// Chooses which to steal from.
    random: SmallRng,
    /// The race of all workers.
    race: Arc<Race>,
    /// Counts the steps.
    tally: &'static Tally,
}

impl<D: Deque> Worker<D> {
    /// Takes part in a repetition and returns the time.
    fn repetition(&mut self, fault: Fault) -> Result<f64, Failure> {
        fill(&self.deque, &self.tasks, fault);
        let (race, tally) = (Arc::clone(&self.race), self.tally);
        let (time, ran) = race.run(tally, || self.work())?;
        tally.add(ran?);
        Ok(time)
    }

    /// Runs tasks until there are none, and returns the tasks run.
    fn work(&mut self) -> Result<Sum, Failure> {
        let mut sum = Sum::default();
        while let Some(task) = self.next()? {
            sum.note(task);
            if task % LEFT > 0 {
                // A bounded queue may be full for as long as a thief copies the stolen items.
                while self.deque.push(task - 1).is_err() {
                    self.tally.go_on()?;
                }
            }
        }
        Ok(sum)
    }

    /// Takes a task of its own, or else a task of another worker, together with half of that
    /// worker's tasks. `None` if every queue was found empty.
    #[inline]
    fn next(&mut self) -> Result<Option<Item>, Failure> {
        if let Some(task) = self.deque.pop() {
            return Ok(Some(task));
        }
        let mut unseen = self.victims.len();
        while unseen > 0 {
            let victim = self.random.random_range(0..unseen);
            match self.deque.steal_half(&self.victims[victim]) {
                Ok(task) => return Ok(Some(task)),
                Err(Missed::Busy) => self.tally.go_on()?,
                Err(Missed::Empty) => {
                    unseen -= 1;
                    self.victims.swap(victim, unseen);
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, LEFT, STEPS, tasks};

    #[test]
    fn tasks_repeat_within_their_limits() {
        for worker in 0..256 {
            let some = tasks(worker);
            assert_eq!(some, tasks(worker));
            assert!((1..=CAPACITY).contains(&some.len()), "{worker}");
            assert!(some.iter().all(|task| task % LEFT < STEPS), "{worker}");
        }
    }

    #[test]
    fn the_first_worker_has_room_for_a_double_task() {
        assert!(tasks(0).len() < CAPACITY);
    }
}
