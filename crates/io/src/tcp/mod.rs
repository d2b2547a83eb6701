//! TCP: connections and listeners.

mod listener;
mod stream;

pub use listener::{TcpIncoming, TcpListener};
pub use stream::TcpStream;
