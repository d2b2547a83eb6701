//! TCP: connections, and what accepts them.

mod listener;
mod stream;

pub use listener::{TcpIncoming, TcpListener};
pub use stream::TcpStream;
