#!/usr/bin/env bash
# After a change of a manifest, of a `cfg` or of I/O, and before a release: `ci/targets.sh TARGET…` builds and tests for other systems, where a TARGET is
#
#   windows         all crates and drop-in packages under Wine, and the examples
#   arm64           the same under qemu, by the oldest Rust
#   i686            the same of 32 bits, which the CPU runs itself, by the oldest Rust
#   armv5           32 bits without 64-bit atomics, under qemu: the tests beside the sources, with `portable-atomic`; without it the build says so
#   macos, freebsd  `cargo check` of all crates and drop-in packages with all features
#   wasm            the same without `io`; with it the build says so; and a program by node
#   msrv            `ci/release.sh msrv`, with the oldest Rust
#   quick           `cargo check` for all of these, and the tests beside the sources under Wine and qemu
#   newest          only the set-up of the compiler that has the source of std, for `ci/tsan.sh`
#   check           for `.ci/run`: the tables, and `cargo check` for Windows and macOS with what is there
#
# The compilers come from the archive of Debian 12 and are unpacked into $BRIGADE_TARGETS (~/.cache/brigade-targets by default), which keeps them: 5 GB.
# Nothing is installed, and root is not needed. `docs/platforms.md` says what a system lacks; its tables name the tests that do not run.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "${BRIGADE_TARGETS:=$HOME/.cache/brigade-targets}"
home=$(realpath "$BRIGADE_TARGETS")
export BRIGADE_TARGETS=$home
system=$home/system
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
page=docs/platforms.md
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}/targets")
declare -A triples=(
    [windows]=x86_64-pc-windows-gnu [arm64]=aarch64-unknown-linux-gnu [i686]=i686-unknown-linux-gnu [armv5]=armv5te-unknown-linux-gnueabi
    [macos]=aarch64-apple-darwin [freebsd]=x86_64-unknown-freebsd
)

# The compilers, each set up when it is first needed.

# apt for these architectures, with lists of its own: the machine learns of no other, and root is not needed.
apt() {
    local lists=$home/lists/$1 cache=$home/cache/$1 options=(-qq -o Acquire::Languages=none -o APT::Sandbox::User=root) architecture
    for architecture in ${1//+/ }; do options+=(-o "APT::Architectures::=$architecture"); done
    options+=(-o "Dir::State::lists=$lists" -o "Dir::Cache=$cache")
    if [[ ! -d $lists ]]; then
        mkdir -p "$lists/partial" "$cache/archives/partial"
        # Not every archive has every architecture.
        apt-get "${options[@]}" update || true
    fi
    "$2" "${options[@]}" "${@:3}"
}

# Unpacks packages into a folder: `unpack FOLDER ARCHITECTURES PACKAGE…`.
unpack() {
    local to=$home/$1
    mkdir -p "$to/packages"
    (cd "$to/packages" && apt "$2" apt-get download "${@:3}" && for package in *.deb; do dpkg -x "$package" "$to"; done)
    rm -r "$to/packages"
}

# Linkers, C libraries, Wine and qemu.
set_up_system() {
    local packages
    mapfile -t packages < <(apt amd64 apt-get --simulate --no-install-recommends install gcc-mingw-w64-x86-64-posix wine64 qemu-user-static \
        libc6-dev-i386 lib32gcc-12-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabi libc6-dev-armel-cross | awk '/^Inst/ { print $2 }')
    unpack system amd64 "${packages[@]}"
    # These name files where they would be installed.
    ln -sfn "$system/lib32/ld-linux.so.2" "$system/lib/ld-linux.so.2"
    sed -i "s#=/usr/lib#=$system/usr/lib#" "$system/usr/lib/wine/wineserver"
    grep -rIl 'GNU ld script' "$system/usr" | xargs sed -i "s# /\(usr/\|lib\)# $system/\1#g"
}

# Debian's compiler of a version: `rust FOLDER VERSION ARCHITECTURES PACKAGE…`, with further packages of that version.
rust() {
    local to=$home/$1 version llvm tool
    version=$(apt "$3" apt-cache madison rustc-web | awk -v version="$2" 'version == "" || index($3, version) == 1 { print $3; exit }')
    local std="libstd-rust-web-$(cut -d . -f 1,2 <<<"$version")"
    llvm=$(apt "$3" apt-cache show "$std=$version" | sed -n '/^Depends/s/.*\(libllvm[0-9]*\).*/\1/p')
    local packages=(rustc-web "$std" libstd-rust-web-dev "${@:4}")
    unpack "$1" "$3" "$llvm" "${packages[@]/%/=$version}"
    for tool in rustc rustdoc; do
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' \
            "$to/usr/lib/x86_64-linux-gnu:$system/usr/lib/x86_64-linux-gnu" "$to/usr/bin/$tool" > "$to/$tool"
        chmod +x "$to/$tool"
    done
}
set_up_oldest() { rust "rust-$oldest" "$oldest" amd64+i386+arm64 libstd-rust-web-dev:{i386,arm64}; }
# With the source of std.
set_up_newest() { rust rust-newest '' amd64 rust-web-src; }

# The std of a target, of which `cargo check` wants less: cargo builds it for a package of nothing, and it is put where the compiler looks for it. Then
# no build needs the right to unstable features, by which build scripts of dependencies choose other code.
std() {
    local usr=$home/rust-newest/usr work=$home/std object
    local lib=$usr/lib/rustlib/$2/lib
    mkdir -p "$work/src" "$lib"
    # What an earlier set-up has left is not of the same build.
    rm -f "$lib"/*.r{lib,meta}
    echo '#![no_std]' > "$work/src/lib.rs"
    printf '[package]\nname = "nothing"\nedition = "2021"\n[workspace]\n' > "$work/Cargo.toml"
    # The flags of the caller are for the project.
    (cd "$work" && env -u RUSTFLAGS -u RUSTC_WORKSPACE_WRAPPER PATH="$PATH:$system/usr/bin" RUSTC="$home/rust-newest/rustc" RUSTC_BOOTSTRAP=1 \
        CARGO_TARGET_DIR="$work/target" cargo "$1" --quiet --release --target "$2" -Zbuild-std=std,panic_abort,test,proc_macro)
    find "$work/target/$2/release/deps" \( -name '*.rlib' -o -name '*.rmeta' \) ! -name 'libnothing*' -exec cp -lf -t "$lib" {} +
    # Objects that are linked first and last.
    if [[ $2 == *-windows-gnu ]]; then
        for object in rsbegin rsend; do
            RUSTC_BOOTSTRAP=1 "$home/rust-newest/rustc" --target "$2" --emit=obj -o "$lib/$object.o" \
                "$usr/lib/rustlib/src/rust/library/rtstartup/$object.rs"
        done
    fi
}

# Windows' files. Wine 8 lacks the library of std's random numbers.
set_up_wine() {
    local dlls=$home/wine/drive_c/windows/system32
    mkdir -p "$dlls"
    cp "$system/usr/x86_64-w64-mingw32/lib/zlib1.dll" "$dlls"
    # Its services live on, with what they inherit. It complains of 32-bit programs.
    WINEPREFIX=$home/wine WINEDEBUG=-all "$system/usr/lib/wine/wine64" wineboot -i </dev/null >/dev/null 2>&1 || true
    PATH="$PATH:$system/usr/bin" x86_64-w64-mingw32-gcc-posix -shared -O1 -o "$dlls/bcryptprimitives.dll" -x c - -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T length) { return SystemFunction036(to, length); }
C
}

# Sets a part up unless it is there: `once NAME COMMAND…`.
once() {
    if [[ -e $home/$1.done ]]; then return; fi
    printf 'setting up %s in %s\n' "$1" "$home"
    "${@:2}"
    touch "$home/$1.done"
}
newest() {
    once system set_up_system
    once newest set_up_newest
}

# What cargo needs for a target: `use TARGET`. The oldest compiler has the std of two; of those where nothing is linked, it is checked only.
use() {
    local how=check triple=${triples[$1]:-$1} run32=$system/lib32:$system/usr/lib32 limit="timeout -k 5 ${BRIGADE_LIMIT:-900}"
    if [[ $1 == arm64 || $1 == i686 ]]; then
        once system set_up_system
        once "rust-$oldest" set_up_oldest
        rust=$home/rust-$oldest
    else
        if [[ $1 == windows || $1 == armv5 || $1 == wasm32-unknown-unknown ]]; then how=build; fi
        newest
        once "$how-$triple" std "$how" "$triple"
        rust=$home/rust-newest
    fi
    if [[ $1 == windows ]]; then once wine set_up_wine; fi
    export RUSTC=$rust/rustc RUSTDOC=$rust/rustdoc CARGO_BUILD_TARGET=$triple CARGO_TARGET_DIR=$folder-$(basename "$rust")
    # Lines are wanted by nobody here, and under Wine a backtrace takes seconds.
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 RUST_BACKTRACE=0 PATH="$PATH:$system/usr/bin"
    export WINEPREFIX=$home/wine WINEDEBUG=-all
    unset RUSTC_WORKSPACE_WRAPPER
    # For `ci/emulate.sh`, and for a test that starts its program again.
    case $1 in
        arm64) export BRIGADE_RUNNER="qemu-aarch64-static -L $system/usr/aarch64-linux-gnu" ;;
        armv5) export BRIGADE_RUNNER="qemu-arm-static -L $system/usr/arm-linux-gnueabi" ;;
        *) unset BRIGADE_RUNNER ;;
    esac
    # The watchdog of a test speaks first.
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-posix \
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="$limit $system/usr/lib/wine/wine64" \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$PWD/ci/emulate.sh" \
        CARGO_TARGET_ARMV5TE_UNKNOWN_LINUX_GNUEABI_LINKER=arm-linux-gnueabi-gcc \
        CARGO_TARGET_ARMV5TE_UNKNOWN_LINUX_GNUEABI_RUNNER="$PWD/ci/emulate.sh" \
        CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_RUNNER="$limit" \
        CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_RUSTFLAGS="-Clink-arg=-B$system/usr/lib32 -Clink-arg=-B$system/usr/lib/gcc/x86_64-linux-gnu/12/32 \
-Lnative=$system/usr/lib/gcc/x86_64-linux-gnu/12/32 -Lnative=$system/usr/lib32 -Clink-arg=-Wl,--dynamic-linker=$system/lib32/ld-linux.so.2,-rpath,$run32"
}

# The packages, and what is done with them.

# Sets `packages` to cargo's arguments for the published packages with all features but some; orx-parallel needs a newer Rust than the oldest.
published() {
    if [[ $rust != *newest ]]; then set -- brigade/orx-parallel "$@"; fi
    mapfile -t packages < <(ci/packages.py published "$@")
}
drop_ins() { mapfile -t packages < <(ci/packages.py drop-ins); }

# The tests that do not run on a target, from the first column of the page's table.
skipped() { sed -n "s/^| \`\([a-z_0-9:]*\)\` | \([a-z0-9, ]*\) |.*/\1 \2/p" "$page" | awk -v target="$1" '{ for (i = 2; i <= NF; i++) if ($i == target || $i == target ",") print $1 }'; }

# Runs tests of `packages`: `tests TARGET ARGUMENT…`. What failed is named by the test.
tests() {
    local target=$1 skip=() name log=$folder-$1.log
    for name in $(skipped "$target"); do skip+=(--skip "$name"); done
    mkdir -p "$(dirname "$log")"
    printf 'skipped: %s\n' "$(skipped "$target" | paste -sd ' ')"
    local code=0
    cargo test --locked --no-fail-fast "${packages[@]}" "${@:2}" -- "${skip[@]}" 2>&1 | tee "$log" | grep --line-buffered -vE '^(test .* (ok|ignored)|running|$)' || code=$?
    grep -E '^error' "$log" >/dev/null && code=1 || code=0
    awk -v target="$target" '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
        END { printf "%s: %d passed, %d failed, %d ignored\n", target, passed, failed, ignored }' "$log"
    grep -E '^(test .*FAILED|watchdog: )' "$log" | sort -u || true
    return "$code"
}

# Runs the examples of brigade, each of which asserts what it says.
examples() {
    local name
    cargo build --quiet --locked -p brigade --examples "$@"
    for source in crates/brigade/examples/*.rs; do
        name=$(basename "$source" .rs)
        cargo run --quiet --locked -p brigade "$@" --example "$name" </dev/null >"$folder.example" 2>&1 || {
            cat "$folder.example"
            printf 'the example %s failed\n' "$name"
            return 1
        }
    done
    printf 'examples: %d ended well\n' "$(ls crates/brigade/examples/*.rs | wc -l)"
}

check_all() {
    use "$1"
    published
    cargo check --quiet --locked "${packages[@]}"
    drop_ins
    cargo check --quiet --locked "${packages[@]}" --all-features
}

# Fails unless a build does, and its first error has these words: `says WORDS ARGUMENT…`.
says() {
    local first
    first=$(cargo check --quiet --locked "${@:2}" 2>&1 | grep -m 1 '^error' || true)
    [[ $first == *"$1"* ]] || { printf 'the build must say %s, not %s\n' "$1" "$first" && return 1; }
}

whole() {
    local code=0
    use "$1"
    # At once: the test `it` of brigade takes one CPU for minutes to compile.
    drop_ins
    local drop_ins=("${packages[@]}")
    published
    packages+=("${drop_ins[@]}")
    tests "$1" --lib --tests || code=1
    published
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep '^--features=brigade/')
    examples "${packages[@]}" || code=1
    return "$code"
}
windows() { whole windows; }
arm64() { whole arm64; }
i686() { whole i686; }
armv5() {
    use armv5
    says 'portable-atomic' -p brigade-sync
    # These need 64-bit atomics themselves.
    published brigade/orx-parallel brigade-instrument
    tests armv5 --lib
}
macos() { check_all macos; }
freebsd() { check_all freebsd; }
wasm() {
    local triple
    for triple in wasm32-unknown-unknown wasm32-wasip1; do
        use "$triple"
        published brigade-io brigade/io
        cargo check --quiet --locked "${packages[@]}"
        says 'needs Unix or Windows' -p brigade --features io
    done
    run_wasm
}

# Runs a program without threads, clock and system, if node and the linker of a toolchain of rustup are there.
run_wasm() {
    local lld=("${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/*/lib/rustlib/*/bin/rust-lld) program=$folder-wasm
    if [[ ! -x ${lld[0]} ]] || ! command -v node >/dev/null; then
        echo 'skipped: to run WebAssembly needs node, and a toolchain of rustup for its linker'
        return
    fi
    use wasm32-unknown-unknown
    mkdir -p "$program/src"
    printf '[package]\nname = "program"\nedition = "2024"\n[lib]\ncrate-type = ["cdylib"]\n[dependencies]\nbrigade = { path = "%s" }\n[workspace]\n' \
        "$PWD/crates/brigade" > "$program/Cargo.toml"
    cat > "$program/src/lib.rs" <<'RUST'
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static RAN: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
pub extern "C" fn run() -> u32 {
    let error = brigade::Pool::builder().build().unwrap_err();
    assert!(error.to_string().contains("without_threads"));
    assert_eq!(brigade::join(|| 1, || 2), (1, 2));
    assert_eq!(brigade::submit(|| 7).join().unwrap(), 7);
    assert_eq!(brigade::map_reduce(0..100usize, 1, |n| n, |a, b| a + b), Some(4950));
    let sum = Mutex::new(0);
    brigade::par_for(0..10, 1, |n| *sum.lock().unwrap() += n);
    brigade::scope(|s| (0..3).for_each(|_| s.execute(|| *sum.lock().unwrap() += 1)));
    assert_eq!(sum.into_inner().unwrap(), 48);
    let spawned = async { brigade::spawn(async { brigade::yield_now().await; 5 }).await };
    assert_eq!(brigade::block_on(spawned).unwrap(), 5);
    let mut set = brigade::TaskSet::new(brigade::default_pool());
    (0..4).for_each(|n| _ = set.submit(move || n));
    assert_eq!(set.outcomes().count(), 4);
    brigade::execute(|| _ = RAN.fetch_add(1, Relaxed));
    assert!(brigade::default_pool().wait_idle());
    let pool = brigade::LocalPool::new().unwrap();
    assert_eq!(pool.run_until(async { brigade::spawn_local(async { 3 }).await }).unwrap(), 3);
    let pool = brigade::Pool::builder().without_threads().build().unwrap();
    pool.execute(|| _ = RAN.fetch_add(1, Relaxed));
    drop(pool);
    RAN.load(Relaxed)
}
RUST
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-Clinker=${lld[0]} -Clinker-flavor=wasm-ld" \
        cargo build --quiet --manifest-path "$program/Cargo.toml"
    node -e 'WebAssembly.instantiate(fs.readFileSync(process.argv[1])).then(({ instance }) => process.exit(instance.exports.run() === 2 ? 0 : 1))' \
        "$CARGO_TARGET_DIR/wasm32-unknown-unknown/debug/program.wasm"
    echo 'the program for wasm32-unknown-unknown ended well'
}
msrv() {
    once system set_up_system
    once "rust-$oldest" set_up_oldest
    ci/release.sh msrv
}
libraries() {
    use "$1"
    published
    tests "$1" --lib
}
quick() {
    local target
    for target in windows macos freebsd; do part "check $target" check_all "$target"; done
    part wasm wasm
    part msrv msrv
    for target in windows arm64; do part "libraries $target" libraries "$target"; done
    ((${#failed[@]} == 0))
}
check() {
    local target
    for target in windows macos; do
        if compgen -G "$home/*-${triples[$target]}.done" >/dev/null; then
            check_all "$target"
        else
            printf 'skipped: cargo check for %s needs its std (ci/targets.sh %s)\n' "$target" "$target"
        fi
    done
}

# The tables of the page name the tests and the files that some system goes without.
tables() {
    local name said there
    for name in $(sed -n 's/^| `\([a-z_0-9:]*\)` | [a-z0-9, ]* |.*/\1/p' "$page"); do
        grep -rqE "(fn|mod) [a-z0-9_]*${name##*::}" crates || { printf '%s names %s, which is not there\n' "$page" "$name" && return 1; }
    done
    said=$(grep -oE '`crates/[a-z0-9_/-]*tests/[a-z0-9_/]*\.rs`' "$page" | tr -d '`' | sort -u)
    there=$(grep -rlE 'cfg(_attr)?\(.*(unix|windows|target_os|target_pointer_width)' crates --include='*.rs' | grep /tests/ | sort -u)
    diff <(printf '%s\n' "$said") <(printf '%s\n' "$there") || { printf '%s does not name the tests (<) that depend on the system (>)\n' "$page" && return 1; }
}

# Runs a command and says what came of it, and when: `part NAME COMMAND…`. What failed is added to `failed`.
part() {
    local begun=$SECONDS code
    # A shell of its own, as a target's variables are its own. Not in a condition, where a failure would not end it.
    set +e
    (set -e; failed=(); "${@:2}")
    code=$?
    set -e
    printf '== %s: %s in %d s\n' "$1" "$( ((code)) && echo failed || echo passed)" $((SECONDS - begun))
    if ((code)); then failed+=("$1"); fi
}

tables
(($#)) || { sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
failed=()
for target; do
    case $target in
        windows | arm64 | i686 | armv5 | macos | freebsd | wasm | msrv | quick | newest | check) ;;
        *) printf 'ci/targets.sh: no target is named %s\n' "$target" >&2; exit 2 ;;
    esac
    part "$target" "$target"
done
((${#failed[@]} == 0))
