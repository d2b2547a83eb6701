//! Addresses to connect to or to bind, and names, which are looked up.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::driver::Driver;
use crate::error::no_address;
use sealed::{Input, ToInput};

/// An address to connect to or to bind: one address, several of them, or a name to look up.
///
/// Implemented for the same types as [`std::net::ToSocketAddrs`]; it can't be implemented elsewhere. Text
/// that is an address, like `"127.0.0.1:80"`, is used as it is. Any other text is a name, like `"localhost:80"` or
/// `("localhost", 80)`. The system looks it up on the polling thread, inside of a poll, in `brigade::blocking`: on a
/// worker the pool may have another thread in the meantime. No timeout ends a lookup, nor does dropping the future.
///
/// Several addresses are tried in turn, until one succeeds. The error of the last address is returned.
///
/// ```
/// use brigade::io::{TcpListener, ToSocketAddrs};
///
/// async fn port(address: impl ToSocketAddrs) -> std::io::Result<u16> {
///     Ok(TcpListener::bind(address).await?.local_addr()?.port())
/// }
/// brigade::block_on(async {
///     assert!(port("127.0.0.1:0").await? > 0);
///     assert!(port(("localhost", 0)).await? > 0);
///     assert!(port(([127, 0, 0, 1], 0)).await? > 0);
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub trait ToSocketAddrs: ToInput {}

/// Seals the trait: it can be implemented here only.
pub(crate) mod sealed {
    use std::net::SocketAddr;

    pub trait ToInput {
        fn to_input(&self) -> Input<'_>;
    }

    /// The cases of [`resolve`](super::resolve).
    #[derive(Debug)]
    pub enum Input<'a> {
        One(SocketAddr),
        Many(&'a [SocketAddr]),
        /// An address, or a name and a port.
        Text(&'a str),
        /// An address of a machine, or a name; and a port.
        Host(&'a str, u16),
    }
}

/// The addresses left to try.
#[derive(Debug)]
pub(crate) enum Addresses {
    /// A single address: no list, which would be allocated.
    One(SocketAddr),
    Many(Vec<SocketAddr>),
}

impl Addresses {
    pub(crate) fn as_slice(&self) -> &[SocketAddr] {
        match self {
            Self::One(address) => std::slice::from_ref(address),
            Self::Many(addresses) => addresses,
        }
    }

    /// The first.
    pub(crate) fn first(&self) -> io::Result<SocketAddr> {
        self.as_slice().first().copied().ok_or_else(no_address)
    }

    /// Calls `call` for each in turn, until a call succeeds.
    pub(crate) fn try_each<R>(
        &self,
        mut call: impl FnMut(SocketAddr) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut outcome = Err(no_address());
        for &address in self.as_slice() {
            outcome = call(address);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }
}

/// Returns the addresses; for a name, the addresses that the system finds. The look-up runs as blocking code of the driver's
/// pool.
pub(crate) fn resolve(driver: &Driver, to: &impl ToSocketAddrs) -> io::Result<Addresses> {
    use std::net::ToSocketAddrs as LookUp;
    let look_up = |name: &dyn Fn() -> io::Result<std::vec::IntoIter<SocketAddr>>| {
        driver.blocking(|| name().map(|found| Addresses::Many(found.collect())))
    };
    match to.to_input() {
        Input::One(address) => Ok(Addresses::One(address)),
        Input::Many(addresses) => Ok(Addresses::Many(addresses.to_vec())),
        Input::Text(text) => match text.parse() {
            Ok(address) => Ok(Addresses::One(address)),
            Err(_) => look_up(&|| LookUp::to_socket_addrs(text)),
        },
        Input::Host(host, port) => match host.parse::<IpAddr>() {
            Ok(address) => Ok(Addresses::One((address, port).into())),
            Err(_) => look_up(&|| LookUp::to_socket_addrs(&(host, port))),
        },
    }
}

/// Implements the trait.
macro_rules! inputs {
    ($([$($generic:tt)*] $type:ty: $this:ident => $input:expr;)*) => {$(
        impl<$($generic)*> ToSocketAddrs for $type {}
        impl<$($generic)*> ToInput for $type {
            fn to_input(&self) -> Input<'_> {
                let $this = self;
                $input
            }
        }
    )*};
}

inputs! {
    [] SocketAddr: this => Input::One(*this);
    [] SocketAddrV4: this => Input::One((*this).into());
    [] SocketAddrV6: this => Input::One((*this).into());
    [] (IpAddr, u16): this => Input::One((*this).into());
    [] (Ipv4Addr, u16): this => Input::One((*this).into());
    [] (Ipv6Addr, u16): this => Input::One((*this).into());
    [] ([u8; 4], u16): this => Input::One((*this).into());
    [] ([u8; 16], u16): this => Input::One((*this).into());
    [] ([u16; 8], u16): this => Input::One((*this).into());
    [] str: this => Input::Text(this);
    [] String: this => Input::Text(this);
    [] (&str, u16): this => Input::Host(this.0, this.1);
    [] (String, u16): this => Input::Host(&this.0, this.1);
    [] [SocketAddr]: this => Input::Many(this);
    [const N: usize] [SocketAddr; N]: this => Input::Many(this);
    [T: ToSocketAddrs + ?Sized] &T: this => (**this).to_input();
}
