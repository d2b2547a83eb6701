#!/usr/bin/env python3
"""The packages under crates/ as arguments for cargo, so that no script has a list that a new crate is missing from.

`ci/packages.py published [WITHOUT…]` prints the published packages and all their features, without the packages and the features (`PACKAGE/FEATURE`)
that are named; `ci/packages.py drop-ins` prints the packages that stand in for others; `ci/packages.py order` prints the names of the published
packages, each after those that it needs, which is an order to publish them in."""
import graphlib
import json
import os
import subprocess
import sys

what, *without = sys.argv[1:]
metadata = subprocess.check_output(["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"])
packages = json.loads(metadata)["packages"]
if what == "order":
    # What only tests need is left out of a package if it has no version.
    needs = {
        package["name"]: {dep["name"] for dep in package["dependencies"] if dep.get("path") and dep["req"] != "*"}
        for package in packages
        if package["publish"] is None
    }
    print(*graphlib.TopologicalSorter(needs).static_order(), sep="\n")
    sys.exit()
for package in packages:
    name, folder = package["name"], os.path.relpath(os.path.dirname(package["manifest_path"]))
    is_published = package["publish"] is None
    if not folder.startswith("crates/") or is_published != (what == "published") or name in without:
        continue
    # Tests of the published packages are made with these.
    if not is_published and name.startswith("brigade-"):
        continue
    # By its address: the lock file has two packages of the name of each drop-in.
    print(f"--package={package['id']}")
    if is_published:
        print(*(f"--features={feature}" for key in package["features"] if (feature := f"{name}/{key}") not in without), sep="\n", end="\n" if package["features"] else "")
