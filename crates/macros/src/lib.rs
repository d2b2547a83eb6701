//! The attributes `#[brigade::main]` and `#[brigade::test]`, for [brigade](https://docs.rs/brigade)'s feature `macros`.
//!
//! An attribute puts the function, as it is, into a function without `async` that runs it. All is passed on token by token, so this
//! needs no parser.
#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

/// Makes an `async fn main` the main function of a program: builds a pool, and runs the body on the calling thread inside of it.
///
/// The pool has the default configuration, or as many threads as `#[brigade::main(threads = 4)]` says: a number, a constant, or any
/// other argument of `Builder::threads`. Jobs spawned by the body run on this pool, which is dropped when the body has ended.
///
/// The drop waits for closures, and cancels futures not ready by then, also futures that keep each other busy. This does not change
/// the exit code, which is as for any `main`: 0 for `()` or `Ok`, 1 for an `Err`, which is printed, and 101 for a panic of the
/// body. A panic of a job or future does not change it either. In each case the pool ends first.
///
/// ```ignore
/// #[brigade::main]
/// async fn main() -> std::io::Result<()> {
///     let answer = brigade::spawn(async { 6 * 7 }).await?;
///     assert_eq!(answer, 42);
///     Ok(())
/// }
/// ```
#[proc_macro_attribute]
pub fn main(attribute: TokenStream, function: TokenStream) -> TokenStream {
    expand(attribute, function, false).unwrap_or_else(Problem::into_tokens)
}

/// Makes an `async fn` a test: builds a pool, and runs the body on the test's thread inside of it, as [`main`](macro@main) does.
///
/// ```ignore
/// #[brigade::test(threads = 2)]
/// async fn a_sum_is_computed() -> Result<(), brigade::JoinError> {
///     assert_eq!(brigade::submit(|| 40 + 2).await?, 42);
///     Ok(())
/// }
/// ```
///
/// With `paused`, which needs brigade's feature `test-util`, the pool is a `LocalPool::paused`: the test's thread runs all of its jobs, and
/// the clock is virtual.
///
/// ```ignore
/// #[brigade::test(paused)]
/// async fn a_week_passes_at_once() {
///     let (week, begun) = (Duration::from_secs(7 * 24 * 60 * 60), brigade::time::now());
///     brigade::time::sleep(week).await;
///     assert_eq!(brigade::time::now() - begun, week);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, function: TokenStream) -> TokenStream {
    expand(attribute, function, true).unwrap_or_else(Problem::into_tokens)
}

/// The mistake, and where it is.
struct Problem {
    at: Span,
    message: &'static str,
}

impl Problem {
    /// The error for the compiler to show.
    fn into_tokens(self) -> TokenStream {
        let Self { at, message } = self;
        let error = parse(&format!("compile_error! {{ {message:?} }}"));
        let at_place = |mut token: TokenTree| {
            token.set_span(at);
            token
        };
        error.into_iter().map(at_place).collect()
    }
}

fn expand(
    attribute: TokenStream,
    function: TokenStream,
    is_test: bool,
) -> Result<TokenStream, Problem> {
    let pool = pool(attribute, is_test)?;
    let tokens: Vec<TokenTree> = function.into_iter().collect();
    let is = |token: &TokenTree, text: &str| matches!(token, TokenTree::Ident(ident) if ident.to_string() == text);
    let Some(function) = tokens.iter().position(|token| is(token, "fn")) else {
        let message = "the attribute belongs to a function";
        return Err(Problem { at: Span::call_site(), message });
    };
    let Some(asynchronous) = tokens[..function].iter().position(|token| is(token, "async")) else {
        let message = "the function must be `async`, else it needs no attribute";
        return Err(Problem { at: tokens[function].span(), message });
    };
    let [_, name, arguments, .., TokenTree::Group(body)] = &tokens[function..] else {
        return Err(Problem { at: Span::call_site(), message: "the function has no body" });
    };
    match arguments {
        TokenTree::Group(arguments) if arguments.stream().is_empty() => {}
        TokenTree::Group(arguments) => {
            let message = "the function takes no arguments";
            return Err(Problem { at: arguments.span(), message });
        }
        generics => {
            let message = "the function takes no type, const or lifetime parameters";
            return Err(Problem { at: generics.span(), message });
        }
    }
    let group = |delimiter, tokens| TokenTree::Group(Group::new(delimiter, tokens));
    let call = [name.clone(), group(Delimiter::Parenthesis, TokenStream::new())];
    // The function as it is, so the body is checked against the result; and then a pool that runs it.
    let mut statements = TokenStream::from_iter(tokens[asynchronous..].iter().cloned());
    let (make, run) = match pool {
        Pool::Paused => {
            // For the compiler's error if the feature is off: it names the feature for a function, and not for a method.
            statements.extend(parse("let _ = ::brigade::time::advance;"));
            (parse("::brigade::LocalPool::paused()"), ".run_until")
        }
        Pool::Threads(threads) => {
            let mut make = parse("::brigade::Pool::builder()");
            if let Some(threads) = threads {
                make.extend(parse(".threads"));
                make.extend([group(Delimiter::Parenthesis, threads)]);
            }
            make.extend(parse(".build()"));
            (make, ".block_on")
        }
    };
    statements.extend(parse("match"));
    statements.extend(make);
    statements.extend(parse(
        "{
            ::core::result::Result::Ok(pool) => pool,
            ::core::result::Result::Err(error) => ::core::panic!(\"cannot start a pool: {error}\"),
        }",
    ));
    statements.extend(parse(run));
    statements.extend([group(Delimiter::Parenthesis, TokenStream::from_iter(call))]);
    let mut new_body = Group::new(Delimiter::Brace, statements);
    new_body.set_span(body.span());

    let mut result =
        if is_test { parse("#[::core::prelude::v1::test]") } else { TokenStream::new() };
    let last = tokens.len() - 1;
    let kept = tokens.into_iter().enumerate().filter(|&(at, _)| at != asynchronous && at != last);
    result.extend(kept.map(|(_, token)| token));
    result.extend([TokenTree::Group(new_body)]);
    Ok(result)
}

/// The pool that runs the function.
enum Pool {
    /// A pool of this many threads, or of the default number.
    Threads(Option<TokenStream>),
    /// A `LocalPool` whose clock is paused.
    Paused,
}

/// The pool, from `threads = N` or, for a test, `paused`.
fn pool(attribute: TokenStream, is_test: bool) -> Result<Pool, Problem> {
    let mut tokens: Vec<TokenTree> = attribute.into_iter().collect();
    let is = |token: &TokenTree, text: char| matches!(token, TokenTree::Punct(punct) if punct.as_char() == text);
    if tokens.last().is_some_and(|last| is(last, ',')) {
        tokens.pop();
    }
    match &tokens[..] {
        [] => Ok(Pool::Threads(None)),
        [TokenTree::Ident(name), equals, number @ ..]
            if name.to_string() == "threads"
                && is(equals, '=')
                && !number.is_empty()
                && !number.iter().any(|token| is(token, ',')) =>
        {
            Ok(Pool::Threads(Some(number.iter().cloned().collect())))
        }
        [TokenTree::Ident(name)] if is_test && name.to_string() == "paused" => Ok(Pool::Paused),
        [first, ..] => {
            let message = if is_test {
                "write `threads = 4`, or `paused` for a virtual clock, or nothing for as many threads as there are processors"
            } else {
                "write `threads = 4`, or nothing for as many as there are processors"
            };
            Err(Problem { at: first.span(), message })
        }
    }
}

fn parse(text: &str) -> TokenStream {
    match text.parse() {
        Ok(tokens) => tokens,
        Err(error) => panic!("the macro wrote what is no Rust: {error}"),
    }
}
