//! The attribute `#[test]` of brigade-testkit, in a separate crate as attributes must be.
#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a function a test with a time limit: `#[test]` is a minute of an idle machine's time, `#[test(120)]` this many
/// seconds. A test under `#[test(alone)]` runs beside no other test of the binary, and a test under `#[test(unwatched)]`
/// has no limit and starts no thread.
///
/// A function with parameters is called for each case, and a failing case is named:
///
/// - `#[test(threads in [1, 2, 8])]` calls it with each of these values, `#[test(threads in [1, 2], how in HOWS)]` with each pair;
/// - `#[test((name, limit) in CASES)]` calls it with the limits of a table. Where some of the names are no parameters, these are the
///   name of the case;
/// - `#[test(for_every_pool)]` passes it to a function that calls it with the remaining parameters.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let mut watch = "let _dog = ::brigade_testkit::Watchdog::start(60);".to_owned();
    let (mut loops, mut each) = (Vec::new(), None);
    for argument in split(arguments) {
        let is_in = |token: &TokenTree| token.to_string() == "in";
        let text = stream(&argument).to_string();
        match (&*text, argument.iter().position(is_in)) {
            ("unwatched", _) => watch.clear(),
            ("alone", _) => watch = watch.replace("start(60)", "start_alone(120)"),
            (seconds, _) if seconds.parse::<u64>().is_ok() => watch = watch.replace("60", seconds),
            (_, Some(at)) => loops.push(Loop { names: names(&argument[..at]), text }),
            _ => each = Some(text),
        }
    }
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    if each.is_some() || !loops.is_empty() {
        call_for_each(&loops, each, &mut tokens);
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

/// An argument like `(name, limit) in CASES`.
struct Loop {
    names: Vec<String>,
    text: String,
}

impl Loop {
    /// The names of a case: the names that are no parameters, if any.
    fn shown(&self, parameters: &[String]) -> Vec<&String> {
        let others = self.names.iter().filter(|name| !parameters.contains(name));
        if others.clone().next().is_none() { self.names.iter().collect() } else { others.collect() }
    }
}

/// Moves a function into another without parameters, which calls it for each case.
fn call_for_each(loops: &[Loop], each: Option<String>, function: &mut Vec<TokenTree>) {
    // The word `fn`, the name, the parameters and the body: nothing else is in a test.
    let inner = function.split_off(function.len() - 4);
    function.extend(inner[..2].iter().cloned());
    let TokenTree::Group(parameters) = &inner[2] else { panic!("the parameters") };
    let parameters: Vec<_> =
        split(parameters.stream()).iter().map(|it| it[0].to_string()).collect();

    let bound: Vec<_> = loops.iter().flat_map(|it| &it.names).collect();
    let last = loops.last().map_or(&[][..], |it| &it.names);
    let argument = |name: &String| match each.is_none() && last.contains(name) {
        false if bound.contains(&name) => format!("::core::clone::Clone::clone(&{name})"),
        _ => name.clone(),
    };
    let arguments: Vec<_> = parameters.iter().map(argument).collect();
    let mut call = format!("{}({})", inner[1], arguments.join(", "));
    if let Some(each) = each {
        let passed: Vec<_> = parameters.iter().filter(|name| !bound.contains(name)).collect();
        let passed: Vec<_> = passed.into_iter().map(String::as_str).collect();
        call = format!("{each}(|{}| {call})", passed.join(", "));
    }
    if !loops.is_empty() {
        let names = loops.iter().flat_map(|it| it.shown(&parameters));
        let names: Vec<_> = names.map(|name| format!("{name}: {{{name}:?}}")).collect();
        call =
            format!("::brigade_testkit::case(&::std::format!({:?}), || {call})", names.join(", "));
    }
    for it in loops.iter().rev() {
        call = format!("for {} {{ {call} }}", it.text);
    }
    let body = inner.into_iter().chain(parse(&format!("{call};"))).collect();
    function.push(Group::new(Delimiter::Parenthesis, TokenStream::new()).into());
    function.push(Group::new(Delimiter::Brace, body).into());
}

/// The parts between commas, none of them empty.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is_comma = |token: &TokenTree| token.to_string() == ",";
    let parts = tokens.split(is_comma).filter(|part| !part.is_empty());
    parts.map(<[TokenTree]>::to_vec).collect()
}

/// The names in a pattern.
fn names(pattern: &[TokenTree]) -> Vec<String> {
    let inside = |token: &TokenTree| match token {
        TokenTree::Group(group) => names(&Vec::from_iter(group.stream())),
        TokenTree::Ident(name) => vec![name.to_string()],
        _ => Vec::new(),
    };
    pattern.iter().flat_map(inside).collect()
}

fn stream(tokens: &[TokenTree]) -> TokenStream {
    tokens.iter().cloned().collect()
}

fn parse(code: &str) -> TokenStream {
    code.parse().expect("it is Rust")
}
