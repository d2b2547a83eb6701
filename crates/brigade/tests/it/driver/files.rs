//! I/O resources that tasks wait for, polled by the workers.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use crate::support::pipes::{PipeReader, PipeWriter, pipe};
use brigade::io::{TcpListener, TcpStream};
use brigade::{Cause, JoinError, Pool, Shutdown};
use brigade_testkit::{Drops, Gate, eventually, stays, test};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

/// Passes bytes on until there are none any more.
async fn pass(mut from: PipeReader, mut to: PipeWriter) -> io::Result<u64> {
    let mut passed = 0;
    let mut byte = [0];
    while from.read(&mut byte).await? == 1 {
        to.write_all(&byte).await?;
        passed += 1;
    }
    Ok(passed)
}

#[test(threads in [1, 2, 4])]
fn a_byte_passes_through_100_tasks(threads: usize) {
    let pool = Pool::new(threads);
    let (mut last, mut first) = pool.handle().enter(pipe).unwrap();
    let stages: Vec<_> = (0..100)
        .map(|_| {
            let (reader, writer) = pool.handle().enter(pipe).unwrap();
            let from = std::mem::replace(&mut last, reader);
            pool.spawn(pass(from, writer))
        })
        .collect();
    let sum = pool.spawn(async move {
        let mut sum = 0_u64;
        for byte in 0..200 {
            first.write_all(&[byte]).await?;
            let mut got = [0];
            last.read_exact(&mut got).await?;
            assert_eq!(got, [byte]);
            sum += u64::from(byte);
        }
        io::Result::Ok(sum)
    });
    assert_eq!(sum.join().unwrap().unwrap(), 199 * 200 / 2);
    for stage in stages {
        assert_eq!(stage.join().unwrap().unwrap(), 200);
    }
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let _ = brigade::try_spawn(async move {
            let mut buffer = [0; 64];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                stream.write_all(&buffer[..count]).await?;
            }
            io::Result::Ok(())
        });
    }
}

#[test]
fn a_server_answers_clients_of_any_pool_or_none() {
    let (pool, other) = (Pool::new(2), Pool::new(1));
    let listener = pool.spawn(TcpListener::bind("127.0.0.1:0")).join().unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let server = pool.spawn(serve(listener));
    let client = move |number: u8| async move {
        let mut stream = TcpStream::connect(address).await?;
        for round in 0..50 {
            stream.write_all(&[number, round]).await?;
            let mut got = [0; 2];
            stream.read_exact(&mut got).await?;
            assert_eq!(got, [number, round]);
        }
        io::Result::Ok(())
    };
    let clients: Vec<_> = (0..40)
        .map(|number| if number % 2 == 0 { &pool } else { &other }.spawn(client(number)))
        .collect();
    brigade::block_on(client(99)).unwrap();
    clients.into_iter().for_each(|client| client.join().unwrap().unwrap());
    assert!(!server.is_finished());
    pool.shutdown(Shutdown::Drain);
    assert!(matches!(server.join(), Err(JoinError::Cancelled(Cause::Ended))));
}

/// Fault: the worker that held the driver is in a long job, while another sleeps.
#[test]
fn one_free_worker_reads_beside_long_jobs() {
    let (pool, gate) = (Pool::new(3), Gate::closed());
    let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
    let ((say, hear), held) = (mpsc::channel(), gate.clone());
    let echo = pool.spawn(async move {
        let mut byte = [0];
        while reader.read(&mut byte).await.unwrap() == 1 {
            say.send(byte[0]).unwrap();
            // The worker that has read it is in a long job from now on, up to the last but one.
            if byte[0] < 2 {
                let held = held.clone();
                let _ = brigade::try_spawn(async move { held.wait() });
            }
        }
    });
    for byte in 0..4 {
        brigade::block_on(writer.write_all(&[byte])).unwrap();
        assert_eq!(hear.recv(), Ok(byte));
    }
    gate.open();
    drop(writer);
    echo.join().unwrap();
}

/// Nanoseconds of CPU that the calling thread has used.
#[cfg(target_os = "linux")]
fn cpu_time() -> u64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    statistics.split(' ').next().unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_sleeps_while_a_foreign_thread_polls() {
    const DRIVEN: Duration = Duration::from_millis(200);
    for in_block_on in [false, true] {
        let pool = Pool::new(1);
        let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
        let driver = pool.handle().enter(brigade::io::Driver::current).unwrap();
        // Its one worker is in a job until the foreign thread drives, and finds the driver in use when it sleeps.
        let job = pool.submit({
            let driver = driver.clone();
            move || {
                while !driver.is_driven() {
                    std::thread::yield_now();
                }
                let before = cpu_time();
                if in_block_on {
                    brigade::block_on(reader.read_exact(&mut [0])).unwrap();
                }
                (before, reader)
            }
        });
        while let Err(error) = driver.drive(Some(DRIVEN), &mut |waker| waker.wake()) {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
        brigade::block_on(writer.write_all(b"x")).unwrap();
        let (before, _reader) = job.join().unwrap();
        let used = Duration::from_nanos(pool.submit(cpu_time).join().unwrap() - before);
        assert!(used < DRIVEN / 4, "in `block_on`: {in_block_on}: {used:?}");
    }
}

#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn an_ending_pool_cancels_and_frees_file_tasks(how: Shutdown) {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (mut reader, writer) = pool.handle().enter(pipe).unwrap();
            let token = drops.token();
            pool.spawn(async move {
                let _kept = (writer, token);
                reader.read(&mut [0]).await
            })
        })
        .collect();
    pool.shutdown(how);
    assert_eq!(drops.count(), 20);
    for task in tasks {
        assert!(matches!(task.join(), Err(JoinError::Cancelled(Cause::Ended))));
    }
}

#[test]
fn a_file_of_an_ended_pool_fails_to_wait() {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let (mut reader, mut writer) = handle.enter(pipe).unwrap();
    pool.shutdown(Shutdown::Drain);
    let error = brigade::block_on(reader.read(&mut [0])).unwrap_err();
    assert!(error.get_ref().unwrap().is::<brigade::io::NoDriver>(), "{error}");
    brigade::block_on(writer.write_all(&[1])).unwrap();
    assert!(brigade::block_on(reader.read(&mut [0])).is_ok());
    assert!(handle.enter(pipe).is_err());
}

#[test]
fn a_pool_without_threads_starts_a_file_thread() {
    let pool = Pool::builder().threads(0..=2).keep_alive(Duration::from_millis(1)).build().unwrap();
    let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
    let task = pool.spawn(async move {
        let mut byte = [0];
        reader.read_exact(&mut byte).await.map(|()| byte[0])
    });
    let threads = || (pool.metrics().threads, pool.metrics().idle_threads);
    eventually("one worker is left, and parks on the driver", || threads() == (1, 1));
    stays("it is kept", || threads() == (1, 1) && !task.is_finished());
    brigade::block_on(writer.write_all(&[7])).unwrap();
    assert_eq!(task.join().unwrap().unwrap(), 7);
}
