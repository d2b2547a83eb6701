#!/usr/bin/env bash
# Checks that every file is formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo fmt --all --check
