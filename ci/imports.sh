#!/usr/bin/env bash
# Before each commit: checks that modules import downwards: each from those in the lines below its own, in the order that the crate's lib.rs lists, or a folder's
# mod.rs (the laboratory has a test for the same). Documentation and tests may name anything.
set -euo pipefail
cd "$(dirname "$0")/.."

# The order of a crate's modules, or of a folder's: of the files in `source`, as the file `library` lists it, with paths that begin with `root`.
check() {
    local source="crates/$1" library="crates/$1/$2" root="$3"
    find "$source" -name '*.rs' -not -path '*/tests*' -not -path '*loom_tests*' -not -path "$library" -print0 | sort -z |
        xargs -0 awk -v source="$source" -v library="$library" -v root="$root" '
        BEGIN {
            while ((getline line < library) > 0) {
                if (line ~ /^\/\/ Each module imports only from those in the lines below it/) { listed = 1; continue }
                if (listed && line ~ /^\/\/ those in the first line, which are data of all:/) { data = 1; continue }
                if (listed && line ~ /^\/\/     /) {
                    count = split(substr(line, 8), names, " ")
                    depth++
                    for (i = 1; i <= count; i++) layer[names[i]] = depth
                } else if (listed && line !~ /^\/\//) { listed = 0 }
                if (line ~ /^(pub )?mod [a-z_]+;/) {
                    gsub(/^(pub )?mod |;.*/, "", line)
                    declared[line] = 1
                }
            }
            if (!depth) { print library ": no order of modules"; failed = 1 }
            for (name in declared) if (!(name in layer)) { print library ": " name " is not in the order"; failed = 1 }
        }
        FNR == 1 {
            module = substr(FILENAME, length(source) + 2)
            flat = module !~ /\// || module ~ /^[^\/]*\/mod\.rs$/
            sub(/\/.*|\.rs$/, "", module)
            tests = 0
        }
        /^#\[cfg\((all\()?test/ { tests = 1 }
        # A test module or impl ends at the brace in the first column; of what is not followed by one, only that line is left out.
        tests && /^}/ { tests = 0; next }
        tests && /;$/ && !/^ / { tests = 0; next }
        tests || /^ *\/\// { next }
        {
            text = $0
            if (text ~ /crate::\{/) { print FILENAME ":" FNR ": one module a line: crate::{"; failed = 1 }
            if (flat) gsub(/super::/, root, text)
            while (match(text, root "[A-Za-z_]+")) {
                name = substr(text, RSTART + length(root), RLENGTH - length(root))
                text = substr(text, RSTART + RLENGTH)
                if (name == module) continue
                if (!(name in layer)) problem = "is no module: name the one that has it"
                else if (data && layer[name] == 1) continue
                else if (layer[name] <= layer[module]) problem = "is not below " module
                else continue
                print FILENAME ":" FNR ": " root name " " problem
                failed = 1
            }
        }
        END { exit failed }
    ' || { echo "$source: imports must point down" >&2; return 1; }
}

for crate in brigade task queue; do check "$crate/src" lib.rs crate::; done
check brigade/src/engine mod.rs crate::engine::

# No file imports, through others, from itself. A folder is its `mod.rs`, which may import from what is in it.
circles() {
    local crate="$1" source="crates/$1/src" list
    list="$(mktemp)"
    git ls-files "$source/*.rs" | grep -vE '(tests|guide)(\.rs|/)' >"$list"
    xargs awk -v source="$source" -v list="$list" '
        function module_of(file) {
            file = substr(file, length(source) + 2)
            sub(/\.rs$/, "", file)
            sub(/\/mod$/, "", file)
            return file
        }
        # The module that a path names: the longest that is a file.
        function found(path) {
            gsub(/::/, "/", path)
            while (path != "" && !(path in known)) if (!sub(/\/[^\/]*$/, "", path)) path = ""
            return path
        }
        function import(path,    base) {
            base = module
            if (sub(/^crate::/, "", path)) base = ""
            while (sub(/^super::/, "", path)) if (!sub(/\/[^\/]*$/, "", base)) base = ""
            path = found((base == "" ? "" : base "::") path)
            if (path != "" && path != module) print module, path
        }
        BEGIN { while ((getline file < list) > 0) known[module_of(file)] }
        FNR == 1 { module = module_of(FILENAME); statement = "" }
        /^(pub(\([^)]*\))? )?use (crate|super)::/ || statement != "" {
            statement = statement $0
            if ($0 !~ /;$/) next
            gsub(/^.*use |[; ]/, "", statement)
            open = index(statement, "{")
            if (open == 0) import(statement)
            else {
                prefix = substr(statement, 1, open - 1)
                count = split(substr(statement, open + 1), names, /[{},]+/)
                for (i = 1; i <= count; i++) if (names[i] != "") import(prefix names[i])
            }
            statement = ""
        }
    ' <"$list" | tsort >/dev/null || { echo "$crate: imports must not go in a circle" >&2; return 1; }
    rm -f "$list"
}

for crate in brigade io machine observe timer trace; do circles "$crate"; done

# Atomics, thread-locals, and cells that are written once, come from brigade_sync, which models replace. Clippy can't tell: they are std's.
of_std="$(grep -rnE '(^|[^:])(std::)?\bthread_local! |std::sync::(\{[^}]*)?OnceLock|(std|core)::sync::(\{[^}]*)?atomic' crates/{brigade,burst,io,machine,observe,queue,task,trace}/src --include='*.rs' |
    grep -vE 'brigade_sync::|tests|///' || true)"
if [[ -n $of_std ]]; then
    printf 'use those of brigade_sync:\n%s\n' "$of_std" >&2
    exit 1
fi
