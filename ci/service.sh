#!/usr/bin/env bash
# After a change of the example of a service, or of its recipes: lints and tests them, with a real NATS server and a real browser:
# `ci/service.sh [full]`. Processes are killed three times while they do 5,000 jobs; with `full`, twenty times while they do 100,000, in two
# minutes more.
# `ci/service.sh load` prints the table of its README, in two minutes after the build, on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/../examples/service"
# The workspace's folder: the dependencies that both have in the same version are compiled once.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../../target}"

# Installs the programs that the tests run, on a machine of Debian's, where they are not there.
programs() {
    local name missing=()
    for name in nats-server:nats-server chromium:chromium chromedriver:chromium-driver python3-config:python3-dev prlimit:util-linux; do
        type "${name%:*}" > /dev/null 2>&1 || missing+=("${name#*:}")
    done
    if ((${#missing[@]})); then
        if ! type apt-get > /dev/null 2>&1 || ((EUID)); then
            echo "install these first: ${missing[*]}" >&2
            exit 1
        fi
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" > /dev/null
    fi
}

tests() {
    programs
    cargo fmt --check -p thumbnails -p recipes -p console
    # Lints each target as it compiles it.
    export RUSTC_WORKSPACE_WRAPPER="$PWD/../../ci/lint.sh"
    cargo test --workspace --locked -- --include-ignored "$@"
    # The folder has flags of its own.
    (cd console && cargo test --locked)
}

case "${1-}" in
    '') tests ;;
    full) SERVICE_MESSAGES=100000 SERVICE_KILLS=20 tests --nocapture ;;
    load) cargo build --release --locked --bins && cargo run --release --locked --bin load ;;
    *) echo 'usage: ci/service.sh [full | load]' >&2 && exit 2 ;;
esac
