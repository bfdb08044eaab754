# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if an object that every program links uses one that only some programs need: linked.py <nm> <object>... --
<object>..., and more groups. No group may use a later one. One such call makes every program larger by a whole object."""

import subprocess
import sys


def symbols_of(nm, objects, kinds):
    """Returns the symbols of these kinds by mangled name, with an object that has each."""
    found = {}
    for each in objects:
        for line in subprocess.run([nm, "-P", each], check=True, capture_output=True, text=True).stdout.splitlines():
            name, kind = line.split()[:2]
            if kind in kinds:
                found[name] = each
    return found


def main():
    nm, *words = sys.argv[1:]
    groups = [[]]
    for word in words:
        if word == "--":
            groups.append([])
        else:
            groups[-1].append(word)
    if not all(groups):
        sys.exit("a group has no objects")
    problems = []
    for at, group in enumerate(groups):
        used = symbols_of(nm, group, "U")
        later = symbols_of(nm, sum(groups[at + 1:], []), "TDBR")
        problems += [f"{used[name]} uses {name} of {later[name]}" for name in sorted(used.keys() & later.keys())]
    print("\n".join(problems))
    sys.exit(f"{len(problems)} problem(s)" if problems else 0)


main()
