//! Several values at once for waiting threads: when each value is received.
//!
//! It is burst-pool's own benchmark. All times count from the same moment, just before the first value is
//! handed over, so a value's time includes the sender's work for the values before it. A thread is busy for
//! a while with a received value. So no thread gets two values of a burst with no more values than threads.
//!
//! A returned value is not sent again. It is counted, and it has no time. A queueing target has a time
//! for it, which includes the time until a thread is free. So with more values than
//! threads the two kinds of targets can't be compared directly.
//!
//! The pause begins when all threads are done with the values they have received. The sender sees that a
//! little later, so the pause is some ten microseconds too long. A thread then starts to wait again; if
//! it does not wait yet when the next burst begins, a value for it is returned.

use std::str::FromStr;

use serde_json::Number;

use crate::clock;
use crate::inbox::{Inbox, Value};
use crate::setup::{SETTLE, started};
use crate::stats::sorted;
use crate::target::handover::{Handover, Start, VisitHandover};
use crate::targets::handovers::Handovers;
use crate::workloads::prelude::*;

/// Options of `burst`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Burst {
    /// Values of a burst.
    #[arg(long, default_value_t = 3, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) messages: u64,
    /// Waiting threads.
    #[arg(long, default_value_t = 3, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) receivers: u64,
    /// Milliseconds of quiet before each burst, 0.01 at least
    #[arg(long, default_value = "5", value_parser = gap)]
    pub(crate) gap_ms: Number,
    /// Milliseconds for which a thread is busy with a value, asleep
    #[arg(long, default_value_t = 1, value_parser = whole::<0, { limits::MAX_BLOCK_MS }>)]
    pub(crate) block_ms: u64,
    /// Bursts in a run [default: those of half a second, 10 at least]
    #[arg(long, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) bursts: Option<u64>,
}

/// Reads milliseconds: a shorter sleep would be none.
fn gap(text: &str) -> Result<Number, String> {
    let number = Number::from_str(text).ok();
    let is_one =
        |number: &Number| number.as_f64().is_some_and(|ms| (0.01..=10_000.0).contains(&ms));
    number.filter(is_one).ok_or_else(|| "must be a number from 0.01 to 10000".to_owned())
}

/// Bursts before the counted ones; an injected fault is in the first.
const WARM_UP: u64 = 3;

/// Milliseconds of a run whose bursts are not given.
const RUN_MS: f64 = 500.0;
/// The fewest bursts in it: with less there is no median to speak of.
const FEWEST: u64 = 10;

/// The sender sleeps at least this long after a burst, as reading the times must not take a CPU from a receiver.
const MEANWHILE: Duration = Duration::from_micros(400);

/// The longest time between two looks for threads still busy.
const LOOK: Duration = Duration::from_micros(50);

impl Workload for Burst {
    const DONE: &'static str = "hand values to waiting threads";
    const LIKE: &'static str = "It stands for a receiver that distributes packets, frames or orders to threads which sleep between them.";
    type Family = Handovers;
    const HEADLINE: usize = 2;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "p1" "p10" "p50" "p90" "p99" "p99.9" "max" "mean" "stddev" "first" "last"
            "sender";
        less "values": "refused";
    };

    fn params(&self) -> Params {
        fields(&Burst { bursts: Some(self.bursts()), ..self.clone() })
    }

    fn check(&self) -> Result<(), Stop> {
        let values = [self.messages, WARM_UP + self.bursts()];
        limits::product("values", &values, limits::MAX_VALUES)
    }

    fn threads(&self) -> usize {
        self.receivers as usize
    }

    fn quiet(&self) -> Duration {
        self.gap() + self.meanwhile()
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.messages, WARM_UP + self.bursts())
    }
}

impl VisitHandover for Run<Burst> {
    fn visit(self, start: Start) -> Outcome {
        counted(self.workload, self.bench, move |workload, bench| {
            let mut target =
                started(|threads| start(threads, workload.inbox(bench)), workload.threads())?;
            thread::sleep(SETTLE);
            let values = workload.run(&mut target, bench)?;
            target.shutdown();
            Ok(values)
        })
    }
}

impl Burst {
    /// The inbox to which the threads pass the values of a run.
    fn inbox(&self, bench: &Bench) -> &'static Inbox {
        let busy = self.busy();
        Inbox::leak(bench.tally, self.messages as usize, move || thread::sleep(busy))
    }

    /// Runs once.
    fn run(&self, target: &mut Handover, bench: &Bench) -> Outcome {
        clock::sleep_short();
        let mut times = Times::default();
        for number in 0..WARM_UP {
            self.burst(number, target, bench, &mut times)?;
        }
        times = Times { taken: times.taken, ..Times::default() };
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        for number in WARM_UP..WARM_UP + self.bursts() {
            self.burst(number, target, bench, &mut times)?;
        }
        // The pauses are timed too: the CPU time of waiting threads is part of the price of waking them.
        meter.end(&lap);
        times.values(self.bursts(), &meter, bench)
    }

    /// Sends the burst with this number after a pause and waits until all threads are done with it.
    fn burst(
        &self,
        number: u64,
        target: &mut Handover,
        bench: &Bench,
        times: &mut Times,
    ) -> Result<(), Failure> {
        let (inbox, mut back) = (target.inbox, Vec::new());
        let fault = if number == 0 { bench.fault } else { Fault::None };
        let values = fault.tasks(0..self.messages as u32);
        let values: Vec<_> = values.map(|index| Value { burst: number as u32, index }).collect();
        times.taken += values.len() as u64;
        inbox.clear();
        thread::sleep(self.gap());
        let begun = inbox.epoch.nanos();
        target.burst(values, &mut back);
        times.senders.push(seconds(inbox.epoch.nanos() - begun));
        times.taken -= back.len() as u64;
        times.refused += back.len() as u64;
        back.into_iter().for_each(|value| inbox.refuse(value));
        thread::sleep(self.meanwhile());
        bench.tally.wait_for((number + 1) * self.messages)?;
        let look = self.gap().min(LOOK);
        while inbox.done() < times.taken {
            bench.tally.go_on()?;
            thread::sleep(look);
        }
        times.note(begun, inbox);
        Ok(())
    }

    /// Counted bursts in a run.
    fn bursts(&self) -> u64 {
        let usual = RUN_MS / (self.gap().as_secs_f64() * 1e3 + self.block_ms as f64);
        self.bursts.unwrap_or((usual as u64).max(FEWEST))
    }

    /// Time of quiet before a burst.
    fn gap(&self) -> Duration {
        Duration::from_secs_f64(self.gap_ms.as_f64().unwrap_or_default() / 1e3)
    }

    /// Time for which a thread is busy with a value.
    fn busy(&self) -> Duration {
        Duration::from_millis(self.block_ms)
    }

    /// Time after a burst in which the sender does nothing at all.
    fn meanwhile(&self) -> Duration {
        self.busy().max(MEANWHILE)
    }
}

/// Times of a run, in seconds from the beginning of each burst.
#[derive(Default)]
struct Times {
    /// Of each received value.
    values: Vec<f64>,
    /// Of the first of each burst.
    firsts: Vec<f64>,
    /// Of the last of each burst.
    lasts: Vec<f64>,
    /// Of the sender's last line, by burst.
    senders: Vec<f64>,
    /// Returned values.
    refused: u64,
    /// Received values, over all bursts, warm-up included.
    taken: u64,
}

impl Times {
    /// Records the results of the burst begun at `begun`.
    fn note(&mut self, begun: u64, inbox: &Inbox) {
        let received = inbox.times().map(|time| seconds(time.saturating_sub(begun)));
        let received = sorted(received.collect());
        // A burst of which all values were returned has neither.
        self.firsts.extend(received.first());
        self.lasts.extend(received.last());
        self.values.extend(received);
    }

    /// The values of the metrics.
    fn values(self, bursts: u64, meter: &Meter, bench: &Bench) -> Outcome {
        if self.values.is_empty() {
            return Err(Failure::Unreceived);
        }
        let (mean, deviation) = moments(&self.values);
        let shares = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0];
        let values = bench.quantiles(self.values, shares);
        let [first, last, sender] = [self.firsts, self.lasts, self.senders].map(median);
        let refused = self.refused as f64 / bursts as f64;
        let others = [mean, deviation, first, last, sender, refused, meter.cpus()];
        Ok([&values[..], &others].concat())
    }
}

#[cfg(test)]
mod tests;
