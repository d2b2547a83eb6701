//! Channels between busy tasks: async-channel, flume and tokio's, which do not belong to any runtime.
//!
//! Every value is counted by the receiving task. The sending tasks never wait for anything but room, so the wall time says
//! whether the runtime puts the two ends on two threads, and the CPU time measures the cost of the wake-ups between them.

use std::ops::Range;

use tokio::sync::mpsc;

use crate::workloads::prelude::*;

/// The channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The channel of async-channel.
    AsyncChannel,
    /// The channel of flume.
    Flume,
    /// `tokio::sync::mpsc`, which has a single receiver.
    Tokio,
}

/// The number of values a channel has room for.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Capacity {
    /// All.
    Unbounded,
    /// This many.
    #[serde(untagged)]
    Of(u64),
}

/// The word for room for all values.
pub(crate) const UNBOUNDED: &str = "unbounded";

/// Reads a capacity.
fn capacity(text: &str) -> Result<Capacity, String> {
    if text == UNBOUNDED {
        return Ok(Capacity::Unbounded);
    }
    let number = whole::<1, { limits::MAX_ITEMS }>(text);
    number.map(Capacity::Of).map_err(|reason| format!("{reason}, or `unbounded`"))
}

/// Tasks that send to tasks that receive.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Channels {
    /// The channel.
    #[arg(long, value_enum, default_value = "tokio")]
    kind: Kind,
    /// Number of values it has room for, or `unbounded`.
    #[arg(long, default_value = "100", value_parser = capacity)]
    capacity: Capacity,
    /// Sending tasks.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    senders: u64,
    /// Receiving tasks.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    receivers: u64,
    /// Messages of all senders together, rounded down to a multiple of their number; at least one each.
    #[arg(long, default_value_t = 200_000, value_parser = whole::<1, { limits::MAX_VALUES }>)]
    messages: u64,
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
}

/// One message in this many warms up, through a separate channel and by separate tasks.
const WARM_UP: u32 = 10;

impl Workload for Channels {
    const DONE: &'static str = "send messages between busy tasks";
    const LIKE: &'static str =
        "It stands for producers and consumers: actors, work queues, stages of a pipeline.";
    type Family = Runtimes;

    const PINS: bool = true;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "message" "cpu-message";
        less "switches": "switches";
    };

    fn check(&self) -> Result<(), Stop> {
        let reason = "--receivers must be 1: tokio's channel has a single receiver";
        Stop::usage_if(self.kind == Kind::Tokio && self.receivers > 1, reason)
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.senders, (self.warm_up() + self.each()).into())
    }
}

impl RuntimeWorkload for Channels {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let (warm, all) = (self.warm_up(), self.warm_up() + self.each());
        self.all(runtime, 0..warm, bench)?;
        let (mut meter, lap, before) = (Meter::default(), Lap::begin(), Usage::now());
        self.all(runtime, warm..all, bench)?;
        let wall = meter.end(&lap).as_secs_f64();
        let messages = (u64::from(self.each()) * self.senders) as f64;
        let switches = before.since().switches() / messages;
        Ok(vec![wall / messages, meter.cpu.as_secs_f64() / messages, switches, meter.cpus()])
    }
}

impl Channels {
    /// Messages of each sender.
    fn each(&self) -> u32 {
        (self.messages / self.senders).max(1) as u32
    }

    /// Messages of each sender before the counted ones.
    fn warm_up(&self) -> u32 {
        (self.each() / WARM_UP).max(1)
    }

    /// Passes the messages with these numbers from all senders through a channel, and waits until all tasks have ended.
    fn all<R: Runtime>(&self, runtime: &R, numbers: Range<u32>, bench: &Bench) -> io::Result<()> {
        let fault = if numbers.start == 0 { bench.fault } else { Fault::None };
        let pass = (numbers, bench.tally, fault);
        let receivers = self.receivers as usize;
        let room = match self.capacity {
            Capacity::Of(room) => Some(room as usize),
            Capacity::Unbounded => None,
        };
        match (self.kind, room) {
            (Kind::AsyncChannel, room) => {
                let (sender, receiver) =
                    room.map_or_else(async_channel::unbounded, async_channel::bounded);
                self.over(runtime, pass, sender, iter::repeat_n(receiver, receivers))
            }
            (Kind::Flume, room) => {
                let (sender, receiver) = room.map_or_else(flume::unbounded, flume::bounded);
                self.over(runtime, pass, sender, iter::repeat_n(receiver, receivers))
            }
            (Kind::Tokio, Some(room)) => {
                let (sender, receiver) = mpsc::channel(room);
                self.over(runtime, pass, sender, [receiver])
            }
            (Kind::Tokio, None) => {
                let (sender, receiver) = mpsc::unbounded_channel();
                self.over(runtime, pass, sender, [receiver])
            }
        }
    }

    /// Sends all messages by clones of this sender, and receives them by these receivers.
    fn over<R: Runtime, D: Downstream<u64> + Clone, U: Upstream<u64>>(
        &self,
        runtime: &R,
        (numbers, tally, fault): (Range<u32>, &'static Tally, Fault),
        sender: D,
        receivers: impl IntoIterator<Item = U>,
    ) -> io::Result<()> {
        runtime.block_on(async {
            let receive = receivers.into_iter().map(|receiver| receive(receiver, tally));
            let receive = receive.map(|receive| runtime.spawn(receive));
            let mut tasks = receive.collect::<io::Result<Vec<_>>>()?;
            for number in 0..self.senders as u32 {
                let fault = if number == 0 { fault } else { Fault::None };
                tasks.push(runtime.spawn(send(sender.clone(), number, numbers.clone(), fault))?);
            }
            // The end of the last sender closes the channel.
            drop(sender);
            for task in tasks {
                task.await;
            }
            Ok(())
        })
    }
}

/// Sends the messages with these numbers.
async fn send<D: Downstream<u64>>(mut sender: D, task: u32, numbers: Range<u32>, fault: Fault) {
    let first = numbers.start;
    for number in numbers {
        for _ in 0..fault.copies(number - first) {
            // The tally misses a message that comes back.
            let _ = sender.pass((u64::from(task) << 32) | u64::from(number)).await;
        }
    }
}

/// Counts all messages received at this end.
async fn receive<U: Upstream<u64>>(mut receiver: U, tally: &'static Tally) {
    while let Some(message) = receiver.take().await {
        tally.ran((message >> 32) as u32, message as u32);
    }
}

impl Downstream<u64> for async_channel::Sender<u64> {
    #[inline]
    async fn pass(&mut self, value: u64) -> bool {
        self.send(value).await.is_ok()
    }
}

impl Upstream<u64> for async_channel::Receiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv().await.ok()
    }
}

impl Downstream<u64> for flume::Sender<u64> {
    #[inline]
    async fn pass(&mut self, value: u64) -> bool {
        self.send_async(value).await.is_ok()
    }
}

impl Upstream<u64> for flume::Receiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv_async().await.ok()
    }
}

impl Downstream<u64> for mpsc::UnboundedSender<u64> {
    #[inline]
    async fn pass(&mut self, value: u64) -> bool {
        self.send(value).is_ok()
    }
}

impl Upstream<u64> for mpsc::UnboundedReceiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv().await
    }
}

#[cfg(test)]
mod tests;
