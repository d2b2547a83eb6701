//! All adapters behave alike.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brigade_testkit::Watchdog;
use tokio::sync::mpsc;

use super::{Runtimes, VisitRuntime};
use crate::failure::{Failure, Outcome};
use crate::target::runtime::{
    Alarm as _, Downstream, Piped, Runtime, Sink, Source, Spawn, Start, Upstream,
};
use crate::target::{Accept, Family};

/// Runs `$body` on every target that runs this workload, with two threads, and ends it. All that run futures run `echo`.
macro_rules! on_every_target {
    ($body:ident) => {
        on_every_target!($body, "echo");
    };
    ($body:ident, $workload:literal) => {
        struct Body(&'static str);

        impl VisitRuntime for Body {
            fn visit<R: Runtime>(self, start: Start<R>) -> Outcome {
                let _watchdog = Watchdog::start(5);
                let runtime = start(2).expect("started");
                let outcome = $body(self.0, &runtime);
                runtime.shutdown();
                outcome.map(|()| Vec::new()).map_err(Failure::Refused)
            }
        }

        for target in Runtimes::TARGETS.iter().filter(|target| (target.runs)($workload)) {
            let outcome = Runtimes::accept(target, Body(target.name));
            outcome.unwrap_or_else(|error| panic!("{}: {error}", target.name));
        }
    };
}

/// A pipe of this runtime.
fn pipe<R: Runtime>() -> io::Result<(R::Writer, R::Reader)> {
    let (out, into) = rustix::pipe::pipe()?;
    R::pipe(into, out)
}

#[test]
fn a_task_runs_once_and_returns_its_result() {
    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        let ran = Arc::new(AtomicUsize::new(0));
        let results = runtime.block_on(async {
            let tasks = (0..100).map(|number| {
                let ran = Arc::clone(&ran);
                runtime.spawn(async move { (number, ran.fetch_add(1, Ordering::Relaxed)) })
            });
            let mut results = Vec::new();
            for task in tasks.collect::<io::Result<Vec<_>>>()? {
                results.push(task.await.0);
            }
            io::Result::Ok(results)
        })?;
        assert!(results.into_iter().eq(0..100), "{name}");
        assert_eq!(ran.load(Ordering::Relaxed), 100, "{name}");
        Ok(())
    }
    on_every_target!(body);
}

#[test]
fn a_task_waiting_for_a_link_lets_others_go_on() {
    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        runtime.block_on(async {
            // More tasks than threads, each of which needs what the next one sends.
            let (first, mut last) = mpsc::channel(1);
            let mut down = first;
            let mut tasks = Vec::new();
            for _ in 0..8 {
                let (writer, reader) = pipe::<R>()?;
                let (mut reader, mut before) = (Piped(reader), down);
                let (sender, mut receiver) = mpsc::channel(1);
                down = sender;
                tasks.push(runtime.spawn(async move {
                    let byte = reader.take().await.expect("a byte from the pipe");
                    assert!(before.pass(byte).await);
                })?);
                let mut writer = Piped(writer);
                tasks.push(runtime.spawn(async move {
                    let byte = receiver.take().await.expect("a byte from the next one");
                    assert!(writer.pass(byte + 1).await);
                })?);
            }
            assert!(down.pass(1).await, "{name}");
            assert_eq!(last.take().await, Some(9), "{name}");
            for task in tasks {
                task.await;
            }
            // All senders are gone, and nothing more is received.
            assert_eq!(last.take().await, None, "{name}");
            Ok(())
        })
    }
    on_every_target!(body);
}

#[test]
fn the_end_of_a_pipe_follows_its_last_byte() {
    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        runtime.block_on(async {
            let (mut writer, mut reader) = pipe::<R>()?;
            writer.put(b"abc").await?;
            drop(writer);
            let mut buffer = [0; 2];
            reader.fill(&mut buffer).await?;
            assert_eq!(&buffer, b"ab", "{name}");
            // Half of the requested bytes is no answer.
            assert!(reader.fill(&mut buffer).await.is_err(), "{name}");
            let (writer, reader) = pipe::<R>()?;
            drop(reader);
            // One that closes by io_uring does so a little later.
            let mut writer = Piped(writer);
            while writer.pass(1).await {}
            Ok(())
        })
    }
    on_every_target!(body);
}

#[test]
fn the_first_bytes_are_read_at_once() {
    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        runtime.block_on(async {
            let (mut writer, mut reader) = pipe::<R>()?;
            writer.put(b"abc").await?;
            let mut buffer = [0; 8];
            assert_eq!(reader.some(&mut buffer).await?, 3, "{name}");
            assert_eq!(&buffer[..3], b"abc", "{name}");
            drop(writer);
            assert_eq!(reader.some(&mut buffer).await?, 0, "{name}");
            Ok(())
        })
    }
    on_every_target!(body);
}

/// Bytes that are not read or written at once.
const SIZE: usize = 8 << 20;

#[test]
fn a_stream_carries_bytes_both_ways() {
    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let mut server = R::stream(listener.accept()?.0)?;
            let mut client = R::stream(client)?;
            let serve = runtime.spawn(async move {
                let mut all = vec![0; SIZE];
                server.fill(&mut all).await.expect("filled");
                server.put(&[u8::from(all == vec![3; SIZE])]).await
            })?;
            client.put(&vec![3; SIZE]).await?;
            let mut same = [0];
            client.fill(&mut same).await?;
            assert_eq!(same, [1], "{name}");
            serve.await
        })
    }
    on_every_target!(body);
}

#[test]
fn a_task_sleeps_and_spawns_another() {
    const TIME: Duration = Duration::from_millis(5);

    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        let (spawner, begun) = (runtime.spawner(), Instant::now());
        let (mut first, mut last) = mpsc::channel(1);
        let inside = spawner.clone();
        runtime.block_on(async {
            spawner.detach(async move {
                R::sleep(TIME).await;
                let passes = async move { assert!(first.pass(1).await) };
                inside.detach(passes).expect("spawned");
            })?;
            assert_eq!(last.take().await, Some(1), "{name}");
            assert!(begun.elapsed() >= TIME, "{name}");
            Ok(())
        })
    }
    on_every_target!(body);
}

#[test]
fn a_closure_runs_on_time_unless_cancelled() {
    const TIME: Duration = Duration::from_millis(20);

    fn body<R: Runtime>(name: &str, runtime: &R) -> io::Result<()> {
        let (sender, mut ran) = mpsc::unbounded_channel();
        runtime.block_on(async {
            let begun = Instant::now();
            let due = |number: u32| begun + TIME * (number + 1);
            let alarms = (0..3).map(|number| {
                let sender = sender.clone();
                runtime.execute_at(due(number), move || {
                    let _ = sender.send((number, Instant::now()));
                })
            });
            let [detached, cancelled, last] = alarms
                .collect::<io::Result<Vec<_>>>()?
                .try_into()
                .unwrap_or_else(|_| unreachable!("three of them"));
            cancelled.cancel();
            let in_time = Instant::now() < due(1);
            detached.detach();
            last.detach();
            let mut left = 2;
            while left > 0 {
                let (number, time) = ran.recv().await.expect("this one has a sender");
                assert!(time >= due(number), "{name}: {number} came too early");
                assert!(number != 1 || !in_time, "{name}: it is cancelled");
                left -= usize::from(number != 1);
            }
            Ok(())
        })
    }
    on_every_target!(body, "timers");
}

#[test]
fn a_runtime_ends_beside_an_endless_task() {
    fn body<R: Runtime>(_: &str, runtime: &R) -> io::Result<()> {
        runtime.spawner().detach(std::future::pending())
    }
    on_every_target!(body, "memory");
}
