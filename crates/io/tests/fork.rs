//! A driver in the child of a fork: everything returns an error there, and nothing reaches the parent's kernel objects.
//!
//! No test harness: it has threads of its own, and a child that is forked while one of them holds a lock of the standard
//! library can't print or start threads. `main` checks one claim after the other; arguments choose claims by parts of
//! their names. A child exits with the number of the first thing that does not hold.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

#[cfg(not(all(unix, not(brigade_loom))))]
fn main() {}

#[cfg(all(unix, not(brigade_loom)))]
fn main() {
    claims::main();
}

#[cfg(all(unix, not(brigade_loom)))]
mod claims {
    use std::io::{self, Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream as Stream;
    use std::panic::{self, AssertUnwindSafe};
    use std::pin::{Pin, pin};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, Waker};
    use std::thread;
    use std::time::{Duration, Instant};

    use brigade_io::{
        Async, Driver, NoDriver, PipeReader, TcpListener, TcpStream, UdpSocket, UnixStream, pipe,
    };
    use brigade_sync::fork::{self, OnChild};
    use brigade_testkit::{Watchdog, eventually};
    use futures_lite::{AsyncRead, AsyncReadExt, AsyncWriteExt, future};

    /// How long a child may take; it does nothing slow.
    const LIMIT: Duration = Duration::from_secs(30);

    struct Nothing;

    impl OnChild for Nothing {
        fn on_child() {}
    }

    pub(crate) fn main() {
        // As every pool does.
        fork::watch::<Nothing>().unwrap();
        let parent = std::process::id();
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if std::process::id() == parent {
                loud(info);
            }
        }));
        let claims: [(&str, fn()); 4] = [
            (
                "a_driver_of_the_parent_is_closed_in_a_child",
                a_driver_of_the_parent_is_closed_in_a_child,
            ),
            (
                "what_a_child_registers_does_not_wake_the_parent",
                what_a_child_registers_does_not_wake_the_parent,
            ),
            (
                "a_notification_in_a_child_does_not_end_the_parents_wait",
                a_notification_in_a_child_does_not_end_the_parents_wait,
            ),
            (
                "a_fork_at_any_moment_of_a_busy_driver_leaves_the_child_able",
                a_fork_at_any_moment_of_a_busy_driver_leaves_the_child_able,
            ),
        ];
        let asked: Vec<String> =
            std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
        for (name, claim) in claims {
            if asked.is_empty() || asked.iter().any(|asked| name.contains(asked.as_str())) {
                println!("test {name} ...");
                let _dog = Watchdog::start(120);
                claim();
            }
        }
    }

    /// Forks; the child returns its exit code.
    fn fork_child(child: impl FnOnce() -> i32) -> libc::pid_t {
        // SAFETY: the child does what a child with one thread may: glibc sees to malloc, the driver to itself.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "{}", io::Error::last_os_error());
        if pid == 0 {
            let code = panic::catch_unwind(AssertUnwindSafe(child)).unwrap_or(101);
            // SAFETY: ends the process.
            unsafe { libc::_exit(code) }
        }
        pid
    }

    /// Waits for the child's end, which must be an exit with code 0.
    #[track_caller]
    fn succeeds(pid: libc::pid_t) {
        let (begun, mut status) = (Instant::now(), 0);
        // SAFETY: `status` is writable.
        while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
            if begun.elapsed() > LIMIT {
                // SAFETY: it is a child, and not waited for yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                panic!("the child hung");
            }
            thread::sleep(Duration::from_micros(200));
        }
        assert!(libc::WIFEXITED(status), "the child ended with {status}");
        let code = libc::WEXITSTATUS(status);
        assert_eq!(code, 0, "in the child claim {code} does not hold");
    }

    fn is_closed<T>(outcome: io::Result<T>) -> bool {
        outcome.is_err_and(|error| {
            error.get_ref().and_then(|error| error.downcast_ref()) == Some(&NoDriver::Closed)
        })
    }

    fn poll_read(reader: &mut PipeReader) -> Poll<io::Result<usize>> {
        Pin::new(reader).poll_read(&mut Context::from_waker(Waker::noop()), &mut [0])
    }

    fn a_driver_of_the_parent_is_closed_in_a_child() {
        const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
        let driver = Driver::new().unwrap();
        let (mut reader, mut writer) = driver.enter(pipe).unwrap();
        assert!(poll_read(&mut reader).is_pending());
        let listener = driver.enter(|| future::block_on(TcpListener::bind(LOCAL))).unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let udp = driver.enter(|| future::block_on(UdpSocket::bind(LOCAL))).unwrap();
        let (near, mut far) = driver.enter(UnixStream::pair).unwrap();
        let (near_reader, near_writer) = near.split();
        let mut halves = Some(near_writer);
        let child = || {
            let (near, _far) = Stream::pair().unwrap();
            let connect = || driver.enter(|| future::block_on(TcpStream::connect(address)));
            let claims: [&mut dyn FnMut() -> bool; 14] = [
                &mut || is_closed(driver.drive(Some(Duration::ZERO), &mut Waker::wake)),
                &mut || is_closed(driver.drive(None, &mut Waker::wake)),
                &mut || is_closed(Async::with_driver(&driver, near.try_clone().unwrap())),
                // The file may be shared with the parent: it has not been changed.
                &mut || !is_non_blocking(&near),
                &mut || is_closed(driver.enter(Driver::current)),
                &mut || is_closed(driver.enter(pipe)),
                &mut || is_closed(driver.enter(UnixStream::pair)),
                &mut || is_closed(driver.enter(|| future::block_on(UdpSocket::bind(LOCAL)))),
                &mut || is_closed(connect()),
                &mut || is_closed(future::block_on(udp.connect(address))),
                // And takes no connection from the parent.
                &mut || is_closed(future::block_on(listener.accept())),
                // And ends no connection of the parent.
                &mut || {
                    drop(halves.take());
                    true
                },
                &mut || {
                    driver.notify();
                    driver.close(&mut Waker::wake);
                    true
                },
                // A driver of its own works.
                &mut || own_driver_works(),
            ];
            let fails = claims.into_iter().position(|holds| !holds());
            fails.map_or(0, |index| index as i32 + 1)
        };
        succeeds(fork_child(child));
        // The parent's is as it was.
        assert_eq!(driver.sources(), 6);
        future::block_on(near_reader.as_ref().write_all(b"x")).unwrap();
        assert_eq!(future::block_on(far.read(&mut [0])).unwrap(), 1, "the child ended nothing");
        future::block_on(writer.write_all(b"x")).unwrap();
        assert_eq!(driver.drive(None, &mut Waker::wake).unwrap(), 1);
        assert!(matches!(poll_read(&mut reader), Poll::Ready(Ok(1))));
        let (mut server, _) = future::block_on(listener.accept()).unwrap();
        client.write_all(b"x").unwrap();
        assert_eq!(future::block_on(server.read(&mut [0])).unwrap(), 1);
    }

    fn poll_closed(reader: &mut PipeReader) -> bool {
        match poll_read(reader) {
            Poll::Ready(outcome) => is_closed(outcome),
            Poll::Pending => false,
        }
    }

    fn is_non_blocking(stream: &Stream) -> bool {
        use std::os::fd::AsRawFd;
        // SAFETY: asks for the flags of a file that is open.
        let flags = unsafe { libc::fcntl(stream.as_raw_fd(), libc::F_GETFL) };
        assert!(flags >= 0);
        flags & libc::O_NONBLOCK != 0
    }

    fn own_driver_works() -> bool {
        let driver = Driver::new().unwrap();
        let (mut reader, mut writer) = driver.enter(pipe).unwrap();
        assert!(poll_read(&mut reader).is_pending());
        future::block_on(writer.write_all(b"x")).unwrap();
        let woken = driver.drive(None, &mut Waker::wake).unwrap();
        woken == 1 && matches!(poll_read(&mut reader), Poll::Ready(Ok(1)))
    }

    /// Else the parent gets events of keys that it does not know, at each wait.
    fn what_a_child_registers_does_not_wake_the_parent() {
        let driver = Driver::new().unwrap();
        // The child ends when the parent has driven.
        let (end, mut ended) = Stream::pair().unwrap();
        let (mut told, tell) = Stream::pair().unwrap();
        let (mut end, mut tell) = (Some(end), Some(tell));
        let child = fork_child(|| {
            drop(end.take());
            let (reader, mut writer) = Stream::pair().unwrap();
            let kept = reader.try_clone().unwrap();
            let registered = Async::with_driver(&driver, OwnedFd::from(reader));
            writer.write_all(b"x").unwrap();
            if let Ok(reader) = &registered {
                let mut ready = pin!(reader.readable());
                let _ = future::block_on(future::poll_once(&mut ready));
            }
            tell.take().unwrap().write_all(b"x").unwrap();
            let _ = ended.read(&mut [0]);
            drop(kept);
            if registered.is_err() { 0 } else { 1 }
        });
        drop(tell.take());
        told.read_exact(&mut [0]).unwrap();
        let (begun, timeout) = (Instant::now(), Duration::from_millis(20));
        assert_eq!(driver.drive(Some(timeout), &mut Waker::wake).unwrap(), 0);
        let waited = begun.elapsed();
        drop(end);
        assert!(waited >= timeout, "an event of the child's file ended the wait");
        succeeds(child);
    }

    fn a_notification_in_a_child_does_not_end_the_parents_wait() {
        let driver = Driver::new().unwrap();
        let (mut reader, mut writer) = driver.enter(pipe).unwrap();
        assert!(poll_read(&mut reader).is_pending());
        let driving = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.drive(None, &mut Waker::wake).unwrap()
        });
        eventually("the thread drives", || driver.is_driven());
        for _ in 0..20 {
            succeeds(fork_child(|| {
                driver.notify();
                driver.close(&mut Waker::wake);
                0
            }));
        }
        future::block_on(writer.write_all(b"x")).unwrap();
        assert_eq!(driving.join().unwrap(), 1, "by the byte");
    }

    /// Even if a claim does not hold.
    struct StopOnDrop<'a>(&'a AtomicBool);

    impl Drop for StopOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    fn a_fork_at_any_moment_of_a_busy_driver_leaves_the_child_able() {
        const FORKS: usize = 200;
        let driver = Driver::new().unwrap();
        let stop = AtomicBool::new(false);
        let (mut reader, mut writer) = driver.enter(pipe).unwrap();
        assert!(poll_read(&mut reader).is_pending());
        thread::scope(|scope| {
            let _stop = StopOnDrop(&stop);
            // Both hold the locks of the driver and of its sources most of the time.
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let (mut reader, _writer) = driver.enter(pipe).unwrap();
                    assert!(poll_read(&mut reader).is_pending());
                }
            });
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let _ =
                        driver.drive(Some(Duration::from_micros(50)), &mut Waker::wake).unwrap();
                }
            });
            for _ in 0..FORKS {
                succeeds(fork_child(|| {
                    let refused = is_closed(driver.drive(None, &mut Waker::wake))
                        && is_closed(driver.enter(pipe))
                        && poll_closed(&mut reader);
                    driver.notify();
                    driver.close(&mut Waker::wake);
                    if refused && own_driver_works() { 0 } else { 1 }
                }));
            }
        });
        // The waiter of the parent is still there.
        future::block_on(writer.write_all(b"x")).unwrap();
        assert_eq!(driver.drive(None, &mut Waker::wake).unwrap(), 1);
        assert!(matches!(poll_read(&mut reader), Poll::Ready(Ok(1))));
    }
}
