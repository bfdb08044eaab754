# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the pages about the project itself are there and true: SECURITY.md names every variable that holds a secret."""

import re
import tree

SECRET = re.compile(r"`((?:[A-Z]+_)+(?:PASSWORD|TOKEN|API_KEY|SECRET))`")


def security_problems():
    page = tree.root() / "SECURITY.md"
    if not page.is_file():
        yield "there is no SECURITY.md"
        return
    told = set(SECRET.findall(page.read_text(encoding="utf-8")))
    for path in sorted((tree.root() / "docs").glob("*.md")):
        for secret in sorted(set(SECRET.findall(path.read_text(encoding="utf-8"))) - told):
            yield f"SECURITY.md does not say what happens to {secret}, which {path.name} names"


def main():
    tree.finish([*security_problems()])


main()
