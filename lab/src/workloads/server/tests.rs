//! Both protocols on every target, and what the clients say about a wrong answer.

use super::wire::{Protocol, Wire};

/// The wire after these requests, over connection 7.
fn asked(protocol: Protocol, numbers: &[u32]) -> Wire {
    let mut wire = Wire::new(protocol, 7);
    numbers.iter().for_each(|&number| wire.ask(number).expect("asked"));
    wire
}

#[test]
fn an_answer_is_complete_with_its_last_byte() {
    #[cfg(feature = "full")]
    let http = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ndate: today\r\n\r\n/7/0";
    let resp = "+OK\r\n$1\r\n0\r\n+PONG\r\n";
    for (protocol, numbers, all) in [
        #[cfg(feature = "full")]
        (Protocol::Http, &[0][..], http),
        (Protocol::Resp, &[0, 1, 2][..], resp),
    ] {
        let mut wire = asked(protocol, numbers);
        for length in 0..all.len() {
            assert!(!wire.answered(&all.as_bytes()[..length]).expect("no error"), "{length}");
        }
        assert!(wire.answered(all.as_bytes()).expect("no error"));
        assert!(wire.requests.is_empty());
    }
}

#[test]
fn another_answer_is_an_error() {
    for answer in ["+OK\r\n$1\r\n3\r\n", "+OK\r\n$1\r\n0\r\n+", "$-1\r\n$1\r\n0\r\n"] {
        assert!(asked(Protocol::Resp, &[0, 1]).answered(answer.as_bytes()).is_err(), "{answer}");
    }
}

#[test]
fn a_never_set_value_is_none() {
    let mut wire = asked(Protocol::Resp, &[1]);
    assert!(wire.answered(b"$-1\r\n").expect("no error"));
}

#[test]
#[cfg(feature = "full")]
fn another_answer_of_http_is_an_error() {
    let http = |code: u32, body: &str| {
        format!("HTTP/1.1 {code} OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    for answer in [http(200, "/7/1"), http(200, "/7/00"), http(500, "/7/0"), "nonsense".to_owned()]
    {
        assert!(asked(Protocol::Http, &[0]).answered(answer.as_bytes()).is_err(), "{answer}");
    }
}
