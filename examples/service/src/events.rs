//! Events for those that listen, in the form of server-sent events: the last results, then each result and the counts as they come.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::broadcast::{Receiver, Sender};

use crate::jobs::lock;

/// How many events a slow reader may be behind before it misses some.
const BEHIND: usize = 32;

/// How many results one that begins to listen gets.
const LAST: usize = 20;

pub struct Events {
    sender: Sender<Bytes>,
    /// The oldest first. A result is sent under the lock, so one that begins to listen gets it once.
    last: Mutex<VecDeque<Bytes>>,
}

impl Default for Events {
    fn default() -> Self {
        Self { sender: Sender::new(BEHIND), last: Mutex::default() }
    }
}

impl Events {
    /// Returns the last results, and what receives all events from now on.
    pub fn listen(&self) -> (Vec<Bytes>, Receiver<Bytes>) {
        let last = lock(&self.last);
        (last.iter().cloned().collect(), self.sender.subscribe())
    }

    pub fn has_listeners(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    pub fn send(&self, event: Bytes) {
        // An error says that the last listener has gone.
        _ = self.sender.send(event);
    }

    pub fn send_result(&self, result: &Value) {
        let event = event("result", result);
        let mut last = lock(&self.last);
        if last.len() == LAST {
            last.pop_front();
        }
        last.push_back(event.clone());
        self.send(event);
    }
}

/// An event with its data.
pub fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
