# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the packed directory of checks runs anywhere: gpu_pack_test.py <build directory> [<checks on the
simulation>]"""

import ast
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, *SIMULATED = map(os.path.abspath, sys.argv[1:])
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import gpu_pack
from gpu_code import architectures
DRIVER = f"{BUILD}/tests/device/fakes/simulated"
GLIBC = gpu_pack.version(platform.libc_ver()[1])
OLD_ENOUGH = GLIBC <= (2, 36)  # Debian 12's version, which is used to pack; a newer one is rejected


class Directory(unittest.TestCase):
    def setUp(self):
        if not SIMULATED:
            self.skipTest("built without a CUDA toolkit")
        scratch = tempfile.TemporaryDirectory(prefix="takt-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def packed(self, *options):
        """Returns a directory that was packed and then moved to a path with a space."""
        made = self.scratch / "made"
        command = [sys.executable, "-B", str(HERE / "gpu_pack.py"), BUILD, str(made), *options, *([] if OLD_ENOUGH else ["--here"])]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return made.rename(self.scratch / "carried here")

    def run_in(self, pack, *options, **env):
        """Runs it in an empty environment, without HOME."""
        return subprocess.run([str(pack / "run.sh"), *options], capture_output=True, text=True, timeout=240, check=False, env=env, cwd="/")

    def test_it_runs_with_nothing_but_a_driver(self):
        pack = self.packed("--simulated")
        page = self.scratch / "page.md"
        # The disk may be read-only.
        for path in (*pack.rglob("*"), pack):
            path.chmod(path.stat().st_mode & ~0o222)
        before = sorted(pack.rglob("*"))
        ended = self.run_in(pack, "--only", "default_streams,hip_spans", "--write", str(page), LD_LIBRARY_PATH=DRIVER)
        self.assertIn(ended.returncode, (0, 1), ended)
        self.assertIn("device: a simulation", ended.stdout)
        self.assertRegex(ended.stdout, r"\nG2 HIP +kernels of known length: all spans came in +yes +yes +pass\n")
        self.assertRegex(ended.stdout, r"\nG3 HIP +calls in that time that wait.* pass\n")  # the counter is loaded
        self.assertNotIn("ends with 0", ended.stdout)
        self.assertRegex(page.read_text(encoding="utf-8"), r"\n\* built: from \S+ on 2")
        self.assertEqual(sorted(pack.rglob("*")), before)
        for path in (pack, *(each for each in pack.rglob("*") if each.is_dir())):
            path.chmod(0o755)

    def test_without_a_driver_it_says_so_in_one_sentence(self):
        for options in ([["--simulated"]] + ([[]] if os.access(f"{BUILD}/tests/device/gpu_check", os.X_OK) else [])):
            with self.subTest(options):
                pack = self.packed(*options)
                ended = self.run_in(pack, "--quick", "--write", str(self.scratch / "page.md"), CUDA_VISIBLE_DEVICES="")
                self.assertEqual((ended.returncode, ended.stderr), (77, ""))
                self.assertRegex(ended.stdout, r"^no GPU: nothing was run \([^\n]+\)\n$")
                self.assertFalse((self.scratch / "page.md").exists())
                pack.rename(self.scratch / f"done {len(options)}")

    def test_its_contents(self):
        if not os.access(f"{BUILD}/tests/device/gpu_check", os.X_OK):
            self.skipTest("built without nvcc")
        pack = self.packed()
        names = [str(path.relative_to(pack)) for path in pack.rglob("*") if path.is_file()]
        self.assertEqual([name for name in names if re.search("fake|simulat|libcuda|cudart", name)], [])
        self.assertTrue({"run.sh", "bin/gpu_check", "bin/gpu_training", "lib/hip_on_cuda/libamdhip64.so.7"} <= set(names))
        for name in ("gpu_check", "gpu_training"):
            self.assertEqual(architectures(pack / "bin" / name), {"sm_80", "sm_90", "ptx"})
        symbols = subprocess.run(["nm", str(pack / "bin/gpu_check")], capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("no symbols", symbols.stderr)

    def test_the_script_makes_it(self):
        if not OLD_ENOUGH or not os.access(f"{BUILD}/tests/device/gpu_check", os.X_OK):
            self.skipTest("no directory for other machines can be made here")
        script = HERE.parent.parent / "scripts" / "device-check.sh"
        command = ["bash", str(script), "--pack", "takt gpu", "--built", BUILD]
        # the second time it is there already
        for expected, told in ((0, r"^== Carry \S.*/takt gpu \(.*run.sh --write"), (2, "^$")):
            ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=self.scratch)
            self.assertEqual(ended.returncode, expected, ended)
            self.assertRegex(ended.stdout, told)
        self.assertIn("is not empty", ended.stderr)
        self.assertEqual(self.run_in(self.scratch / "takt gpu", "--only", "G99").returncode, 1)
        self.assertIn("usage: run.sh", self.run_in(self.scratch / "takt gpu", "--help").stdout)

    def test_its_scripts_run_with_an_old_python(self):
        for name in gpu_pack.SCRIPTS:
            ast.parse((HERE / name).read_text(encoding="utf-8"), feature_version=(3, 8))


class Refusals(unittest.TestCase):
    """Programs that would not run elsewhere are not packed."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-test-")
        self.addCleanup(scratch.cleanup)
        self.pack = pathlib.Path(scratch.name) / "pack"
        (self.pack / "bin").mkdir(parents=True)
        (self.pack / "lib").mkdir()

    def compiled(self, text, *options):
        program = self.pack / "bin" / "program"
        subprocess.run(["g++", "-x", "c++", "-", "-o", str(program), *options], input=text, text=True, check=True, timeout=120)
        return [*gpu_pack.problems(self.pack, self.options)]

    class options:
        here = False
        simulated = True

    def test_a_symbol_of_a_newer_library_is_rejected(self):
        # Every C library since 2.36 has this function; the packed programs do not use it.
        text = "#include <cstdlib>\nextern \"C\" unsigned arc4random();\nint main() { return arc4random() == 0; }"
        if GLIBC < (2, 36):
            self.skipTest("the C library here has no newer symbol to use")
        self.assertRegex("\n".join(self.compiled(text)), r"^program needs arc4random of GLIBC_2.36; 2.34 is the newest")

    def test_a_library_that_other_machines_lack_is_rejected(self):
        (self.pack / "lib" / "libodd.so").write_bytes(b"")
        subprocess.run(["g++", "-shared", "-x", "c++", "-", "-o", str(self.pack / "lib" / "libodd.so")], input="int odd() { return 0; }",
                       text=True, check=True, timeout=120)
        text = "int odd(); int main() { return odd(); }"
        linked = (f"-L{self.pack}/lib", "-lodd")
        self.assertEqual(self.compiled(text, *linked), [])  # it is packed
        (self.pack / "lib" / "libodd.so").unlink()
        self.assertEqual([*gpu_pack.problems(self.pack, self.options)], ["program needs libodd.so, which is not everywhere"])

    def test_a_pack_that_is_too_large_is_rejected(self):
        (self.pack / "large").touch()
        os.truncate(self.pack / "large", gpu_pack.MOST_BYTES + 1)
        self.assertRegex("\n".join(gpu_pack.problems(self.pack, self.options)), "^the directory has 33554433 bytes; 33554432 are the most$")

    def test_a_directory_that_is_not_empty_is_rejected(self):
        (self.pack / "page.md").write_text("kept", encoding="utf-8")
        ended = subprocess.run([sys.executable, "-B", str(HERE / "gpu_pack.py"), BUILD, str(self.pack)], capture_output=True, text=True,
                               timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertIn("is not empty", ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
