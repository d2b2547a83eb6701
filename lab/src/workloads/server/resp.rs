//! The server for RESP, the protocol of redis: as much of it as PING, GET and SET need.

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::sync::{Mutex, PoisonError};

use crate::workloads::prelude::*;

/// The longest command.
const LONGEST: usize = 16 << 10;

/// The values by their keys.
#[derive(Default)]
pub(super) struct Store(Mutex<HashMap<Vec<u8>, Vec<u8>>>);

impl Store {
    /// Carries out a command, and adds the answer to `output`.
    fn answer(&self, words: &[&[u8]], output: &mut Vec<u8>) {
        // No panic can leave the map half-changed.
        let map = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match words {
            [b"PING"] => output.extend_from_slice(b"+PONG\r\n"),
            [b"SET", key, value] => {
                map().insert(key.to_vec(), value.to_vec());
                output.extend_from_slice(b"+OK\r\n");
            }
            [b"GET", key] => match map().get(*key) {
                Some(value) => {
                    output.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
                    output.extend_from_slice(value);
                    output.extend_from_slice(b"\r\n");
                }
                None => output.extend_from_slice(b"$-1\r\n"),
            },
            _ => output.extend_from_slice(b"-ERR unknown command\r\n"),
        }
    }
}

/// Answers all commands of a connection until the other end is closed. Commands that arrived together are answered together.
pub(super) async fn serve<S: Source + Sink>(
    mut stream: S,
    connection: u32,
    store: Arc<Store>,
    tally: &'static Tally,
) -> io::Result<()> {
    let (mut input, mut filled, mut served) = (vec![0; LONGEST], 0, 0);
    let mut output = Vec::new();
    loop {
        let read = stream.some(&mut input[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut rest = &input[..filled];
        while let Some(words) = command(&mut rest)? {
            store.answer(&words, &mut output);
            tally.ran(connection, served);
            served += 1;
        }
        let left = rest.len();
        if left == LONGEST {
            return Err(bad("a command that is too long"));
        }
        input.copy_within(filled - left..filled, 0);
        filled = left;
        if !output.is_empty() {
            stream.put(&output).await?;
            output.clear();
        }
    }
}

/// Takes the next command off `bytes`; none if it is not there as a whole.
fn command<'b>(bytes: &mut &'b [u8]) -> io::Result<Option<Vec<&'b [u8]>>> {
    let mut rest = *bytes;
    let Some(words) = number(&mut rest, b'*')? else { return Ok(None) };
    let mut command = Vec::with_capacity(words.min(LONGEST));
    for _ in 0..words {
        let Some(length) = number(&mut rest, b'$')? else { return Ok(None) };
        let Some((word, after)) = rest.split_at_checked(length) else { return Ok(None) };
        let Some((end, after)) = after.split_at_checked(2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err(bad("a word that is longer than it says"));
        }
        command.push(word);
        rest = after;
    }
    *bytes = rest;
    Ok(Some(command))
}

/// Takes a line with a number behind `mark` off `bytes`; none if it is not there as a whole.
fn number(bytes: &mut &[u8], mark: u8) -> io::Result<Option<usize>> {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
    let (line, rest) = bytes.split_at(end + 1);
    let digits = line.strip_prefix(&[mark]).and_then(|line| line.strip_suffix(b"\r\n"));
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    *bytes = rest;
    number.map(Some).ok_or_else(|| bad("a line that is no number"))
}

/// An error of the protocol.
fn bad(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::{Store, command};

    #[test]
    fn a_command_is_taken_when_complete() {
        let all = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\r\n\r\n*1\r\n$4\r\nPING\r\n";
        for length in 0..all.len() - 14 {
            let mut part = &all[..length];
            assert_eq!(command(&mut part).expect("none yet"), None, "{length}");
            assert_eq!(part.len(), length, "nothing is taken");
        }
        let mut rest = &all[..];
        let set: &[&[u8]] = &[b"SET", b"k", b"a\r\n"];
        assert_eq!(command(&mut rest).expect("one").as_deref(), Some(set));
        assert_eq!(command(&mut rest).expect("one").as_deref(), Some(&[&b"PING"[..]][..]));
        assert_eq!((command(&mut rest).expect("none"), rest), (None, &b""[..]));
    }

    #[test]
    fn text_without_a_command_is_an_error() {
        for bytes in ["PING\r\n", "*x\r\n", "*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$1\r\nab\r\n", "*1\n"]
        {
            assert!(command(&mut bytes.as_bytes()).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_value_is_the_last_set() {
        let (store, mut output) = (Store::default(), Vec::new());
        let commands: [&[&[u8]]; 6] = [
            &[b"GET", b"k"],
            &[b"SET", b"k", b"1"],
            &[b"SET", b"k", b"22"],
            &[b"GET", b"k"],
            &[b"PING"],
            &[b"DEL", b"k"],
        ];
        commands.iter().for_each(|words| store.answer(words, &mut output));
        let said = "$-1\r\n+OK\r\n+OK\r\n$2\r\n22\r\n+PONG\r\n-ERR unknown command\r\n";
        assert_eq!(std::str::from_utf8(&output), Ok(said));
    }
}
