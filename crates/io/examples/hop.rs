//! What the driver adds to the system calls of a hop: a byte through one pipe, for which one thread waits, reads and
//! writes, once with the driver and once by the calls themselves. Then `drive` with a timeout of zero and no event. Then
//! reads that fill their buffer, by its size: those after which nothing is left, and those after which something is.
//!
//! `cargo run --release -p brigade-io --example hop -- 9 100000`: 9 rounds of 100,000 each, and the median of the
//! rounds.

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    use std::time::{Duration, Instant};

    use brigade_io::{Driver, UnixStream, pipe};
    use futures_lite::{AsyncRead, AsyncWrite};
    use rustix::buffer::spare_capacity;
    use rustix::event::Timespec;
    use rustix::event::epoll::{self, EventData, EventFlags};
    use rustix::pipe::{PipeFlags, pipe_with};

    type Body = Box<dyn FnMut() -> io::Result<()>>;

    /// Wait, read, write, by bare system calls.
    fn bare_hop() -> io::Result<Body> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK)?;
        epoll::add(&epoll, &reader, EventData::new_u64(7), EventFlags::IN)?;
        let mut events = Vec::with_capacity(1024);
        Ok(Box::new(move || {
            rustix::io::write(&writer, b"x")?;
            events.clear();
            epoll::wait(&epoll, spare_capacity(&mut events), None)?;
            rustix::io::read(&reader, &mut [0; 16])?;
            Ok(())
        }))
    }

    fn hop<R, W>(ends: impl FnOnce() -> io::Result<(R, W)>) -> io::Result<Body>
    where
        R: AsyncRead + Unpin + 'static,
        W: AsyncWrite + Unpin + 'static,
    {
        let driver = Driver::new()?;
        let (mut reader, mut writer) = driver.enter(ends)?;
        Ok(Box::new(move || {
            let context = &mut Context::from_waker(Waker::noop());
            let mut buffer = [0; 16];
            // A task that waits, is written to, and is woken.
            assert!(Pin::new(&mut reader).poll_read(context, &mut buffer).is_pending());
            assert!(matches!(Pin::new(&mut writer).poll_write(context, b"x"), Poll::Ready(Ok(1))));
            while driver.drive(None, &mut Waker::wake)? == 0 {}
            assert!(Pin::new(&mut reader).poll_read(context, &mut buffer).is_ready());
            Ok(())
        }))
    }

    /// A message that fills its buffer, and that nothing follows.
    fn message(size: usize) -> io::Result<Body> {
        let driver = Driver::new()?;
        let (mut reader, mut writer) = driver.enter(pipe)?;
        let mut buffer = vec![0; size];
        Ok(Box::new(move || {
            let context = &mut Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut reader).poll_read(context, &mut buffer).is_pending());
            assert!(Pin::new(&mut writer).poll_write(context, &buffer).is_ready());
            while driver.drive(None, &mut Waker::wake)? == 0 {}
            assert!(Pin::new(&mut reader).poll_read(context, &mut buffer).is_ready());
            Ok(())
        }))
    }

    /// A read of a stream, which fills its buffer and leaves something for the next.
    fn read(size: usize) -> io::Result<Body> {
        const THERE: usize = 32 * 1024;
        let driver = Driver::new()?;
        let (mut reader, mut writer) = driver.enter(pipe)?;
        let (mut buffer, mut left) = (vec![0; size], 0);
        Ok(Box::new(move || {
            let context = &mut Context::from_waker(Waker::noop());
            if left == 0 {
                assert!(Pin::new(&mut writer).poll_write(context, &[0; THERE]).is_ready());
                left = THERE;
            }
            while Pin::new(&mut reader).poll_read(context, &mut buffer).is_pending() {
                driver.drive(None, &mut Waker::wake)?;
            }
            left -= size;
            Ok(())
        }))
    }

    fn bare_look() -> io::Result<Body> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut events = Vec::with_capacity(1024);
        Ok(Box::new(move || {
            events.clear();
            epoll::wait(&epoll, spare_capacity(&mut events), Some(&Timespec::default()))?;
            Ok(())
        }))
    }

    fn look() -> io::Result<Body> {
        let driver = Driver::new()?;
        Ok(Box::new(move || driver.drive(Some(Duration::ZERO), &mut Waker::wake).map(drop)))
    }

    pub(super) fn main() -> io::Result<()> {
        let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse().ok());
        let rounds = numbers.next().unwrap_or(9);
        let times = numbers.next().unwrap_or(100_000);
        let mut bodies: Vec<(String, Body, Vec<f64>)> = vec![
            ("a hop, bare".into(), bare_hop()?, Vec::new()),
            ("a hop".into(), hop(pipe)?, Vec::new()),
            ("a hop of a socket".into(), hop(UnixStream::pair)?, Vec::new()),
            ("a look, bare".into(), bare_look()?, Vec::new()),
            ("a look".into(), look()?, Vec::new()),
        ];
        for size in [1, 64, 256, 512, 1024, 4096, 16_384] {
            bodies.push((format!("a message of {size}"), message(size)?, Vec::new()));
            bodies.push((format!("a read of {size} from a stream"), read(size)?, Vec::new()));
        }
        for _ in 0..rounds {
            for (_, body, measured) in &mut bodies {
                let begun = Instant::now();
                for _ in 0..times {
                    body()?;
                }
                measured.push(begun.elapsed().as_secs_f64() * 1e9 / times as f64);
            }
        }
        for (name, _, measured) in &mut bodies {
            measured.sort_by(f64::total_cmp);
            println!("{name}: {:.0} ns", measured[measured.len() / 2]);
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("This example compares with epoll, which only Linux has.");
}
