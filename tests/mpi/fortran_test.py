# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A Fortran program with MPI is one run, whose table names the slow rank: fortran_test.py <program>, with MPIRUN in the
environment."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import rig  # noqa: E402


class Fortran(rig.Case):
    def test_the_table_of_the_job_names_the_slow_rank(self):
        # Open MPI rejects root by default.
        extra = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1, "TAKT_DIR": self.runs}
        started = rig.Started([*os.environ["MPIRUN"].split(), "-n", "4", rig.PROGRAM, "2", "20"], rig.environment(**extra),
                              subprocess.DEVNULL, subprocess.PIPE, file_bytes=1 << 30, prepare=None)
        self.addCleanup(started.kill)
        ended = started.end(180 * rig.SLACK)
        self.assertEqual(ended.status, 0, ended)
        self.assertRegex(ended.out, r"Takt: stencil, run .*, 4 ranks")
        self.assertRegex(ended.out, r"\nrank 2 \(host .*\) makes the others\s+wait:\s+physics\s+takes")
        summaries = [self.summary(directory) for directory in self.directories()]
        self.assertEqual(sorted(each["run"]["rank"] for each in summaries), [0, 1, 2, 3])
        for path in ("Batch", "Batch/halo", "Batch/physics", "Batch/Forward", "Batch/Backward", "Batch/gradients"):
            self.assertEqual({rig.calls(each, path) for each in summaries}, {120}, path)
        self.assertEqual({each["paths"][0]["items"] for each in summaries}, {120 * 128 * 32})


if __name__ == "__main__":
    rig.main()
