//! Connecting and accepting, for TCP and Unix-domain sockets.

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketType};

use crate::asynchronous::Async;
use crate::kind::Kind;
use crate::sys::Pollable;

/// Waits for a connection, and registers it with the listener's driver, as a value of the given kind.
pub(crate) async fn accept<L, S: Pollable + 'static, A>(
    listener: &Async<L>,
    kind: Kind,
    mut accept: impl FnMut(&L) -> io::Result<(S, A)>,
) -> io::Result<(Async<S>, A)> {
    // A child that can't register a connection must not take it from the parent.
    let accept = |it: &L| listener.driver().check_process().and_then(|()| accept(it));
    let (stream, address) = listener.read_with(accept).await?;
    Ok((Async::register(listener.driver(), stream, kind)?, address))
}

/// Makes a non-blocking socket for connections. It is closed on exec.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(crate) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    use rustix::net::SocketFlags;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Makes a non-blocking socket for connections. It is closed on exec.
#[cfg(any(windows, target_vendor = "apple"))]
pub(crate) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    let socket = not_inherited(socket)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    #[cfg(target_vendor = "apple")]
    {
        rustix::io::ioctl_fioclex(&socket)?;
        rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    }
    Ok(socket)
}

/// Keeps a new socket from child processes, which on Windows inherit connected and accepted sockets, but no duplicate made by the
/// standard library. A process started by another thread in between has both.
pub(crate) fn not_inherited(socket: OwnedFd) -> io::Result<OwnedFd> {
    if cfg!(windows) { socket.try_clone() } else { Ok(socket) }
}
