# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the subjects of commits have at most 72 characters, to fit in a list.

`commits.py <root>` checks the commits since the one that added this file. `commits.py <root> --message <file>` checks a
message that is being written, as git passes it to its hook `commit-msg`."""

import pathlib
import subprocess
import sys
import tree

LONGEST = 72
SKIPPED = 77


def git(*arguments):
    """Returns git's output, or None without git or a history."""
    try:
        done = subprocess.run(["git", "-C", str(tree.root()), *arguments], check=True, stdout=subprocess.PIPE, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def subjects():
    """Returns (commit, subject), newest first; None without a history."""
    top = git("rev-parse", "--show-toplevel")
    if top is None or pathlib.Path(top.strip()) != tree.root().resolve():
        return None  # no history, or that of an enclosing tree
    brought = git("log", "--diff-filter=A", "--format=%H", "-1", "--", "tests/lint/commits.py").strip()
    if not brought:
        return []
    lines = git("log", "--no-merges", "--format=%h %s", f"{brought}..HEAD").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines]


def being_written(file):
    text = pathlib.Path(file).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return next((line for line in lines if line.strip()), "")


def main():
    if sys.argv[2:3] == ["--message"]:
        all_subjects = [("this commit", being_written(sys.argv[3]))]
    else:
        all_subjects = subjects()
    if all_subjects is None:
        print("not checked: there is no history here")
        sys.exit(SKIPPED)
    print(f"{len(all_subjects)} subjects")
    tree.finish([f"{commit}: the subject has {len(subject)} characters; {LONGEST} are the most: {subject}"
                 for commit, subject in all_subjects if len(subject) > LONGEST])


main()
