//! hyper on the driver: a server and a client, each with its connection, on the one thread that drives.

#![cfg(all(unix, not(brigade_loom)))]
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use brigade_io::{Async, Driver, TcpListener, TcpStream, UnixStream};
use futures_lite::future;
use hyper::body::{Body, Incoming};
use hyper::rt::{Read, ReadBuf, Write};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};

use brigade_testkit::test;

/// Ends the wait of the thread that drives, which polls next.
struct Ring(Arc<Driver>);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// Polls and drives on this thread.
fn run<R>(driver: &Arc<Driver>, future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Ring(driver.clone())));
    driver.enter(|| {
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => return result,
                Poll::Pending => driver.drive(None, &mut drop).unwrap(),
            };
        }
    })
}

/// All the bytes of a body.
async fn collect(mut body: Incoming) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes.extend(frame.unwrap().into_data().unwrap());
    }
    bytes
}

/// Gives back what it is sent, twice.
async fn double(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let mut body = String::from_utf8(collect(request.into_body()).await).unwrap();
    body.push_str(&body.clone());
    Ok(Response::new(body))
}

/// A few requests over one connection, whose ends are given.
async fn exchange<T: Read + Write + Unpin>(near: T, far: T) {
    let server = hyper::server::conn::http1::Builder::new();
    let serve = async { server.serve_connection(far, service_fn(double)).await.unwrap() };
    let (mut client, connection) = hyper::client::conn::http1::handshake(near).await.unwrap();
    let ask = async {
        // More than hyper's first buffer, and more than one read takes or a socket holds.
        for length in [0, 1, 10_000, 1_000_000, 7] {
            let request = Request::post("/").body("x".repeat(length)).unwrap();
            let response = client.send_request(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            let body = collect(response.into_body()).await;
            assert!(body.len() == 2 * length && body.iter().all(|&byte| byte == b'x'), "{length}");
        }
        // The connection ends, and with it the server.
        drop(client);
    };
    let connect = async { connection.await.unwrap() };
    future::zip(serve, future::zip(connect, ask)).await;
}

#[test]
fn a_socket_pair_is_served_on_one_thread() {
    let driver = Driver::new().unwrap();
    run(&driver, async {
        let (near, far) = UnixStream::pair().unwrap();
        exchange(near, far).await;
    });
    assert_eq!(driver.sources(), 0);
}

#[test]
fn tcp_is_served_on_one_thread() {
    let driver = Driver::new().unwrap();
    run(&driver, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let both = future::zip(TcpStream::connect(address), listener.accept());
        let (near, far) = both.await;
        exchange(near.unwrap(), far.unwrap().0).await;
    });
    assert_eq!(driver.sources(), 0);
}

#[test]
fn a_read_fills_the_buffer_and_the_end_nothing() {
    let driver = Driver::new().unwrap();
    let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut near = Async::with_driver(&driver, near).unwrap();
    io::Write::write_all(&mut far, b"bucket").unwrap();
    drop(far);
    for expected in ["buck", "et", ""] {
        let mut room = [0; 4];
        let mut buffer = ReadBuf::new(&mut room);
        let read =
            poll_fn(|context| Read::poll_read(Pin::new(&mut near), context, buffer.unfilled()));
        run(&driver, read).unwrap();
        assert_eq!(buffer.filled(), expected.as_bytes());
    }
}

#[test]
fn several_pieces_go_out_in_one_call() {
    let driver = Driver::new().unwrap();
    let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut near = Async::with_driver(&driver, near).unwrap();
    assert!(near.is_write_vectored());
    let pieces = [b"head ".as_slice(), b"body".as_slice()].map(io::IoSlice::new);
    let write =
        poll_fn(|context| Write::poll_write_vectored(Pin::new(&mut near), context, &pieces));
    assert_eq!(run(&driver, write).unwrap(), 9);
    run(&driver, poll_fn(|context| Pin::new(&mut near).poll_shutdown(context))).unwrap();
    let mut received = String::new();
    io::Read::read_to_string(&mut far, &mut received).unwrap();
    assert_eq!(received, "head body");
}
