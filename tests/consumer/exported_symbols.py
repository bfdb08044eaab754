# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a shared libtakt exports symbols of its bundled libraries, which could clash with the program's own
copies."""

import re
import subprocess
import sys


def main():
    listing = subprocess.run(
        ["nm", "-DC", "--defined-only", sys.argv[1]], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    foreign = [line for line in listing if re.search(r"\b(fmt|\w*nlohmann)::", line)]
    if not any("takt::" in line for line in listing):
        sys.exit("no symbol of Takt found")
    if foreign:
        sys.exit("exported, and not Takt's:\n" + "\n".join(foreign))
    print(f"{len(listing)} symbols")


if __name__ == "__main__":
    main()
