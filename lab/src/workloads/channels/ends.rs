//! The ends of the channels: each method is one call.

use std::future::Future;

use tokio::sync::mpsc;

/// The end that values go into.
pub(super) trait Giver: Clone + Send + Sync + 'static {
    /// Sends this value; false when all receivers are gone.
    fn give(&self, value: u64) -> impl Future<Output = bool> + Send;
}

/// The end that values come out of.
pub(super) trait Taker: Send + 'static {
    /// The next value; none when all senders are gone and all values are received.
    fn take(&mut self) -> impl Future<Output = Option<u64>> + Send;
}

impl Giver for async_channel::Sender<u64> {
    #[inline]
    async fn give(&self, value: u64) -> bool {
        self.send(value).await.is_ok()
    }
}

impl Taker for async_channel::Receiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv().await.ok()
    }
}

impl Giver for flume::Sender<u64> {
    #[inline]
    async fn give(&self, value: u64) -> bool {
        self.send_async(value).await.is_ok()
    }
}

impl Taker for flume::Receiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv_async().await.ok()
    }
}

impl Giver for mpsc::Sender<u64> {
    #[inline]
    async fn give(&self, value: u64) -> bool {
        self.send(value).await.is_ok()
    }
}

impl Taker for mpsc::Receiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv().await
    }
}

impl Giver for mpsc::UnboundedSender<u64> {
    #[inline]
    async fn give(&self, value: u64) -> bool {
        self.send(value).is_ok()
    }
}

impl Taker for mpsc::UnboundedReceiver<u64> {
    #[inline]
    async fn take(&mut self) -> Option<u64> {
        self.recv().await
    }
}
