//! TCP: connections and listeners.

mod listener;
mod stream;

pub use listener::TcpListener;
pub use stream::TcpStream;
