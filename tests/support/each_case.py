# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs each test case of a program in a process of its own: each_case.py <program> <test spec of Catch2>

For files whose cases change what a process has once: its recorder, its Session, its environment, its signal handlers."""

import subprocess
import sys

program, spec = sys.argv[1:]
listed = subprocess.run([program, "-#", "--list-test-names-only", spec], stdout=subprocess.PIPE, text=True).stdout
names = listed.splitlines()
failed = []
for name in names:
    # A name is a pattern: what has a meaning there is escaped.
    escaped = "".join("\\" + each if each in '\\,[]"*' else each for each in name)
    if subprocess.run([program, escaped]).returncode != 0:
        failed.append(name)
print(f"{len(names)} cases, each in a process of its own; {len(failed)} failed")
for name in failed:
    print(f"failed: {name}")
sys.exit(1 if failed or not names else 0)
