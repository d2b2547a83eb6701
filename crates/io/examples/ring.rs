//! A byte goes round a ring of pipes, on one thread that drives and runs the tasks: the time of a hop, by trigger.
//!
//! `cargo run --release -p brigade-io --example ring -- 500 200`: 500 pipes, 200 rounds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use brigade_io::{Driver, Trigger, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

/// Which task to run next.
struct Number(usize, Sender<usize>);

impl Wake for Number {
    fn wake(self: Arc<Self>) {
        let _ = self.1.send(self.0);
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Runs the tasks until the first of them has ended.
fn run(driver: &Driver, mut tasks: Vec<Task>, queue: (Sender<usize>, Receiver<usize>)) {
    let (sender, woken) = queue;
    let waker = |number| Waker::from(Arc::new(Number(number, sender.clone())));
    let wakers: Vec<_> = (0..tasks.len()).map(waker).collect();
    wakers.iter().for_each(Waker::wake_by_ref);
    loop {
        while let Ok(number) = woken.try_recv() {
            let ended = tasks[number].as_mut().poll(&mut Context::from_waker(&wakers[number]));
            if number == 0 && ended.is_ready() {
                return;
            }
        }
        driver.drive(None, &mut Waker::wake).expect("nobody else drives");
    }
}

fn hop(trigger: Trigger, pipes: usize, rounds: usize) -> std::io::Result<f64> {
    let driver = Driver::with_trigger(trigger)?;
    let made: std::io::Result<Vec<_>> = driver.enter(|| (0..pipes).map(|_| pipe()).collect());
    let (readers, mut writers): (Vec<_>, Vec<_>) = made?.into_iter().unzip();
    writers.rotate_left(1);
    let stages = readers.into_iter().zip(writers).enumerate();
    let tasks = stages.map(|(stage, (mut reader, mut writer))| {
        Box::pin(async move {
            let mut buffer = [0; 16];
            for _ in 0..rounds {
                if stage == 0 {
                    writer.write_all(b"x").await.expect("its reader is there");
                }
                let length = reader.read(&mut buffer).await.expect("its writer is there");
                if stage != 0 {
                    writer.write_all(&buffer[..length]).await.expect("its reader is there");
                }
            }
        }) as Task
    });
    let tasks = tasks.collect();
    let begun = Instant::now();
    run(&driver, tasks, mpsc::channel());
    Ok(begun.elapsed().as_secs_f64() / (pipes * rounds) as f64)
}

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse().ok());
    let pipes = numbers.next().unwrap_or(500);
    let rounds = numbers.next().unwrap_or(200);
    for round in 0..3 {
        for trigger in [Trigger::Level, Trigger::Edge, Trigger::Oneshot] {
            let hop = hop(trigger, pipes, rounds)?;
            println!("{round} {trigger:?}: {:.2} µs a hop", hop * 1e6);
        }
    }
    Ok(())
}
