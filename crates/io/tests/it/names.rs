//! What can be connected to: addresses in all their forms, and names, which are looked up as blocking code.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade_io::{Driver, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use futures_lite::future;

use crate::machine::{Machine, on_a_machine};
use brigade_testkit::test;

/// Binds a socket there and returns its address.
async fn bound(address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    UdpSocket::bind(address).await?.local_addr()
}

#[test]
fn addresses_of_every_form_are_taken() {
    on_a_machine(|| async {
        let local = Ipv4Addr::LOCALHOST;
        let v4 = SocketAddrV4::new(local, 0);
        let all = [
            bound(SocketAddr::V4(v4)).await?,
            bound(v4).await?,
            bound(&v4).await?,
            bound((IpAddr::V4(local), 0)).await?,
            bound((local, 0)).await?,
            bound(([127, 0, 0, 1], 0)).await?,
            bound("127.0.0.1:0").await?,
            bound(&String::from("127.0.0.1:0")).await?,
            bound(("127.0.0.1", 0)).await?,
            bound((String::from("127.0.0.1"), 0)).await?,
            bound(&[SocketAddr::V4(v4)][..]).await?,
            bound([SocketAddr::V4(v4)]).await?,
        ];
        assert!(all.iter().all(|address| address.ip() == local && address.port() > 0), "{all:?}");
        Ok(())
    });
}

/// Not bound, as a machine may have no IPv6: a datagram is sent from a socket that can't send it there.
#[test]
fn addresses_of_the_sixth_version_are_taken() {
    on_a_machine(|| async {
        let socket = UdpSocket::bind(([127, 0, 0, 1], 0)).await?;
        let local = Ipv6Addr::LOCALHOST;
        let v6 = SocketAddrV6::new(local, 9, 0, 0);
        let expected = socket.get_ref().send_to(&[0], v6).unwrap_err().raw_os_error();
        assert!(expected.is_some());
        let all = [
            socket.send_to(&[0], v6).await,
            socket.send_to(&[0], (local, 9)).await,
            socket.send_to(&[0], (local.octets(), 9)).await,
            socket.send_to(&[0], (local.segments(), 9)).await,
            socket.send_to(&[0], "[::1]:9").await,
            socket.send_to(&[0], ("::1", 9)).await,
        ];
        for outcome in all {
            assert_eq!(outcome.unwrap_err().raw_os_error(), expected);
        }
        Ok(())
    });
}

#[test]
fn only_names_are_looked_up_as_blocking_code() {
    static BLOCKED: AtomicUsize = AtomicUsize::new(0);
    let driver = Driver::with_blocking(|code| {
        BLOCKED.fetch_add(1, Ordering::SeqCst);
        code();
    });
    let machine = Machine::with(driver.unwrap());
    let blocked = || BLOCKED.load(Ordering::SeqCst);
    let outcome = machine.run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        TcpStream::connect(&address.to_string()).await?;
        TcpStream::connect(("127.0.0.1", address.port())).await?;
        let socket = UdpSocket::bind(("127.0.0.1", 0)).await?;
        socket.send_to(&[0], &[address][..]).await?;
        socket.connect(("127.0.0.1", address.port())).await?;
        assert_eq!(blocked(), 0);
        TcpStream::connect(("localhost", address.port())).await?;
        assert_eq!(blocked(), 1);
        TcpListener::bind("localhost:0").await?;
        let socket = UdpSocket::bind("localhost:0").await?;
        socket.connect((String::from("localhost"), 9)).await?;
        let _ = socket.send_to(&[0], "localhost:9").await;
        assert_eq!(blocked(), 5);
        io::Result::Ok(())
    });
    outcome.unwrap();
}

#[cfg_attr(windows, ignore = "Wine binds the foreign address")]
#[test]
fn addresses_are_tried_until_one_succeeds() {
    on_a_machine(|| async {
        // Of a test network that no machine has.
        let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = TcpListener::bind([foreign, local, foreign]).await?;
        let address = listener.local_addr()?;
        assert_eq!(address.ip(), local.ip());
        assert_eq!(
            UdpSocket::bind([foreign, local, foreign]).await?.local_addr()?.ip(),
            local.ip()
        );
        // Nothing listens there any more.
        let free = TcpListener::bind(local).await?.local_addr()?;
        let stream = TcpStream::connect(&[free, address, free][..]).await?;
        assert_eq!(stream.peer_addr()?, address);
        Ok(())
    });
}

#[test]
fn the_last_address_gives_the_error() {
    on_a_machine(|| async {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let taken = TcpListener::bind(local).await?;
        let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
        let in_use = TcpListener::bind([foreign, taken.local_addr()?]).await.unwrap_err();
        assert_eq!(in_use.kind(), io::ErrorKind::AddrInUse);
        let free = TcpListener::bind(local).await?.local_addr()?;
        // A connection from there can't be made either, and says so in another way than the last.
        let v6_only = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
        let refused = TcpStream::connect(&[v6_only, free][..]).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        Ok(())
    });
}

#[test]
fn missing_addresses_and_ports_are_invalid() {
    on_a_machine(|| async {
        let none: &[SocketAddr] = &[];
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let errors = [
            TcpListener::bind(none).await.unwrap_err(),
            TcpStream::connect(none).await.unwrap_err(),
            UdpSocket::bind(none).await.unwrap_err(),
            socket.connect(none).await.unwrap_err(),
            socket.send_to(&[0], none).await.unwrap_err(),
            TcpStream::connect("localhost").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        Ok(())
    });
}

#[test]
fn a_missing_driver_precedes_the_name_lookup() {
    let error = future::block_on(TcpStream::connect("no name at all")).unwrap_err();
    assert!(error.get_ref().unwrap().is::<brigade_io::NoDriver>(), "{error}");
}
