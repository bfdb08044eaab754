#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the input of 22_inference_proxy: make_mesh_data.py DIR [--nodes 20000] [--seed 1]

nodes.npy    mesh nodes x 5 quality metrics x 10 time steps: metrics that wander between 0 and 1
weights.npy  of a recurrent network with 16 hidden units, drawn at random

The same seed gives the same bytes. It needs Python's standard library alone.
"""

import argparse
import array
import pathlib
import random
import sys

METRICS, STEPS, HIDDEN = 5, 10, 16
WEIGHTS = METRICS * HIDDEN + HIDDEN * HIDDEN + 2 * HIDDEN + 1


def write_npy(path, shape, values):
    """NumPy's format 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html"""
    if sys.byteorder == "big":
        values.byteswap()
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("latin1") + values.tobytes())


def mesh_nodes(draw, nodes):
    values = array.array("f")
    for _ in range(nodes * METRICS):
        quality, pace = draw.random(), draw.uniform(-0.05, 0.05)
        for _ in range(STEPS):
            values.append(quality)
            quality = min(max(quality + pace + draw.gauss(0, 0.02), 0), 1)
    return values


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory", type=pathlib.Path)
    arguments.add_argument("--nodes", type=int, default=20000)
    arguments.add_argument("--seed", type=int, default=1)
    wished = arguments.parse_args()
    if wished.nodes < 1:
        arguments.error("--nodes takes 1 or more")
    draw = random.Random(wished.seed)
    wished.directory.mkdir(parents=True, exist_ok=True)
    write_npy(wished.directory / "nodes.npy", (wished.nodes, METRICS, STEPS), mesh_nodes(draw, wished.nodes))
    weights = array.array("f", [draw.gauss(0, 0.4) for _ in range(WEIGHTS)])
    write_npy(wished.directory / "weights.npy", (WEIGHTS,), weights)


if __name__ == "__main__":
    main()
