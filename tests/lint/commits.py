# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the subjects of commits are short enough for a list of them: at most 72 characters.

`commits.py <root>` looks at those since the commit that brought this file, `commits.py <root> --message <file>` at one that is being
written, as git gives it to its hook `commit-msg`."""

import pathlib
import subprocess
import sys
import tree

LONGEST = 72
SKIPPED = 77


def git(*arguments):
    """What git prints, or None where there is no git or no history."""
    try:
        done = subprocess.run(["git", "-C", str(tree.root()), *arguments], check=True, stdout=subprocess.PIPE, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def subjects():
    """(commit, subject), newest first; None without a history."""
    top = git("rev-parse", "--show-toplevel")
    if top is None or pathlib.Path(top.strip()) != tree.root().resolve():
        return None  # none, or that of a tree around this one
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
