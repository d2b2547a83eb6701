//! Which types may go to, and be shared with, other threads.

use std::panic::{RefUnwindSafe, UnwindSafe};

use futures_lite::future::block_on;

use brigade_io::{
    Async, Driver, DriverSupply, PipeReader, PipeWriter, ReadHalf, Ready, TcpStream, WriteHalf,
};

#[test]
fn everything_is_send_and_sync_with_its_value() {
    fn free<T: Send + Sync + Unpin>() {}
    free::<Driver>();
    free::<DriverSupply>();
    free::<Async<std::net::TcpStream>>();
    free::<PipeReader>();
    free::<PipeWriter>();
    free::<ReadHalf<TcpStream>>();
    free::<WriteHalf<TcpStream>>();
    free::<Ready<'_>>();
}

#[test]
fn drivers_survive_a_panic() {
    fn kept<T: UnwindSafe + RefUnwindSafe>() {}
    kept::<Driver>();
    kept::<DriverSupply>();
}

#[test]
fn futures_of_operations_are_sent() {
    fn sent<T: Send>(_: &T) {}
    let driver = Driver::new().unwrap();
    let socket =
        driver.enter(|| block_on(brigade_io::UdpSocket::bind(([127, 0, 0, 1], 0)))).unwrap();
    sent(&socket.recv_from(&mut [0]));
    sent(&socket.readable());
    sent(&brigade_io::TcpStream::connect(([127, 0, 0, 1], 1)));
    sent(&brigade_io::TcpStream::connect("localhost:1"));
    sent(&socket.send_to(&[0], String::from("localhost:1")));
    let listener =
        driver.enter(|| block_on(brigade_io::TcpListener::bind(([127, 0, 0, 1], 0)))).unwrap();
    sent(&listener.accept());
}
