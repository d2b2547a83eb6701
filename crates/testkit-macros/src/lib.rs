//! The attribute `#[test]` of brigade-testkit, in a crate of its own as attributes must be.
#![forbid(unsafe_code)]

use proc_macro::{Group, TokenStream, TokenTree};

/// Makes a function a test with a time limit: `#[test]` is a minute of an idle machine's time, `#[test(120)]` that many
/// seconds. A test under `#[test(alone)]` runs beside no other test of its binary, and a test under `#[test(unwatched)]`
/// has no limit and starts no thread.
#[proc_macro_attribute]
pub fn test(limit: TokenStream, function: TokenStream) -> TokenStream {
    let watch = match limit.to_string().as_str() {
        "unwatched" => String::new(),
        "alone" => "let _dog = ::brigade_testkit::Watchdog::start_alone(120);".into(),
        "" => "let _dog = ::brigade_testkit::Watchdog::start(60);".into(),
        seconds => format!("let _dog = ::brigade_testkit::Watchdog::start({seconds});"),
    };
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    if let Some(TokenTree::Group(body)) = tokens.last_mut() {
        let inside = [parse(&watch), body.stream()].into_iter().collect();
        let span = body.span();
        *body = Group::new(body.delimiter(), inside);
        body.set_span(span);
    }
    let mut test = parse("#[::core::prelude::v1::test]");
    test.extend(tokens);
    test
}

fn parse(code: &str) -> TokenStream {
    code.parse().expect("it is Rust")
}
