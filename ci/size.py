"""Measures what brigade weighs in a program, beside rayon, tokio and chili; run by `ci/release.sh size`.

It prints the CPU seconds of compiling a hello world with all dependencies, the bytes of that program above one with a thread of std, and
the bytes of each further closure: the slope between programs with 20 and with 60 closures of different types. Programs are stripped. IR
lines are those of LLVM before optimisation, in one codegen unit.

Bytes and IR lines of brigade are the same in each run, so docs/weight.txt bounds them: 1 % more fails, with the compiler named there.
`--exact` measures only these, and `--write` rewrites the file. CPU seconds need a quiet machine.
"""

import glob
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
TABLE = TOP / "docs/weight.txt"
RUNS = 3
CALLS = 20, 60
# The dependency of a hello world, and the statement that prints.
LIBRARIES = {
    "std": ("", 'std::thread::spawn(|| println!("hello")).join().unwrap();'),
    "brigade": (
        'brigade = { path = "checkout/crates/brigade" }',
        'brigade::Pool::new(2).submit(|| println!("hello")).join().unwrap();',
    ),
    "rayon": ('rayon = "1"', 'rayon::join(|| println!("hello"), || println!("hello"));'),
    "tokio": (
        'tokio = { version = "1", features = ["rt-multi-thread"] }',
        'tokio::runtime::Runtime::new().unwrap().block_on(async { tokio::spawn(async { println!("hello") }).await }).unwrap();',
    ),
    "chili": ('chili = "0.2"', 'chili::ThreadPool::new().scope().join(|_| println!("hello"), |_| println!("hello"));'),
}
# The statement that makes a pool, and a call with a closure. `{n}` is a different number in each call.
VERBS = {
    ("brigade", "execute"): ("let pool = brigade::Pool::new(2);", "pool.execute(move || { black_box(value + {n}); });"),
    ("brigade", "submit"): ("let pool = brigade::Pool::new(2);", "black_box(pool.submit(move || value + {n}));"),
    ("brigade", "spawn"): ("let pool = brigade::Pool::new(2);", "black_box(pool.spawn(async move { value + {n} }));"),
    ("rayon", "spawn"): ("", "rayon::spawn(move || { black_box(value + {n}); });"),
    ("tokio", "spawn"): ("let pool = tokio::runtime::Runtime::new().unwrap();", "black_box(pool.spawn(async move { value + {n} }));"),
}
# A program has the paths of its dependencies in messages of panics.
FLAGS = [f"--remap-path-prefix={os.environ.get('CARGO_HOME', pathlib.Path.home() / '.cargo')}=cargo"]


def cargo(command, package, target, flags=()):
    """Runs cargo in a package, without the caller's settings, and returns what it prints."""
    mine = re.compile("CARGO_(PROFILE|INCREMENTAL|BUILD|ENCODED|TARGET_)|RUSTFLAGS|RUSTC_")
    environment = {name: value for name, value in os.environ.items() if not mine.match(name)}
    environment |= {"CARGO_TARGET_DIR": str(target), "RUSTFLAGS": " ".join([*FLAGS, *flags])}
    done = subprocess.run(["cargo", *command, "--quiet"], cwd=package, env=environment, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"ci/size.py: `cargo {' '.join(command)}` failed for {package.name}")
    return done.stdout


def write_programs(scratch):
    for library, (dependency, hello) in LIBRARIES.items():
        programs = scratch / library / "src/bin"
        programs.mkdir(parents=True)
        manifest = f'[package]\nname = "program-{library}"\nedition = "2024"\n[workspace]\nexclude = ["checkout"]\n[dependencies]\n{dependency}\n[profile.release]\nstrip = true\n'
        (scratch / library / "Cargo.toml").write_text(manifest)
        # The versions of the laboratory.
        shutil.copy(TOP / "Cargo.lock", scratch / library)
        # Inside of the package, so that names of symbols do not depend on the path of the checkout.
        (scratch / library / "checkout").symlink_to(TOP)
        (programs / "hello.rs").write_text(f"fn main() {{\n    {hello}\n}}\n")
    for (library, verb), (pool, call) in VERBS.items():
        for calls in CALLS:
            statements = [f"let value = black_box({n}_u64);\n    {call.replace('{n}', str(n))}" for n in range(calls)]
            program = "use std::hint::black_box;\nfn main() {\n    " + "\n    ".join([pool, *statements]) + "\n}\n"
            (scratch / library / f"src/bin/{verb}{calls}.rs").write_text(program)


def cpu_seconds(package, target, arguments):
    """The CPU seconds of compiling a hello world and its dependencies: the median of some runs, and their range."""
    seconds = []
    for _ in range(RUNS):
        shutil.rmtree(target, ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        cargo(["build", "--bin", "hello", *arguments], package, target)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f}–{max(seconds):.1f})"


def program_bytes(package, target, name):
    cargo(["build", "--release", "--bin", name], package, target)
    return (target / "release" / name).stat().st_size


def ir_lines(package, target):
    """The IR lines of each crate of the workspace in a hello world."""
    flags = ["--emit=llvm-ir", "-Cno-prepopulate-passes", "-Ccodegen-units=1"]
    cargo(["build", "--release", "--bin", "hello"], package, target, flags)
    metadata = json.loads(cargo(["metadata", "--format-version", "1"], package, target))
    crates = [entry["name"] for entry in metadata["packages"] if "/checkout/crates/" in entry["manifest_path"]]
    lines = {}
    for crate in sorted(crates):
        for file in glob.glob(f"{target}/release/deps/{crate.replace('-', '_')}-*.ll"):
            inside = 0
            for line in open(file, encoding="utf8", errors="replace"):
                inside = line.startswith("define") or inside and not line.startswith("}")
                lines[crate] = lines.get(crate, 0) + (inside and line.startswith("  "))
    return lines


def show(title, cells):
    print(f"{title:42}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def measure(scratch, exact):
    """Prints all figures, and returns those that docs/weight.txt bounds."""
    write_programs(scratch)
    names = [name for name in LIBRARIES if name != "std"]
    package = {name: scratch / name for name in LIBRARIES}
    target = {name: scratch / f"target-{name}" for name in LIBRARIES}
    show("", names)
    if not exact:
        for profile, arguments in ("dev", []), ("release", ["--release"]):
            show(f"CPU seconds of a build, {profile}", [cpu_seconds(package[name], target[name], arguments) for name in names])
    alone = program_bytes(package["std"], target["std"], "hello")
    above = [program_bytes(package[name], target[name], "hello") - alone for name in names]
    show(f"bytes above std's thread ({alone:,})", [f"{value:,}" for value in above])
    figures = {"bytes above std's thread": above[0]}
    for verb in "execute", "submit", "spawn":
        cells = []
        for name in names:
            if (name, verb) not in VERBS:
                cells.append("-")
                continue
            few, many = (program_bytes(package[name], target[name], f"{verb}{calls}") for calls in CALLS)
            slope = (many - few) // (CALLS[1] - CALLS[0])
            cells.append(f"{slope:,}")
            if name == "brigade":
                figures[f"bytes of each further closure, {verb}"] = slope
        show(f"bytes of each further closure, {verb}", cells)
    lines = ir_lines(package["brigade"], scratch / "target-ir")
    for crate, count in [*lines.items(), ("all crates", sum(lines.values()))]:
        show(f"IR lines of {crate}", [f"{count:,}"])
        figures[f"IR lines of {crate}"] = count
    return figures


def compiler():
    said = dict(line.split(": ", 1) for line in subprocess.check_output(["rustc", "-vV"], text=True).splitlines()[1:])
    return f"rustc {said['release']} for {said['host']}"


def compare(figures):
    """Compares the figures with the file; returns whether all are within their bounds."""
    written_by, *lines = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    if written_by != compiler():
        print(f"docs/weight.txt is for {written_by}, this is {compiler()}: nothing is compared")
        return True
    bounds = {name: int(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
    faults = []
    for name in {**bounds, **figures}:
        bound, value = bounds.get(name), figures.get(name)
        if value is None:
            faults.append(f"{name}: in docs/weight.txt, but no longer measured")
        elif bound is None:
            faults.append(f"{name}: {value:,}, not in docs/weight.txt")
        elif value > bound * 1.01:
            faults.append(f"{name}: {value:,}, more than 1 % above the {bound:,} of docs/weight.txt")
        elif value < bound * 0.99:
            print(f"{name}: {value:,}, below {bound:,}; `ci/release.sh size --write` lowers it")
    for fault in faults:
        print(f"ci/size.py: {fault}", file=sys.stderr)
    if faults:
        print("ci/size.py: find what is compiled more than before, or `ci/release.sh size --write` and say why", file=sys.stderr)
    return not faults


def main(arguments):
    if arguments not in ([], ["--exact"], ["--write"]):
        print("usage: ci/release.sh size [--exact | --write]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(pathlib.Path(scratch).resolve(), exact=bool(arguments))
    if arguments == ["--write"]:
        comments = [line for line in TABLE.read_text().splitlines() if line.startswith("#")] if TABLE.exists() else []
        TABLE.write_text("\n".join([*comments, compiler(), *(f"{name} {value}" for name, value in figures.items())]) + "\n")
        return 0
    return 0 if compare(figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
