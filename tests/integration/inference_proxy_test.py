# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The inference proxy prints CRADL's figures, computed from Takt's files with CRADL's formulas, and its network is
correct."""

import array
import json
import math
import pathlib
import re
import subprocess
import sys

import rig

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
METRICS, STEPS, HIDDEN = 5, 10, 16


def values_of(path):
    """Returns the values of a .npy file of 32-bit floats."""
    data = path.read_bytes()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


def output(weights, node):
    """Returns the network's output for a node, in double precision."""
    from_hidden, bias, to_output = (METRICS * HIDDEN, (METRICS + HIDDEN) * HIDDEN, (METRICS + HIDDEN + 1) * HIDDEN)
    hidden = [0.0] * HIDDEN
    for step in range(STEPS):
        sums = weights[bias:bias + HIDDEN]
        hidden = [math.tanh(sums[unit] + sum(node[metric * STEPS + step] * weights[metric * HIDDEN + unit]
                                             for metric in range(METRICS))
                            + sum(hidden[other] * weights[from_hidden + other * HIDDEN + unit] for other in range(HIDDEN)))
                  for unit in range(HIDDEN)]
    return weights[to_output + HIDDEN] + sum(hidden[unit] * weights[to_output + unit] for unit in range(HIDDEN))


def figures(printed):
    """Returns the figures by name, without units. The table precedes them."""
    printed = printed[printed.index("rank 0 of 1, on "):]
    return {name: float(value) for name, value in re.findall(r"^(\S.*?) {2,}([\d.e+-]+) \S+$", printed, re.MULTILINE)}


class InferenceProxy(rig.Case):
    def setUp(self):
        super().setUp()
        self.data = self.scratch / "mesh"

    def make_data(self, *arguments):
        subprocess.run([sys.executable, EXAMPLES / "make_mesh_data.py", self.data, *arguments], check=True, timeout=120)

    def total_s(self, key, of="host"):
        """Returns the total of all calls of a key, from summary.json."""
        return sum(each[of]["total_ns"] for each in self.summary()["keys"] if each["name"] == key) / 1e9

    def test_its_figures_equal_those_of_the_run(self):
        self.make_data("--nodes", "1000", "--seed", "7")
        slack = {"ms_per_cycle": 0.25, "ns_per_node": 500.0}
        (self.data / "slack.json").write_text(json.dumps(slack), encoding="utf-8")
        ended = self.run_program(self.data, "--percent", 40, "--cycles", 20, "--batch", 150)
        printed = figures(ended.out)
        inference = self.total_s("Inference")
        nodes, cycles = 400, 20
        wanted = {
            "time for loading trained model weights and architecture": self.total_s("LoadModel") * 1e3,
            "time for constructing and preprocessing the data pool": self.total_s("MakePool") * 1e3,
            "time for inference": inference * 1e3,
            "time for batch processing": self.total_s("Process") * 1e3,
            "time for inference per cycle": inference / cycles * 1e3,
            "inference time per node per cycle": inference / cycles / nodes * 1e9,
            "data throughput": nodes * METRICS * STEPS * 4 * cycles / inference / 1e6,
            "SCC, slack-time coverage per cycle": 100 * inference / cycles * 1e3 / slack["ms_per_cycle"],
            "SCCN, slack-time coverage per node": 100 * inference / cycles / nodes * 1e9 / slack["ns_per_node"],
        }
        self.assertEqual(printed.keys(), wanted.keys())
        for name, value in wanted.items():
            self.assertAlmostEqual(printed[name] / value, 1, places=4, msg=f"{name}\n{ended}")
        self.assertEqual(rig.calls(self.summary(), "Batch/Inference"), cycles * 3)  # 150, 150 and 100 nodes
        self.assert_exposed(ended.out, slack["ms_per_cycle"])
        self.assert_answers(ended.out, nodes)

    def assert_exposed(self, out, slack_ms):
        """Checks the time beyond the slack, using the steps."""
        count, longer, exposed = re.search(r"(\d+) cycles after warm-up; (\d+) exceeded .*; (\S+) ms per cycle", out).groups()
        taken = [float(row["host_ns"]) / 1e6 for row in self.steps() if row["path"] == "Batch/Inference" and row["warmup"] == "0"]
        self.assertEqual(int(count), len(taken))
        self.assertEqual(int(longer), sum(ms > slack_ms for ms in taken))
        self.assertAlmostEqual(float(exposed), sum(max(ms - slack_ms, 0) for ms in taken) / len(taken), places=4)

    def assert_answers(self, out, nodes):
        """Checks the network's results, except those that single precision may change."""
        weights, all_nodes = list(values_of(self.data / "weights.npy")), values_of(self.data / "nodes.npy")
        size = METRICS * STEPS
        outputs = [output(weights, all_nodes[at * size:(at + 1) * size]) for at in range(nodes)]
        shape, relaxed = re.search(r"output data shape \((\d+),\): (\d+) of", out).groups()
        self.assertEqual(int(shape), nodes)
        self.assertLessEqual(sum(each > 1e-4 for each in outputs), int(relaxed))
        self.assertLessEqual(int(relaxed), sum(each > -1e-4 for each in outputs))
        self.assertTrue(0 < int(relaxed) < nodes, "the network says the same of all nodes, which shows nothing")

    def test_ranks_share_the_nodes(self):
        self.make_data("--nodes", "501")
        shapes = []
        for rank in range(2):
            ended = self.run_program(self.data, "--percent", 100, "--cycles", 2, RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank,
                                     TAKT_RUN_ID="two")
            shapes.append(int(re.search(r"output data shape \((\d+),\)", ended.out)[1]))
        self.assertEqual(sorted(shapes), [250, 251])
        self.assertEqual(len(self.directories()), 2)

    def test_the_same_seed_gives_the_same_data(self):
        self.make_data("--nodes", "50", "--seed", "3")
        first = (self.data / "nodes.npy").read_bytes()
        self.make_data("--nodes", "50", "--seed", "3")
        self.assertEqual((self.data / "nodes.npy").read_bytes(), first)
        self.make_data("--nodes", "50", "--seed", "4")
        self.assertNotEqual((self.data / "nodes.npy").read_bytes(), first)

    def test_unreadable_files_are_reported(self):
        self.make_data("--nodes", "50")
        nodes = self.data / "nodes.npy"
        whole = nodes.read_bytes()
        for text, data in {"cut off": whole[:-1], "not contain 32-bit floats": whole.replace(b"<f4", b"<f8"),
                           "not a .npy file": b"PK" + whole, "C order": whole.replace(b"False", b"True "),
                           "the shape is invalid": whole.replace(b"(50, 5, 10,), }     ", b"(9999999999999,), } "),
                           "5 metrics": whole.replace(b"(50, 5, 10,", b"(50, 10, 5,")}.items():
            with self.subTest(text):
                nodes.write_bytes(data)
                self.assertIn(text, self.run_program(self.data, status=2).err)
        nodes.unlink()
        self.assertIn("make_mesh_data.py", self.run_program(self.data, status=2).err)
        self.assertIn("usage:", self.run_program(status=2).err)
        self.assertIn("usage:", self.run_program(self.data, "--percent", 101, status=2).err)


if __name__ == "__main__":
    rig.main()
