//! The requests of a client and the answers it must get, for both protocols.

use crate::workloads::prelude::*;
use serde::Deserialize;
use std::io::{Error, ErrorKind, Write};

/// The protocol of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Protocol {
    /// HTTP/1.1 by hyper; each answer repeats the path of the request.
    #[cfg(feature = "full")]
    Http,
    /// The same, encrypted by rustls with TLS 1.3.
    #[cfg(feature = "full")]
    Https,
    /// HTTP/2 by hyper, not encrypted; a request of a pipeline is a stream.
    #[cfg(feature = "full")]
    Http2,
    /// The protocol of redis: SET, GET and PING in turn.
    Resp,
}

/// One end of a conversation: the requests of a connection, and the expected answers.
pub(super) struct Wire {
    /// The protocol.
    protocol: Protocol,
    /// The number of the connection.
    connection: u32,
    /// The server's value for this connection.
    stored: Option<u32>,
    /// Unwritten requests.
    pub(super) requests: Vec<u8>,
    /// The expected answers: all bytes with RESP, and all bodies with HTTP.
    answers: Vec<u8>,
}

impl Wire {
    /// The conversation over this connection.
    pub(super) fn new(protocol: Protocol, connection: u32) -> Self {
        Wire { protocol, connection, stored: None, requests: Vec::new(), answers: Vec::new() }
    }

    /// Adds the request with this number.
    pub(super) fn ask(&mut self, number: u32) -> io::Result<()> {
        let (connection, requests, answers) =
            (self.connection, &mut self.requests, &mut self.answers);
        match (self.protocol, number % 3) {
            #[cfg(feature = "full")]
            (Protocol::Http | Protocol::Https | Protocol::Http2, _) => {
                write!(requests, "GET /{connection}/{number} HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
                write!(answers, "/{connection}/{number}")
            }
            (Protocol::Resp, 0) => {
                let (key, value) = (format!("key:{connection}"), number.to_string());
                resp(requests, &["SET", &key, &value])?;
                self.stored = Some(number);
                write!(answers, "+OK\r\n")
            }
            (Protocol::Resp, 1) => {
                resp(requests, &["GET", &format!("key:{connection}")])?;
                match self.stored.map(|number| number.to_string()) {
                    Some(value) => write!(answers, "${}\r\n{value}\r\n", value.len()),
                    None => write!(answers, "$-1\r\n"),
                }
            }
            (Protocol::Resp, _) => {
                resp(requests, &["PING"])?;
                write!(answers, "+PONG\r\n")
            }
        }
    }

    /// Whether these bytes are the answers to all requests so far; an error if they can't become the answers.
    pub(super) fn answered(&mut self, received: &[u8]) -> io::Result<bool> {
        let bodies = match self.protocol {
            #[cfg(feature = "full")]
            Protocol::Http | Protocol::Https | Protocol::Http2 => bodies(received)?,
            Protocol::Resp => Some(received.to_vec()),
        };
        let Some(said) = bodies.filter(|said| said.len() >= self.answers.len()) else {
            return Ok(false);
        };
        if said != self.answers {
            return Err(Error::new(ErrorKind::InvalidData, "an answer to nothing that was asked"));
        }
        self.requests.clear();
        self.answers.clear();
        Ok(true)
    }
}

/// Adds a command.
fn resp(requests: &mut Vec<u8>, words: &[&str]) -> io::Result<()> {
    write!(requests, "*{}\r\n", words.len())?;
    words.iter().try_for_each(|word| write!(requests, "${}\r\n{word}\r\n", word.len()))
}

/// The bodies of these answers, in a row; none if the last is incomplete.
#[cfg(feature = "full")]
fn bodies(mut received: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let bad = |reason: String| Error::new(ErrorKind::InvalidData, reason);
    let mut bodies = Vec::new();
    while !received.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut answer = httparse::Response::new(&mut headers);
        let head = answer.parse(received).map_err(|error| bad(format!("no answer: {error}")))?;
        let httparse::Status::Complete(head) = head else { return Ok(None) };
        let length =
            answer.headers.iter().find(|one| one.name.eq_ignore_ascii_case("content-length"));
        let length =
            length.and_then(|one| std::str::from_utf8(one.value).ok()?.parse::<usize>().ok());
        let (Some(length), Some(200)) = (length, answer.code) else {
            return Err(bad(format!("an answer with the code {:?}", answer.code)));
        };
        let Some(body) = received.get(head..head + length) else { return Ok(None) };
        bodies.extend_from_slice(body);
        received = &received[head + length..];
    }
    Ok(Some(bodies))
}
