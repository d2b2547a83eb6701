//! A byte goes round a ring, on one thread that drives and runs the tasks: the time of a hop, through pipes, which are reported
//! by level, and through sockets, which are reported by edge.
//!
//! `cargo run --release -p brigade-io --example ring -- 500 200`: 500 pipes or sockets, 200 rounds.

#![cfg_attr(not(unix), allow(dead_code, unused_imports))]

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use brigade_io::Driver;
#[cfg(unix)]
use brigade_io::{UnixStream, pipe};
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

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
        driver.drive(None, &mut Waker::wake).expect("one thread drives");
    }
}

/// Microseconds.
fn hop<R, W>(ends: impl Fn() -> io::Result<(R, W)>, stages: usize, rounds: usize) -> io::Result<f64>
where
    R: AsyncRead + Unpin + 'static,
    W: AsyncWrite + Unpin + 'static,
{
    let driver = Driver::new()?;
    let made: io::Result<Vec<_>> = driver.enter(|| (0..stages).map(|_| ends()).collect());
    let (readers, mut writers): (Vec<_>, Vec<_>) = made?.into_iter().unzip();
    writers.rotate_left(1);
    let tasks =
        readers.into_iter().zip(writers).enumerate().map(|(stage, (mut reader, mut writer))| {
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
    Ok(begun.elapsed().as_secs_f64() * 1e6 / (stages * rounds) as f64)
}

#[cfg(unix)]
fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse().ok());
    let stages = numbers.next().unwrap_or(500);
    let rounds = numbers.next().unwrap_or(200);
    for round in 0..3 {
        let pipes = hop(pipe, stages, rounds)?;
        let sockets = hop(UnixStream::pair, stages, rounds)?;
        println!("{round}: {pipes:.2} µs a hop of pipes, {sockets:.2} µs of sockets");
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    eprintln!("this example needs pipes, which brigade-io has on Unix only");
}
