//! Prints the public items of crates, one a line, from the files that rustdoc wrote for them as JSON: `public_api FILE..`.
//!
//! `ci/verbs.sh` keeps the lines in `docs/api.txt`. They are those of the crate `public-api`, with these differences:
//!
//! - An item of a trait's implementation names the trait: `<Type as Trait>::item`. Methods of [`PLAIN`] traits are left out, as the line of the
//!   implementation says the same.
//! - The [`AUTO`] traits of a type are one line.
//! - A re-export names the origin. Paths have no private modules, and items of std's prelude have no path.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::fs;

use public_api::Builder;
use serde_json::Value;

/// Auto traits that a user relies on.
const AUTO: [&str; 5] = ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];

/// Traits of the compiler, which are not for users.
const INTERNAL: [&str; 3] = ["Freeze", "StructuralPartialEq", "UnsafeUnpin"];

/// Traits whose methods do the same for every type: they convert, compare, copy, print or lend a value.
const PLAIN: &str = "AsFd AsRef Borrow BorrowMut Clone Debug Default Deref DerefMut Display Eq Error From FromStr Hash Ord PartialEq PartialOrd";

/// Modules of std's prelude, whose items stand without them.
const PRELUDE: [&str; 8] =
    ["boxed", "clone", "convert", "default", "marker", "option", "string", "vec"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut crates = Vec::new();
    for file in std::env::args().skip(1) {
        crates.push(lines(&file).map_err(|error| format!("{file}: {error}"))?);
    }
    let public: HashSet<String> = crates.iter().flatten().filter_map(|line| path(line)).collect();
    for lines in &crates {
        let mut printed = HashSet::new();
        // The first is the crate's own.
        println!("\n# {}", lines[0].trim_start_matches("pub mod "));
        for line in lines {
            let line = with_paths(line, |path| {
                if path.starts_with("brigade") { publicly(path, &public) } else { of_std(path) }
            });
            if printed.insert(line.clone()) {
                println!("{line}");
            }
        }
    }
    Ok(())
}

/// The lines of a crate.
fn lines(file: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let json: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let items = Builder::from_rustdoc_json(file).sorted(true).omit_blanket_impls(true).build();
    let items = items.map_err(|error| {
        format!("{error}; rustdoc writes format {}, which another version of the crate public-api may read (Cargo.toml)", json["format_version"])
    })?;

    let mut lines = Vec::new();
    let mut auto: BTreeMap<String, BTreeSet<(usize, String)>> = BTreeMap::new();
    // The implementations so far, each with its type and its trait.
    let mut of_traits = HashMap::new();
    for item in items.items() {
        let inner = &json["index"][item.id().0.to_string()]["inner"];
        let mut line = item.to_string();
        if let Some(id) = inner["use"]["id"].as_u64() {
            let origin: Vec<&str> = json["paths"][id.to_string()]["path"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            line = line.replacen("pub use ", &format!("pub use {} as ", origin.join("::")), 1);
        } else if line.starts_with("impl") {
            let Some((of, bounds, name)) = implemented(&line, inner) else {
                // The paths of methods have the type, and not its bounds.
                if line.contains(": ") || line.contains(" where ") {
                    lines.push(line);
                }
                continue;
            };
            if let Some(place) = AUTO.iter().position(|auto| *auto == name) {
                let not = if inner["impl"]["is_negative"] == true { "!" } else { "" };
                auto.entry(of).or_default().insert((place, format!("{not}{name}{bounds}")));
                continue;
            }
            if INTERNAL.contains(&&*name) {
                continue;
            }
            of_traits.insert(item.id(), (of, name));
        } else if let Some((of, name)) = item.parent_id().and_then(|parent| of_traits.get(&parent))
        {
            if PLAIN.split(' ').any(|plain| plain == name) && line.contains("fn ") {
                continue;
            }
            line = line.replacen(&format!("{of}::"), &format!("<{of} as {name}>::"), 1);
        }
        lines.push(line);
    }
    for (of, traits) in &auto {
        let traits: Vec<&str> = traits.iter().map(|(_, name)| &**name).collect();
        lines.push(format!("auto {of}: {}", traits.join(", ")));
    }
    Ok(lines)
}

/// The type of an `impl` of a trait, what must hold for it, and the trait's name.
fn implemented(line: &str, inner: &Value) -> Option<(String, String, String)> {
    let name = inner["impl"]["trait"]["path"].as_str()?.rsplit("::").next()?.to_owned();
    let (parameters, of) = line.split_once(" for ")?;
    let (of, bounds) = of.split_at(of.find(" where ").unwrap_or(of.len()));
    // `impl<T: Send> Sync for ..`
    let parameters = parameters
        .strip_prefix("impl<")
        .and_then(|rest| Some(&rest[..rest.find("> ")?]))
        .unwrap_or_default();
    let bounds = if bounds.is_empty() && parameters.contains(": ") {
        format!(" where {parameters}")
    } else {
        bounds.to_owned()
    };
    Some((of.to_owned(), bounds, name))
}

/// The path of an item that is a type, a trait or a function; that of a module ends in `::`.
fn path(line: &str) -> Option<String> {
    const KINDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "fn "];
    if let Some(module) = line.strip_prefix("pub mod ") {
        return Some(format!("{module}::"));
    }
    let (_, rest) = KINDS.iter().find_map(|kind| line.split_once(kind))?;
    Some(rest[..end_of_path(rest)].trim_end_matches(':').to_owned())
}

/// The length of the path at the beginning of a text.
fn end_of_path(text: &str) -> usize {
    text.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
        .unwrap_or(text.len())
}

/// A line with its paths of the workspace and of std replaced.
fn with_paths(line: &str, new: impl Fn(&str) -> String) -> String {
    let mut done = String::new();
    let mut rest = line;
    while let Some(at) =
        ["brigade", "core::", "alloc::", "std::"].iter().filter_map(|root| rest.find(root)).min()
    {
        let (before, from) = rest.split_at(at);
        let (path, after) = from.split_at(end_of_path(from));
        done.push_str(before);
        // What follows generics belongs to no path, nor does the colon of a bound.
        let name = path.trim_end_matches(':');
        done.push_str(&new(name));
        done.push_str(&path[name.len()..]);
        rest = after;
    }
    done + rest
}

/// A path of the workspace without private modules, which another crate's names have. Without them it is a public item's.
fn publicly(path: &str, public: &HashSet<String>) -> String {
    let mut kept = String::new();
    let mut parts = path.split("::").peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let longer = format!("{kept}{part}::");
        if is_last {
            kept.push_str(part);
        } else if kept.is_empty()
            || public.contains(&longer)
            || part.starts_with(char::is_uppercase)
        {
            kept = longer;
        }
    }
    if public.contains(&kept) { kept } else { path.to_owned() }
}

/// A path of std: its crate and first module, as the others may be private and change, and its name; of the prelude the name alone.
fn of_std(path: &str) -> String {
    let parts: Vec<&str> = path.split("::").collect();
    match parts[..] {
        [_, module, .., name] if PRELUDE.contains(&module) => name.to_owned(),
        [_, "result", "Result"] | [_, "ops", "function", _] => parts[parts.len() - 1].to_owned(),
        [root, module, _, .., name] if root != "std" || module != "os" => {
            format!("{root}::{module}::{name}")
        }
        _ => path.to_owned(),
    }
}
