# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The inference proxy reads CRADL's files, prints CRADL's figures, computed from Takt's files with CRADL's formulas, and
its network is correct. With a program built with libtorch, TORCH_MODELS is a program that writes TorchScript models."""

import array
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

import rig

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
ALE_DATA = EXAMPLES / "data" / "ale_data.json"
METRICS, STEPS, HIDDEN = 5, 10, 16
SIZE = METRICS * STEPS


def values_of(path):
    """Returns the values of a .npy file of 32-bit floats."""
    data = path.read_bytes()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


def npy(values, shape, kind="<f4", fortran=False, version=1):
    """Returns a .npy file with NumPy's header, as in CRADL's files: spaces up to a multiple of 64 bytes."""
    header = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': ({', '.join(map(str, shape))}), }}"
    digits = 2 if version == 1 else 4
    header += " " * (-(len(header) + 9 + digits) % 64) + "\n"
    return (b"\x93NUMPY" + bytes((version, 0)) + len(header).to_bytes(digits, "little") + header.encode("latin1")
            + array.array("d" if kind.endswith("8") else "f", values).tobytes())


def samples_npy(nodes, steps_first=False, fortran=False, **how):
    """Returns a .npy file of nodes, each a list of 5 rows of 10 steps, in one of the layouts."""
    shape = (len(nodes), *((STEPS, METRICS) if steps_first else (METRICS, STEPS)))
    values = [0.0] * (len(nodes) * SIZE)
    for sample, node in enumerate(nodes):
        for metric in range(METRICS):
            for step in range(STEPS):
                row, column = (step, metric) if steps_first else (metric, step)
                at = sample + shape[0] * (row + shape[1] * column) if fortran else (sample * shape[1] + row) * shape[2] + column
                values[at] = node[metric * STEPS + step]
    return npy(values, shape, fortran=fortran, **how)


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


def slack_table(printed):
    """Returns the rows of the table of slack times, by problem."""
    lines = printed[printed.index("problem    slack"):].splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines[1:]}


class Proxy(rig.Case):
    def setUp(self):
        super().setUp()
        self.data = self.scratch / "mesh"

    def make_data(self, *arguments):
        """Writes nodes.npy and weights.npy. Returns the nodes."""
        subprocess.run([sys.executable, EXAMPLES / "make_mesh_data.py", self.data, *arguments], check=True, timeout=120)
        values = values_of(self.data / "nodes.npy")
        return [list(values[at:at + SIZE]) for at in range(0, len(values), SIZE)]

    def total_s(self, key, of="host"):
        """Returns the total of all calls of a key, from summary.json."""
        return sum(each[of]["total_ns"] for each in self.summary()["keys"] if each["name"] == key) / 1e9

    def assert_close(self, printed, wanted, message):
        self.assertAlmostEqual(float(printed) / wanted, 1, places=4, msg=message)

    def assert_answers(self, out, nodes):
        """Checks the small network's results, except those that single precision may change."""
        weights = list(values_of(self.data / "weights.npy"))
        outputs = [output(weights, node) for node in nodes]
        shape, relaxed = re.search(r"output data shape \((\d+),\): (\d+) of", out).groups()
        self.assertEqual(int(shape), len(nodes))
        self.assertLessEqual(sum(each > 1e-4 for each in outputs), int(relaxed))
        self.assertLessEqual(int(relaxed), sum(each > -1e-4 for each in outputs))
        self.assertTrue(0 < int(relaxed) < len(nodes), "the network says the same of all nodes, which shows nothing")

    def assert_figures(self, out, nodes, cycles):
        """Checks CRADL's figures, using summary.json, steps.csv and ale_data.json."""
        inference = self.total_s("Inference")
        wanted = {
            "time for loading trained model weights and architecture": self.total_s("LoadModel") * 1e3,
            "time for constructing and preprocessing the data pool": self.total_s("MakePool") * 1e3,
            "time for inference": inference * 1e3,
            "time for batch processing, by README (without copies)": self.total_s("Process") * 1e3,
            "time for batch processing, by source (with copies)": inference * 1e3,
            "time for inference per cycle": inference / cycles * 1e3,
            "inference time per node per cycle": inference / cycles / nodes * 1e9,
            "data throughput": nodes * SIZE * 4 * cycles / inference / 1e6,
        }
        printed = figures(out)
        self.assertEqual(printed.keys(), wanted.keys())
        for name, value in wanted.items():
            self.assert_close(printed[name], value, f"{name}\n{out}")
        self.assertEqual(rig.calls(self.summary(), "LoadModel"), 1)  # outside the cycles
        ale = json.loads(ALE_DATA.read_text(encoding="utf-8"))
        table = slack_table(out)
        self.assertEqual(list(table), ["ShockTube", "Hohlraum"])
        taken = [float(row["host_ns"]) / 1e9 for row in self.steps() if row["path"] == "Batch/Inference"]
        for problem, ranks in (("ShockTube", 16), ("Hohlraum", 36)):
            slack, mesh = ale[problem.lower() + "_cycle"], ale[problem.lower() + "_nodes"]
            scc = 100 * inference / cycles / slack
            a_node = 100 * inference / cycles / nodes
            row = [slack * 1e3, mesh, ranks, scc, a_node / (slack / mesh), a_node / (slack / (mesh / ranks)),
                   sum(each > slack for each in taken)]
            for value, cell in zip(row[:6], table[problem]):
                self.assert_close(cell, value, f"{problem}\n{out}")
            self.assertEqual([int(table[problem][at]) for at in (6, 8)], [row[6], cycles], out)


class InferenceProxy(Proxy):
    def test_its_figures_equal_those_of_the_run(self):
        nodes = self.make_data("--nodes", "1000", "--seed", "7")
        ended = self.run_program(self.data, "--percent", 40, "--cycles", 20, "--batch", 150)
        self.assertEqual(rig.calls(self.summary(), "Batch/Inference"), 20 * 3)  # 150, 150 and 100 nodes
        self.assert_figures(ended.out, 400, 20)
        self.assert_answers(ended.out, nodes[:400])

    def test_slack_times_come_from_a_file_by_name(self):
        self.make_data("--nodes", "200")
        own = self.scratch / "own.json"
        own.write_text(json.dumps({"pipe_cycle": 1e-6, "pipe_nodes": 50, "shocktube_cycle": 1e3, "shocktube_nodes": 10,
                                   "tank_cycle": 2.0, "tank_nodes": 8, "tank_ranks": 4}), encoding="utf-8")
        how = (self.data, "--percent", 100, "--cycles", 3)
        table = slack_table(self.run_program(*how, "--slack", own).out)
        self.assertEqual(list(table), ["pipe", "ShockTube", "tank"])
        self.assertEqual({name: row[2] for name, row in table.items()}, {"pipe": "0", "ShockTube": "16", "tank": "4"})
        self.assertEqual(table["pipe"][5:], ["unknown", "3", "of", "3"])  # more than 1 us
        self.assertEqual(table["tank"][6:], ["0", "of", "3"])
        self.assert_close(table["tank"][5], float(table["tank"][4]) / 4, table)
        self.assertEqual(list(slack_table(self.run_program(*how, "--problem", "hohlraum").out)), ["Hohlraum"])
        for text, wrong in {"no problem": "{}", "parse error": "{", "cup_nodes": '{"cup_cycle": 1}',
                            "cup: ": '{"cup_cycle": 0, "cup_nodes": 5}', "number": '{"cup_cycle": "1", "cup_nodes": 5}'}.items():
            own.write_text(wrong, encoding="utf-8")
            err = self.run_program(*how, "--slack", own, status=2).err
            self.assertIn(str(own), err)
            self.assertIn(text, err)
        self.assertIn("it has: ShockTube Hohlraum", self.run_program(*how, "--problem", "cup", status=2).err)
        self.assertIn("--slack", self.run_program(*how, "--slack", self.scratch / "none", status=2).err)

    def test_all_layouts_of_samples_are_read(self):
        nodes = self.make_data("--nodes", "300", "--seed", "5")
        file = self.data / "nodes.npy"
        for steps_first in (False, True):
            for fortran in (False, True):
                for kind, version in (("<f4", 1), ("<f8", 1), ("<f8", 2)):
                    file.write_bytes(samples_npy(nodes, steps_first, fortran, kind=kind, version=version))
                    ended = self.run_program(self.data, "--percent", 100, "--cycles", 1, TAKT_FILES=0)
                    axes = "10 steps, 5 metrics" if steps_first else "5 metrics, 10 steps"
                    self.assertIn(f"input: 300 samples from 1 file as (samples, {axes}), float{'64' if kind == '<f8' else '32'}, "
                                  f"{'Fortran' if fortran else 'C'} order\n", ended.out)
                    self.assert_answers(ended.out, nodes)

    def test_files_of_a_directory_are_one_pool(self):
        nodes = self.make_data("--nodes", "500", "--seed", "9")
        (self.data / "nodes.npy").unlink()
        (self.data / "inputs_1.npy").write_bytes(samples_npy(nodes[:200], steps_first=True))
        (self.data / "inputs_2.npy").write_bytes(samples_npy(nodes[200:260], fortran=True, kind="<f8"))
        (self.data / "inputs_3.npy").write_bytes(samples_npy(nodes[260:], steps_first=True))
        (self.data / "labels_1.npy").write_bytes(npy([], (200,), kind="<i4"))
        (self.data / "notes.txt").write_bytes(b"")
        for percent, count in ((100, 500), (55.5, 277), (20.2, 101)):
            ended = self.run_program(self.data, "--percent", percent, "--cycles", 1, "--batch", 90, TAKT_FILES=0)
            self.assertIn("input: 440 samples from 2 files as (samples, 10 steps, 5 metrics), float32, C order\n", ended.out)
            self.assertIn("input: 60 samples from 1 file as (samples, 5 metrics, 10 steps), float64, Fortran order\n", ended.out)
            self.assertIn(f"pool: samples 0 to {count} of 500\n", ended.out)
            self.assert_answers(ended.out, nodes[:count])

    def test_percent_may_be_a_fraction(self):
        self.make_data("--nodes", "1000")
        how = (self.data, "--cycles", 1, "--percent")
        self.assertIn("output data shape (5,)", self.run_program(*how, 0.5, TAKT_FILES=0).out)
        self.assertIn("output data shape (290,)", self.run_program(*how, 29, TAKT_FILES=0).out)
        self.assertIn("raise --percent", self.run_program(*how, 0.05, status=2).err)
        for wrong in (0, -1, 100.5, "nan", "5x", ""):
            self.assertIn("usage:", self.run_program(*how, wrong, status=2).err)

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
        """Each message names the file and the cure."""
        nodes = self.make_data("--nodes", "50")
        file = self.data / "nodes.npy"
        whole = samples_npy(nodes)
        for (text, cure), data in {
                ("is cut off: it has 9999 of 10000", "copy"): whole[:-1],
                ("type '>f4'", "astype('<f4')"): whole.replace(b"<f4", b">f4"),
                ("type '<i8'", "astype('<f4')"): whole.replace(b"<f4", b"<i8"),
                ("type '|O'", "astype('<f4')"): whole.replace(b"<f4", b"|O"),
                ("not a .npy file", "numpy.save"): b"PK" + whole,
                ("not a .npy file", "version 1"): whole[:6] + b"\x09" + whole[7:],
                ("not a .npy file", "save"): b"",
                ("no shape", "numpy.save"): whole.replace(b"shape", b"shame"),
                ("cut off", "numpy.save"): whole[:40],
                ("shape (9999999999999", "numpy.save"): whole.replace(b"(50, 5, 10), }     ", b"(9999999999999,), }"),
                ("(50, 50)", "reshape"): whole.replace(b"(50, 5, 10)", b"(50, 50)   "),
                ("(50, 25, 2)", "(samples, 10 steps, 5 metrics)"): whole.replace(b"(50, 5, 10)", b"(50, 25, 2)"),
                ("(10, 5, 50)", "(samples, 5 metrics, 10 steps)"): whole.replace(b"(50, 5, 10)", b"(10, 5, 50)"),
        }.items():
            with self.subTest(text):
                self.assertNotEqual(data, whole)
                file.write_bytes(data)
                err = self.run_program(self.data, status=2).err
                self.assertIn(str(file), err)
                self.assertIn(text, err)
                self.assertIn(cure, err)
        file.unlink()
        self.assertIn("make_mesh_data.py", self.run_program(self.data, status=2).err)
        self.assertIn("directory", self.run_program(self.scratch / "none", status=2).err)
        self.assertIn("usage:", self.run_program(status=2).err)
        self.assertIn("usage:", self.run_program(self.data, "--cycles", 1.5, status=2).err)
        self.assertIn("usage:", self.run_program(self.data, "--colour", "red", status=2).err)

    def test_weights_are_random_without_a_file(self):
        self.make_data("--nodes", "50")
        weights = self.data / "weights.npy"
        weights.write_bytes(npy([1] * 7, (7,)))
        self.assertIn(f"{weights}: has 7 weights", self.run_program(self.data, status=2).err)
        weights.unlink()
        self.assertIn(f"model: no {weights}", self.run_program(self.data, "--percent", 100).out)

    def test_devices_that_the_program_lacks_are_refused(self):
        self.make_data("--nodes", "50")
        how = (self.data, "--percent", 100, "--cycles", 1)
        self.assertIn("on the processor", self.run_program(*how, "--device", "cpu").out)
        self.assertIn("runs on cpu only", self.run_program(*how, "--device", "cuda:0", status=2).err)
        for wrong in ("gpu", "cuda:", "cuda:x", "cuda:-1"):
            self.assertIn("--device", self.run_program(*how, "--device", wrong, status=2).err)
        if "TORCH_MODELS" not in os.environ:
            self.assertIn("built with libtorch", self.run_program(*how, "--model", "net.pt", status=2).err)


@unittest.skipUnless("TORCH_MODELS" in os.environ, "the program is built without libtorch")
class TorchModel(Proxy):
    def setUp(self):
        super().setUp()
        subprocess.run([os.environ["TORCH_MODELS"], self.scratch], check=True, timeout=120)
        draw = random.Random(2)
        self.nodes = [[draw.randrange(64) / 64 for _ in range(SIZE)] for _ in range(250)]  # their sums are exact
        self.data.mkdir()
        (self.data / "inputs_1.npy").write_bytes(samples_npy(self.nodes, steps_first=True, fortran=True, kind="<f8"))

    def test_a_torchscript_model_infers(self):
        """Both models relax a node if its metrics in the last step have a sum above 2.5."""
        wanted = sum(sum(node[STEPS - 1::STEPS]) > 2.5 for node in self.nodes)
        self.assertTrue(0 < wanted < 250)
        for model in ("one.pt", "two.pt"):
            self.runs = self.scratch / model[:3]
            ended = self.run_program(self.data, "--percent", 100, "--cycles", 4, "--batch", 100, "--device", "cpu",
                                     "--model", self.scratch / model)
            self.assertIn(f"output data shape (250,): {wanted} of", ended.out)
            self.assertIn("rank 0 of 1, on libtorch", ended.out)
            self.assert_figures(ended.out, 250, 4)
            for part in ("ToDevice", "Process", "FromDevice"):
                self.assertEqual(rig.calls(self.summary(), f"Batch/Inference/{part}"), 12)

    def test_wrong_models_and_devices_are_reported(self):
        how = (self.data, "--percent", 100, "--cycles", 1, "--model")
        self.assertIn("750 values for 250 nodes", self.run_program(*how, self.scratch / "three.pt", status=2).err)
        (self.scratch / "bad.pt").write_bytes(b"no model")
        for name in ("bad.pt", "none.pt"):
            err = self.run_program(*how, self.scratch / name, status=2).err
            self.assertIn(str(self.scratch / name), err)
            self.assertIn("torch.jit.save()", err)
            self.assertNotIn("frame #", err)
        self.assertIn("gpu", self.run_program(*how, self.scratch / "one.pt", "--device", "gpu", status=2).err)


if __name__ == "__main__":
    rig.main()
