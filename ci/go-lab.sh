#!/usr/bin/env bash
# Builds goroutines for the laboratory, beside `brigade-lab`: its target `go` is this program. Without Go it says so, and is done.
set -euo pipefail
if ! command -v go >/dev/null; then
    echo 'no Go compiler: the target go is skipped' >&2
    exit 0
fi
cd "$(dirname "$0")/../lab/peers/go"

target="${CARGO_TARGET_DIR:-$PWD/../../../target}"
mkdir -p "$target/release"
target="$(cd "$target" && pwd)"
go vet ./...
go build -o "$target/release/brigade-lab-go" .
echo "$target/release/brigade-lab-go"
