# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each memory order that is not relaxed names its partner in a nearby comment, and that the table of pairs
has its file."""

import re
import tree

TABLE = "docs/decisions/0052-memory-orders.md"
ORDER = re.compile(r"memory_order_(?:acquire|release|acq_rel|seq_cst)|__ATOMIC_(?:ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)")
PARTNER = re.compile(r"(?://|///).*\b(?:pairs|partners?)\b", re.IGNORECASE)
NEAR = 4  # lines
DIRS = ("src/record", "src/process", "src/base", "include/takt", "backends")


def problems():
    table = (tree.root() / TABLE).read_text(encoding="utf-8")
    for directory in DIRS:
        for path in sorted([*(tree.root() / directory).rglob("*.hpp"), *(tree.root() / directory).rglob("*.cpp")]):
            name = str(path.relative_to(tree.root()))
            lines = path.read_text(encoding="utf-8").splitlines()
            at = [number for number, line in enumerate(lines) if ORDER.search(line)]
            for number in at:
                if not any(PARTNER.search(line) for line in lines[max(0, number - NEAR):number + NEAR + 1]):
                    yield f"{name}:{number + 1}: no comment names the partner of this memory order"
            if at and f"`{path.stem}`" not in table and f"`{path.name}`" not in table:
                yield f"{TABLE} says nothing about {name}"


def main():
    tree.finish(list(problems()))


main()
