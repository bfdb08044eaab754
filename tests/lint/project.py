# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the pages about the project itself: SECURITY.md names every variable with a secret, and the files that
CONTRIBUTING.md and docs/design.md name exist."""

import re
import tree

SECRET = re.compile(r"`((?:[A-Z]+_)+(?:PASSWORD|TOKEN|API_KEY|SECRET))`")
NAMED = re.compile(r"`((?:include|src|backends|exporters|examples|tests|docs|cmake|scripts|packaging)/[\w./*-]+?)/?`")


def security_problems():
    page = tree.root() / "SECURITY.md"
    if not page.is_file():
        yield "there is no SECURITY.md"
        return
    told = set(SECRET.findall(page.read_text(encoding="utf-8")))
    for path in sorted((tree.root() / "docs").glob("*.md")):
        for secret in sorted(set(SECRET.findall(path.read_text(encoding="utf-8"))) - told):
            yield f"SECURITY.md does not say what happens to {secret}, which {path.name} names"


def file_problems():
    """Reports names in code spans that start with a directory of the repository but do not exist; `*` and a missing
    suffix match any."""
    for page in ("CONTRIBUTING.md", "docs/design.md"):
        for name in sorted(set(NAMED.findall((tree.root() / page).read_text(encoding="utf-8")))):
            if not any(True for each in (name, name + ".*") for _ in tree.root().glob(each)):
                yield f"{page}: there is no {name}"


def main():
    tree.finish([*security_problems(), *file_problems()])


main()
