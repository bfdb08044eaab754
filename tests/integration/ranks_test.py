# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of one run share an ID but not a directory; one of them prints."""

import unittest

import rig


class Ranks(rig.Case):
    def launch(self, ranks, **env):
        """Starts all ranks at once, like torchrun; each makes one step more than the previous rank."""
        started = [
            self.start("steps", 3 + index, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=len(ranks), LOCAL_WORLD_SIZE=len(ranks),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=29500, **env) for index, rank in enumerate(ranks)
        ]
        ended = [each.end(60) for each in started]
        for each in ended:
            self.assertEqual(each.status, 0, each)
            self.assertEqual(each.err, "")
        return ended

    def test_eight_ranks_share_the_run_and_one_prints(self):
        ended = self.launch(range(8))
        self.assertEqual([each.out.count("Takt: run, run ") for each in ended], [1, 0, 0, 0, 0, 0, 0, 0])
        self.assertIn("rank 0 of 8", ended[0].out)
        directories = self.directories()
        self.assertEqual(len(directories), 8)
        self.assertEqual(len({directory.parent for directory in directories}), 1)
        summaries = [self.summary(directory) for directory in directories]
        self.assertEqual(len({summary["run"]["id"] for summary in summaries}), 1)
        for summary in summaries:
            rank = summary["run"]["rank"]
            self.assertEqual(summary["run"]["world_size"], 8)
            self.assertEqual(summary["run"]["local_rank"], rank)
            self.assertEqual(summary["run"]["pid"], ended[rank].pid)
            self.assertEqual(rig.calls(summary, "Batch"), 3 + rank)
        self.assertEqual(sorted(summary["run"]["rank"] for summary in summaries), list(range(8)))

    def test_every_rank_has_its_own_run(self):
        ended = self.launch(range(3), TAKT_RANKS="all")
        self.assertEqual([each.out.count("Takt: run, run ") for each in ended], [1, 1, 1])

    def test_two_processes_that_claim_one_rank_are_separate(self):
        self.launch([1, 1])
        directories = self.directories()
        self.assertEqual(len(directories), 2)
        self.assertEqual(sorted(rig.calls(self.summary(directory), "Batch") for directory in directories), [3, 4])
        self.assertEqual({self.summary(directory)["run"]["rank"] for directory in directories}, {1})

    def test_restarted_attempts_are_separate(self):
        for attempt in (0, 1):
            self.launch([0, 1], TORCHELASTIC_RUN_ID="job", TORCHELASTIC_RESTART_COUNT=attempt)
        attempts = sorted(self.summary(directory)["run"]["attempt"] for directory in self.directories())
        self.assertEqual(attempts, [0, 0, 1, 1])
        self.assertEqual({self.summary(directory)["run"]["id"] for directory in self.directories()}, {"run-job"})


if __name__ == "__main__":
    rig.main()
