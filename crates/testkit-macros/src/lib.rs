//! The attribute `#[test]` of brigade-testkit, in a crate of its own as attributes must be.
#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a function a test with a time limit: `#[test]` is a minute of an idle machine's time, `#[test(120)]` that many
/// seconds. A test under `#[test(alone)]` runs beside no other test of its binary, and a test under `#[test(unwatched)]`
/// has no limit and starts no thread.
///
/// `#[test(for_every_pool)]` and `#[test(120, for_every_pool)]` pass the function, which has parameters, to the named one. That
/// calls it for each of its cases, and names the case that fails.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let arguments = arguments.to_string();
    let is_limit = |word: &str| {
        matches!(word, "" | "alone" | "unwatched") || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let (limit, each) = match arguments.split_once(',') {
        Some((limit, each)) => (limit, each),
        None if is_limit(&arguments) => (&*arguments, ""),
        None => ("", &*arguments),
    };
    let watch = match limit {
        "unwatched" => String::new(),
        "alone" => "let _dog = ::brigade_testkit::Watchdog::start_alone(120);".into(),
        "" => "let _dog = ::brigade_testkit::Watchdog::start(60);".into(),
        seconds => format!("let _dog = ::brigade_testkit::Watchdog::start({seconds});"),
    };
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    if !each.is_empty() {
        call_by(each, &mut tokens);
    }
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

/// Moves a function into one without parameters, which passes it to `each`.
fn call_by(each: &str, function: &mut Vec<TokenTree>) {
    // The word `fn`, the name, the parameters and the body: nothing else is in a test.
    let inner = function.split_off(function.len() - 4);
    function.extend(inner[..2].iter().cloned());
    let call = parse(&format!("{each}({});", inner[1]));
    let body = inner.into_iter().chain(call).collect();
    function.push(Group::new(Delimiter::Parenthesis, TokenStream::new()).into());
    function.push(Group::new(Delimiter::Brace, body).into());
}

fn parse(code: &str) -> TokenStream {
    code.parse().expect("it is Rust")
}
