//! What `all` measures. `--full` is the table of the project's goals; `--quick` is small enough for
//! somebody who only wants a first look.

use crate::resident;
use crate::workloads::burst::TABLE;
use crate::workloads::queue::{Executor, Fill, PushPop, Steal};
use crate::workloads::{
    BucketBrigade, Burst, Creation, Echo, Elastic, FanOut, Latency, Memory, Over, Pattern, Queue,
    Row, Submit, Throughput, Wake, What,
};

/// A row of `throughput` without work in its tasks.
fn throughput(threads: u64, producers: u64, messages: u64, amplification: u64) -> Row {
    let (pre, post) = (0, 0);
    Row::Throughput(Throughput { threads, producers, messages, amplification, pre, post })
}

/// A row of `latency` on two threads with one producer, 100 messages and 100 tasks after each.
fn latency(sleep_ms: u64, bursts: u64) -> Row {
    let (producers, messages, amplification) = (1, 100, 100);
    Row::Latency(Latency { threads: 2, producers, messages, amplification, sleep_ms, bursts })
}

/// The three rows of `submit`.
fn submit(sleepers: u64, contended: u64, empty: u64) -> impl Iterator<Item = Row> {
    let patterns =
        [(Pattern::Sleepers, sleepers), (Pattern::Contended, contended), (Pattern::Empty, empty)];
    patterns
        .into_iter()
        .map(|(pattern, messages)| Row::Submit(Submit { pattern, threads: 10, messages }))
}

/// A row of `elastic`: bursts of 16 jobs on pools of one thread to 16.
fn elastic(keep_alive_ms: u64, block_ms: u64, bursts: u64) -> Row {
    Row::Elastic(Elastic { core: 1, max: 16, keep_alive_ms, jobs: 16, block_ms, bursts })
}

/// A row of `burst`, with threads that are busy for a millisecond with a value.
fn burst((messages, receivers): (u64, u64), gap_us: u64, bursts: u64) -> Row {
    Row::Burst(Burst { messages, receivers, gap_us, block_ms: 1, bursts })
}

/// A row of `queue` on injectors.
fn fill(producers: u64, repetitions: u64) -> Row {
    Row::Queue(Queue::Fill(Fill { producers, items: 1_500, repetitions }))
}

/// A row of `queue` on an executor with four workers.
fn executor(repetitions: u64) -> Row {
    Row::Queue(Queue::Executor(Executor { workers: 4, repetitions }))
}

/// A row of `bucket-brigade` on two threads.
fn brigade(over: Over, tasks: u64, iterations: u64, in_flight: u64) -> Row {
    Row::BucketBrigade(BucketBrigade { over, tasks, iterations, in_flight, threads: 2 })
}

/// A row of `creation`.
fn creation(kind: What, tasks: u64, repetitions: u64) -> Row {
    Row::Creation(Creation { kind, tasks, repetitions, threads: 2 })
}

/// A row of `memory`, where it can be measured.
fn memory(tasks: u64) -> Option<Row> {
    resident::POSSIBLE.then_some(Row::Memory(Memory { tasks, threads: 2 }))
}

/// A row of `echo`.
fn echo(connections: u64, requests: u64) -> Row {
    Row::Echo(Echo { connections, requests, threads: 2 })
}

/// A little of everything, in under two minutes.
pub(crate) fn quick() -> Vec<Row> {
    let mut rows = vec![
        throughput(2, 2, 200_000, 1),
        throughput(2, 2, 200, 2_000),
        throughput(2, 1, 1, 200_000),
        Row::FanOut(FanOut { threads: 2, children: 64, work_us: 20, shots: 60 }),
        latency(5, 40),
    ];
    rows.extend(submit(100_000, 10_000, 100_000));
    rows.push(Row::Wake(Wake { threads: 2, shots: 100 }));
    rows.push(elastic(10, 10, 1));
    rows.push(Row::Queue(Queue::PushPop(PushPop::small(200))));
    rows.extend([executor(50), fill(1, 200)]);
    rows.extend(TABLE.map(|pair| burst(pair, 1_000, 20)));
    rows.extend([brigade(Over::Pipe, 200, 100, 1), brigade(Over::Channel, 200, 200, 1)]);
    rows.extend([creation(What::Task, 1_000, 20), creation(What::Thread, 100, 5)]);
    rows.extend(memory(2_000));
    rows.push(echo(64, 5_000));
    rows
}

/// Everything behind the project's numbers.
pub(crate) fn full() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend([1, 2, 4].map(|threads| throughput(threads, 2, 500_000, 1)));
    rows.extend([1, 2, 4].map(|threads| throughput(threads, 2, 200, 5_000)));
    rows.push(throughput(2, 1, 1, 500_000));
    rows.push(Row::FanOut(FanOut { threads: 2, children: 64, work_us: 20, shots: 200 }));
    rows.push(latency(10, 100));
    rows.extend(submit(1_000_000, 100_000, 1_000_000));
    rows.push(Row::Wake(Wake { threads: 2, shots: 300 }));
    rows.push(elastic(50, 20, 5));
    rows.extend(
        [PushPop::small(400), PushPop::large(200)].map(|row| Row::Queue(Queue::PushPop(row))),
    );
    rows.push(executor(200));
    rows.extend(
        [1, 8, 32, 128].map(|batch| Row::Queue(Queue::Steal(Steal { batch, repetitions: 1_000 }))),
    );
    rows.extend([1, 2].map(|producers| fill(producers, 1_000)));
    rows.extend(TABLE.map(|pair| burst(pair, 5_000, 80)));
    let gaps = [(10, 200), (100, 200), (1_000, 100), (10_000, 20), (100_000, 10)];
    rows.extend(gaps.map(|(gap_us, bursts)| burst((1, 3), gap_us, bursts)));
    for over in [Over::Pipe, Over::Channel] {
        rows.extend([(1, 500), (64, 2_000)].map(|(b, bytes)| brigade(over, 500, bytes, b)));
    }
    rows.extend([creation(What::Task, 10_000, 20), creation(What::Thread, 1_000, 10)]);
    rows.extend(memory(8_000));
    rows.extend([1, 64, 1_000].map(|connections| echo(connections, 30_000)));
    rows
}

#[cfg(test)]
mod tests {
    use crate::targets::Family;

    #[test]
    fn every_plan_has_a_row_for_every_target() {
        for plan in [super::quick(), super::full()] {
            for family in Family::ALL {
                assert!(plan.iter().any(|row| row.family() == family), "{family:?}");
            }
        }
    }

    #[test]
    fn what_takes_part_in_a_row_unnamed_is_a_target_of_its_family() {
        for row in super::full() {
            for name in row.further() {
                assert!(row.family().targets().any(|entry| entry.name == *name), "{name}");
            }
        }
    }

    #[test]
    fn every_planned_row_is_within_the_limits() {
        for row in super::quick().iter().chain(&super::full()) {
            assert!(row.check().is_ok(), "{row:?}");
        }
    }
}
