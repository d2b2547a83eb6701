//! Imports inside the laboratory go one way, as the documentation of `lib.rs` lists the modules.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

/// The modules in the order of the list in `lib.rs`.
fn order(library: &str) -> Vec<&str> {
    let list = library
        .lines()
        .skip_while(|line| *line != "//! # Order")
        .take_while(|line| line.starts_with("//!"));
    let items = list.filter(|line| line.starts_with("//! - ") || line.starts_with("//!   "));
    // Every second part stands between backticks.
    items.flat_map(|item| item.split('`').skip(1).step_by(2)).collect()
}

/// Every source file below this folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The modules at the top that this text names behind `crate::`.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1))
        .filter_map(|rest| rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next())
}

#[test]
fn every_module_imports_from_above() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let library = fs::read_to_string(source.join("lib.rs")).expect("lib.rs");
    let order = order(&library);
    let place = |module: &str| order.iter().position(|other| *other == module);
    for declared in library.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
    {
        assert!(place(declared).is_some(), "{declared} is not in the list");
    }
    for path in files(&source) {
        let inside = path.strip_prefix(&source).expect("below it").with_extension("");
        let module = inside.iter().next().and_then(|name| name.to_str()).expect("a name");
        let text = fs::read_to_string(&path).expect("a source file");
        // Tests may import anything.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for import in
            imports(text).filter(|import| *import != module && !["lib", "main"].contains(&module))
        {
            if inside.ends_with("tests") {
                continue;
            }
            let above = place(import).unwrap_or_else(|| panic!("{import} is not in the list"));
            assert!(Some(above) < place(module), "{} imports {import}", path.display());
        }
    }
}
