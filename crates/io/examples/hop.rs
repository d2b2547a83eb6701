//! What the driver adds to the system calls of a hop: a byte through one pipe, for which one thread waits, reads and
//! writes, once with the driver and once by the calls themselves. And a look, `drive` for zero, with nothing to see.
//!
//! `cargo run --release -p brigade-io --example hop -- 9 100000`: 9 rounds of so many, the median of each.

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    use std::time::{Duration, Instant};

    use brigade_io::{Driver, Trigger, pipe};
    use futures_lite::{AsyncRead, AsyncWrite};
    use rustix::buffer::spare_capacity;
    use rustix::event::Timespec;
    use rustix::event::epoll::{self, EventData, EventFlags};
    use rustix::pipe::{PipeFlags, pipe_with};

    type Body = Box<dyn FnMut() -> io::Result<()>>;

    /// Wait, read, write, with nothing around.
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

    fn hop(trigger: Trigger) -> io::Result<Body> {
        let driver = Driver::with_trigger(trigger)?;
        let (mut reader, mut writer) = driver.enter(pipe)?;
        Ok(Box::new(move || {
            let context = &mut Context::from_waker(Waker::noop());
            let mut buffer = [0; 16];
            // A task that waits, and is written to, and woken.
            assert!(Pin::new(&mut reader).poll_read(context, &mut buffer).is_pending());
            assert!(matches!(Pin::new(&mut writer).poll_write(context, b"x"), Poll::Ready(Ok(1))));
            while driver.drive(None, &mut Waker::wake)? == 0 {}
            assert!(Pin::new(&mut reader).poll_read(context, &mut buffer).is_ready());
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
        let mut bodies = [
            ("a hop, bare", bare_hop()?, Vec::new()),
            ("a hop, Level", hop(Trigger::Level)?, Vec::new()),
            ("a hop, Edge", hop(Trigger::Edge)?, Vec::new()),
            ("a hop, Oneshot", hop(Trigger::Oneshot)?, Vec::new()),
            ("a look, bare", bare_look()?, Vec::new()),
            ("a look", look()?, Vec::new()),
        ];
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
