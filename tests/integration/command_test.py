# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command `takt` handles everything that runs can leave behind."""

import csv
import errno
import fcntl
import io
import json
import math
import os
import random
import re
import signal
import struct
import subprocess
import termios
import time
import unittest

import loopback
import rig

COMMAND = os.environ["COMMAND"]
KILLS = 40 if rig.SLACK == 1 else 12


class Command(rig.Case):
    def takt(self, *words, status=0, cwd=None, **env):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60 * rig.SLACK,
                              check=False, cwd=cwd or self.scratch, env=rig.environment(**env))
        self.assertEqual(done.returncode, status, f"{words}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def report(self, *words, **how):
        document = json.loads(self.takt("report", "--json", *words, **how).stdout)
        self.assertEqual(document["schema"], "takt-report/2")
        self.assertEqual(len(document["runs"]), 1)
        return document["runs"][0]

    def start_until_ready(self, *words, stdin=subprocess.PIPE, **env):
        started = self.start(*words, stdin=stdin, **env)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        return started

    def wait_for(self, condition, what):
        """Polls files, because another process's progress cannot be waited for in any other way."""
        self.assertTrue(rig.wait_until(condition), what)

    def rank_of(self, report):
        self.assertEqual(len(report["ranks"]), 1)
        return report["ranks"][0]

    # After a kill

    def check_what_is_left(self, log):
        begun = struct.unpack("q", log.read_bytes())[0]
        directory = self.directory()
        if not list(directory.glob("journal-*.tjl")):
            return 0  # killed before the first period ended
        if self.takt_status("report", directory) == 1:
            return 0  # the same, with a file without frames
        report = self.report(directory)
        self.assertEqual(self.rank_of(report)["state"], "died")
        steps = rig.calls(report["summary"], "Batch")
        self.assertLessEqual(steps, begun)
        self.assertLessEqual(rig.calls(report["summary"], "Batch/Forward/Comm"), begun)
        rows = list(csv.DictReader(io.StringIO(self.takt("report", "--steps", directory).stdout)))
        numbers = [int(row["step"]) for row in rows if row["path"] == "Batch/IO"]
        self.assertEqual(numbers, sorted(set(numbers)))
        # A sanitized program may record rows faster than they are collected; it must report the dropped ones.
        missing = len(set(range(numbers[-1] + 1)) - set(numbers)) if numbers else 0
        self.assertLessEqual(missing, 0 if rig.SLACK == 1 else rig.losses(report["summary"], "rows_dropped"))
        self.assertLessEqual(len(numbers), begun)
        check = self.takt("check", directory, status=1).stdout
        self.assertIn("the process did not end normally", check)
        self.assertNotIn("damaged", check)
        return len(numbers)

    def takt_status(self, *words):
        return subprocess.run([COMMAND, *map(str, words)], capture_output=True, check=False, timeout=60 * rig.SLACK,
                              env=rig.environment()).returncode

    def test_kill_at_random_moments(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        moments = random.Random(seed)
        log = self.scratch / "log"
        seen = 0
        for _ in range(KILLS):
            started = self.start_until_ready("endless", log, TAKT_PERIOD_MS=10)
            moment = time.monotonic() + moments.uniform(0, 0.08 * rig.SLACK)
            self.wait_for(lambda: time.monotonic() >= moment, "the clock")
            os.kill(started.process.pid, signal.SIGKILL)
            self.assertEqual(started.end(60).status, -signal.SIGKILL)
            seen += self.check_what_is_left(log) > 0
            self.remove_runs()
        self.assertGreater(seen, KILLS // 4)

    def remove_runs(self):
        for path in sorted(self.runs.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    def test_findings_are_the_same_at_the_end_and_in_a_report(self):
        self.run_program("faulty")
        live, later = self.summary(), self.report(self.runs)["summary"]
        self.assertEqual(later["findings"], live["findings"])
        self.assertEqual(later["abstentions"], live["abstentions"])
        # On a busy machine the top findings are the processors and steps that waited for one, with IO after them.
        self.assertEqual((live["findings"][0]["what"], live["findings"][0]["where"]), ("never_ended", "Batch/Forward/embed"))
        self.assertGreater(len(live["findings"]), 1)
        self.assertIn('"Batch/Forward/embed" was still open when the next step or its thread ended, 1 time: not timed\n', self.takt("report", self.runs).stdout)

    def test_a_kill_in_a_region_records_the_region(self):
        started = self.start_until_ready("hang", TAKT_PERIOD_MS=10)
        self.wait_for(lambda: "Epoch > Batch > Comm" in self.takt_out("report", self.runs), "the region in the journal")
        os.kill(started.process.pid, signal.SIGKILL)
        started.end(60)
        out = self.takt("report", self.runs).stdout
        self.assertRegex(out, r"rank 0: died in Epoch > Batch > Comm, open [\d.]+ \w+ \(thread main\); last heard of at ")
        self.assertIn("so far", out)

    def test_a_sigterm_in_a_region_records_the_region(self):
        started = self.start_until_ready("hang", TAKT_PERIOD_MS=60_000, TAKT_SIGTERM=1)
        os.kill(started.process.pid, signal.SIGTERM)
        started.process.wait(60 * rig.SLACK)  # before its input ends
        self.assertEqual(started.end(60).status, -signal.SIGTERM)
        out = self.takt("report", self.runs).stdout
        self.assertRegex(out, r"rank 0: ended by SIGTERM in Epoch > Batch > Comm, open [\d.]+ \w+ \(thread main\)\n")
        self.assertIn("killed after", out)
        report = self.report(self.runs)
        self.assertEqual(self.rank_of(report)["state"], "killed")
        self.assertTrue(report["summary"]["killed"])
        self.assertEqual([each["path"] for each in self.rank_of(report)["open"]], ["Epoch", "Epoch/Batch", "Epoch/Batch/Comm"])
        self.assertIn("complete, nothing lost", self.takt("check", self.runs).stdout)

    def takt_out(self, *words):
        return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False,
                              timeout=60 * rig.SLACK, env=rig.environment()).stdout

    def steps_so_far(self):
        text = self.takt_out("report", "--steps", self.runs)
        return {int(row["step"]): (row["complete"], row["device_ns"])
                for row in csv.DictReader(io.StringIO(text)) if row["path"] == "Batch/Comm" and row["calls"] != "0"}

    def test_steps_arrive_at_once_and_device_values_follow(self):
        started = self.start_until_ready("late", TAKT_PERIOD_MS=10)
        waiting = {step: ("0", "") for step in range(3)}
        self.wait_for(lambda: self.steps_so_far() == waiting, "steps that wait")
        started.process.stdin.write("go\n")
        started.process.stdin.flush()
        known = {**{step: ("1", "5000000") for step in range(3)}, 8: ("0", "")}
        self.wait_for(lambda: self.steps_so_far() == known, "their device values")
        running = self.report(self.runs)["summary"]
        os.kill(started.process.pid, signal.SIGKILL)
        started.end(60)
        self.assertEqual(self.steps_so_far(), known)
        killed = self.report(self.runs)["summary"]
        self.assertEqual(killed["devices"], [{"name": "talkative", "unavailable": "its driver is \x1b[31mred",
                                              "caveat": "it \"says\" so"}])
        self.assertEqual(killed["devices"], running["devices"])
        self.assertEqual(rig.losses(killed, "device_skipped"), 3)
        comm = path_of(killed, "Batch/Comm")
        self.assertEqual((comm["device"]["n"], comm["device"]["total_ns"], comm["device_pending"]), (3, 15_000_000, 1))
        self.assertEqual(comm, path_of(running, "Batch/Comm"))
        self.assertIn(",3,15000000,", self.takt("report", "--csv", self.runs).stdout)
        table = self.takt("report", self.runs).stdout
        self.assertRegex(table, r"  Comm +4 .* 15\.0 ms ")
        self.assertIn("talkative is unavailable: its driver is ?[31mred\n", table)
        self.assertIn("stream spans not in this report: Batch/Comm, 1 pending, 0 lost", table)

    # Other states

    def test_running_then_finished(self):
        started = self.start_until_ready("hang", TAKT_PERIOD_MS=10)
        self.wait_for(lambda: "Epoch > Batch > Comm" in self.takt_out("report", self.runs), "the region in the journal")
        out = self.takt("report", self.runs).stdout
        self.assertIn("rank 0: still running in Epoch > Batch > Comm, open ", out)
        self.assertIn("still running", self.takt("check", self.runs).stdout)
        self.assertEqual(started.end(60, "go\n").status, 0)
        report = self.report(self.runs)
        self.assertEqual(self.rank_of(report)["state"], "finished")
        self.assertEqual(rig.calls(report["summary"], "Batch"), 3)
        self.assertEqual(report["summary"]["paths"], self.summary()["paths"])
        self.assertIn("complete, nothing lost", self.takt("check", self.runs).stdout)

    def test_the_table_equals_the_programs_own(self):
        printed = self.run_program("names").out
        table = self.takt("report", self.directory()).stdout
        self.assertTrue(table.startswith(printed), f"{printed}\n---\n{table}")
        self.assertIn("rank 0: finished", table)

    def test_steps_equal_those_of_the_run_directory(self):
        started = self.start_until_ready("hang")
        started.end(60, "go\n")
        rows = list(csv.DictReader(io.StringIO(self.takt("report", "--steps", self.runs).stdout)))
        for row in rows:
            self.assertEqual((row.pop("rank"), row.pop("attempt")), ("0", "0"))
            del row["run_id"]
        self.assertEqual(rows, self.steps())

    def test_ranks_are_added_up_and_missing_ones_named(self):
        for rank in (0, 1, 3):
            self.run_program("names", TAKT_RUN_ID="together", TAKT_RANK=rank, TAKT_WORLD_SIZE=5)
        report = self.report(self.runs)
        self.assertEqual([each["rank"] for each in report["ranks"]], [0, 1, 3])
        self.assertEqual(report["missing_ranks"], [2, 4])
        self.assertEqual(report["summary"]["paths"][0]["host"]["n"], 3)
        totals = [self.summary(directory)["paths"][0]["host"]["total_ns"] for directory in self.directories()]
        self.assertEqual(report["summary"]["paths"][0]["host"]["total_ns"], sum(totals))
        out = self.takt("report", self.runs).stdout
        self.assertIn("3 ranks, took", out)
        self.assertIn("2 of 5 ranks are not in this report: 2, 4", out)

    def test_ranks_data_is_reported_for_all_and_for_each(self):
        for rank in (0, 1, 3):
            self.run_program("names", TAKT_RUN_ID="beside", TAKT_RANK=rank, TAKT_WORLD_SIZE=4)
        report = self.report(self.runs)
        totals = {each["rank"]: each["paths"][0]["total_ns"] for each in report["ranks"]}
        path = report["job"]["paths"][0]
        total = path["total"]
        self.assertEqual(path["path"], report["ranks"][0]["paths"][0]["path"])
        self.assertEqual((report["job"]["one_step_in"], report["job"]["ranks_left_out"]), (1, 0))
        self.assertEqual(total["ranks"], 3)
        self.assertEqual((total["min_ns"], total["max_ns"]), (min(totals.values()), max(totals.values())))
        self.assertEqual(totals[total["max_rank"]], total["max_ns"])
        self.assertAlmostEqual(total["mean_ns"], sum(totals.values()) / 3, delta=1)
        self.assertLessEqual(path["share"], 1)
        row = next(csv.DictReader(io.StringIO(self.takt("report", "--csv", self.runs).stdout)))
        self.assertEqual((row["ranks"], int(row["most_total_ns"])), ("3", total["max_ns"]))
        each = self.takt("report", "--per-rank", self.runs).stdout
        self.assertEqual([each.count(f"rank {rank} of 4, took") for rank in range(4)], [1, 1, 0, 1])
        alone = self.takt("report", "--rank", 3, self.runs).stdout
        self.assertIn("rank 3 of 4, took", alone)
        self.assertNotIn("3 ranks, took", alone)
        self.assertIn("there is no rank 2 in this run", self.takt("report", "--rank", 2, self.runs, status=1).stderr)
        self.assertIsNone(self.report("--rank", 3, self.runs)["job"])

    def test_stages_are_not_compared_and_their_waiting_is_shown_with_the_ideal(self):
        for rank in range(4):
            self.run_program("stage", rank // 2, TAKT_RUN_ID="stages", TAKT_RANK=rank, TAKT_WORLD_SIZE=4, TAKT_WARMUP=0)
        job = self.report(self.runs)["job"]
        self.assertEqual([(each["stage"], each["ranks"]) for each in job["pipeline"]["stages"]], [(0, 2), (1, 2)])
        self.assertTrue(all(0 < each["waits"] < 1 for each in job["pipeline"]["stages"]))
        self.assertEqual(job["pipeline"]["micro_batches"], 4)
        self.assertAlmostEqual(job["pipeline"]["ideal"], 1 / 5)
        self.assertEqual(len(job["findings"]), 2)  # one per stage
        out = self.takt("report", self.runs).stdout
        self.assertIn("pipeline of 2 stages, which wait for", out)
        self.assertIn("of stage 0", out)
        groups = {json.loads((each / "summary.json").read_text(encoding="utf-8"))["run"]["groups"]["stage"]
                  for each in self.directories()}
        self.assertEqual(groups, {0, 1})

    def test_the_newest_of_several_runs_is_used_and_named(self):
        self.run_program("names", TAKT_RUN_ID="zzz")
        self.run_program("names", TAKT_RUN_ID="aaa")
        self.run_program("names", TAKT_RUN_ID="mmm")
        done = self.takt("report", self.runs)
        self.assertIn("using the latest of 3 runs", done.stderr)
        self.assertIn("run command-mmm", done.stdout)
        self.assertIn("run command-mmm", self.takt("report", TAKT_DIR=self.runs).stdout)

    def test_the_last_of_two_attempts_counts(self):
        for _ in range(2):
            self.run_program("names", TAKT_RUN_ID="again")
        done = self.takt("report", self.runs)
        self.assertIn("rank 0 has a later attempt; it is excluded: ", done.stderr)
        self.assertIn("rank 0 of 1", done.stdout)

    def test_two_simultaneous_processes_of_one_rank_are_not_a_restart(self):
        started = [self.start_until_ready("hang", TAKT_RUN_ID="twice", TAKT_PERIOD_MS=10) for _ in range(2)]
        self.wait_for(lambda: "still running in Epoch" in self.takt_out("report", self.runs), "both in their journals")
        done = self.takt("report", self.runs)
        self.assertRegex(done.stderr, r"rank 0 appears twice in attempt 0, on host \S+ and on host \S+; the one that started "
                                      r"last counts; it is excluded: ")
        for each in started:
            self.assertEqual(each.end(60, "go\n").status, 0)
        self.assertIn("rank 0 appears twice in attempt 0", self.takt("report", self.runs).stderr)

    def run_ranks(self, ranks, world, attempt):
        for rank in ranks:
            self.run_program("names", TAKT_RUN_ID="again", RANK=rank, WORLD_SIZE=world, LOCAL_RANK=rank,
                             TORCHELASTIC_RESTART_COUNT=attempt)

    def test_after_a_restart_with_fewer_ranks_only_those_count(self):
        self.run_ranks(range(4), world=4, attempt=0)
        self.run_ranks(range(2), world=2, attempt=1)
        done = self.takt("report", self.runs)
        self.assertIn("2 ranks, took", done.stdout)
        self.assertNotIn("not in this report", done.stdout)
        self.assertEqual(done.stderr.count("is of an earlier attempt; it is excluded: "), 4)
        self.assertRegex(done.stdout, r"2 attempts, [\d.]+ .?s between them; the figures are of attempt 1\n")
        report = self.report(self.runs)
        first, second = report["attempts"]
        self.assertEqual([(each["attempt"], each["ranks"]) for each in (first, second)], [(0, 4), (1, 2)])
        self.assertEqual(report["between_attempts_ns"], second["start_unix_ns"] - first["end_unix_ns"])
        self.assertGreater(report["between_attempts_ns"], 0)
        self.assertEqual([(each["rank"], each["attempt"]) for each in report["ranks"]], [(0, 1), (1, 1)])
        self.assertEqual(report["missing_ranks"], [])
        self.assertEqual(report["summary"]["paths"][0]["host"]["n"], 2)

    def test_ranks_missing_from_a_new_restart_are_reported(self):
        self.run_ranks(range(3), world=3, attempt=0)
        self.run_ranks([1], world=3, attempt=1)
        report = self.report(self.runs)
        self.assertEqual([(each["rank"], each["attempt"]) for each in report["ranks"]], [(1, 1)])
        self.assertEqual(report["missing_ranks"], [0, 2])

    def test_an_invalid_world_is_reported_without_other_effects(self):
        self.run_program("names", TAKT_RUN_ID="huge", TAKT_RANK=0, TAKT_WORLD_SIZE=2_000_000_000)
        done = self.takt("report", self.runs)
        self.assertIn("claims a world size of 2000000000, which is invalid", done.stderr)
        self.assertEqual(self.report(self.runs)["missing_ranks"], [])

    # A damaged journal, and an empty one

    def damaged(self):
        self.run_program("names", TAKT_PERIOD_MS=10)
        journal = next(self.directory().glob("journal-*.tjl"))
        bytes_ = bytearray(journal.read_bytes())
        bytes_[64 + 40] ^= 0x10  # in the first frame
        journal.write_bytes(bytes_)
        return journal

    def test_damage_is_reported_and_checked(self):
        self.damaged()
        out = self.takt("report", self.runs).stdout
        self.assertIn("rank 0: the journal is damaged: ", out)
        out = self.takt("check", self.runs, status=1).stdout
        self.assertIn("incomplete", out)
        self.assertIn("lost: 1 records missing", out)

    def test_a_newer_version_reports_the_cure(self):
        journal = self.damaged()
        head = bytearray(journal.read_bytes())
        head[8] = 3
        head[60:64] = struct.pack("<I", crc32c(bytes(head[:60])))
        journal.write_bytes(head)
        self.assertIn("read it with a newer Takt", self.takt("report", self.runs, status=1).stderr)

    def test_a_missing_run_reports_the_cure(self):
        empty = self.scratch / "empty"
        empty.mkdir()
        rank = self.scratch / "run" / "rank-0-0-1"
        rank.mkdir(parents=True)
        for word in ("report", "check"):
            with self.subTest(word):
                self.assertIn("TAKT_DIR", self.takt(word, empty, status=1).stderr)
                self.assertIn("takt-runs/<run id>", self.takt(word, "nowhere", status=1).stderr)
                done = self.takt(word, rank, status=1)
                self.assertIn("TAKT_JOURNAL", done.stdout + done.stderr)

    def test_directory_that_is_closed_is_not_an_empty_one(self):
        self.run_program("names")
        rank = self.directory()
        for closed in (rank, rank.parent, self.runs):
            for given in (rank, rank.parent, self.runs):
                with self.subTest(closed=closed, given=given):
                    closed.chmod(0)
                    try:
                        done = subprocess.run([COMMAND, "report", given], capture_output=True, text=True, check=False,
                                              timeout=60 * rig.SLACK, env=rig.environment(), preexec_fn=rig.without_might)
                    finally:
                        closed.chmod(0o700)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn("cannot be opened: Permission denied; run takt as the user who ran", done.stderr)

    def test_unreadable_files_and_files_in_place_of_directories_are_reported(self):
        self.run_program("names")
        journal = next(self.directory().glob("journal-*.tjl"))
        self.assertIn("is not a directory; name the directory of its run", self.takt("report", journal, status=1).stderr)
        self.assertIn("there is no directory", self.takt("report", journal / "deeper", status=1).stderr)
        journal.chmod(0)
        done = subprocess.run([COMMAND, "report", self.runs], capture_output=True, text=True, check=False,
                              timeout=60 * rig.SLACK, env=rig.environment(), preexec_fn=rig.without_might)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be read: Permission denied", done.stderr)

    def test_wrong_usage_has_its_own_status(self):
        for words, cure in (([], "takt help COMMAND"), (["report", "--json", "--csv"], "takt help report"),
                            (["nonsense"], "Commands:"), (["help", "nonsense"], "Commands:"),
                            (["trace", "a", "b"], "takt help trace"), (["report", "--nonsense"], "takt help report"),
                            (["ls", "--color", "red"], "auto,always,never"), (["ls", "--width", "39"], "40"),
                            (["--nonsense"], "Run takt help for usage")):
            with self.subTest(words):
                done = self.takt(*words, status=2)
                self.assertIn(cure, done.stderr)
                self.assertEqual(done.stdout, "")
        for words in (["--help"], ["-h"], ["report", "--help"], ["report", "-h"], ["help"], ["help", "report"], ["--version"]):
            self.assertEqual(self.takt(*words).stderr, "")

    def test_the_help_of_a_command_is_the_same_both_ways_and_lists_exit_statuses(self):
        commands = re.findall(r"^  ([a-z-]+) ", self.takt(status=2).stderr.partition("Commands:")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertIn("report", commands)
        self.assertIn("completion", commands)
        for command in set(commands) - {"help"}:
            helped = self.takt("help", command).stdout
            self.assertEqual(helped, self.takt(command, "--help").stdout)
            self.assertIn("Exit status: 0 ", helped)
        self.assertEqual(self.takt("help").stdout, self.takt("--help").stdout)

    def test_help_fits_one_screen_of_100_columns(self):
        whole = self.takt("--help").stdout
        self.assertTrue(whole.startswith("Inspect, compare and upload runs recorded with Takt.\n"))
        self.assertLessEqual(len(whole.splitlines()), 24)
        for command in ("", "report", "sync", "diff", "completion"):
            lines = self.takt("help", *command.split()).stdout.splitlines()
            self.assertLessEqual(max(map(len, lines)), 100)
            for leftover in ("REQUIRED", "Excludes:", "RUN RUN"):
                self.assertNotIn(leftover, "\n".join(lines))

    def test_wrong_words_get_a_near_one_only(self):
        self.assertNotIn("did you mean", self.takt("nonsense", status=2).stderr)

    def test_columns_are_chosen_and_unknown_ones_listed(self):
        self.run_program("stage", 0)
        self.assertRegex(self.takt("report", "--columns", "stdev,n,min", self.runs).stdout, r"(?m)^region +stdev +n +min$")
        wrong = self.takt("report", "--columns", "n,variance", self.runs, status=1).stderr
        self.assertIn("no column variance; columns: n total mean stdev min", wrong)

    def test_color_and_width_follow_the_options_and_pipes_get_neither(self):
        for run in range(4):
            self.run_program("stage", 0, TAKT_RUN_ID=f"run-{run}")
        first, *others = sorted(self.runs.iterdir())
        for words in (["report", first], ["ls", self.runs], ["diff", first, "--", *others]):
            with self.subTest(words[0]):
                plain = self.takt(*words).stdout
                self.assertNotIn("\x1b", plain)
                colored = self.takt(*words, "--color", "always", NO_COLOR=1, TERM="dumb").stdout
                self.assertIn("\x1b[1m", colored)
                self.assertEqual(colored.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", ""), plain)
                narrow = self.takt(*words, "--width", 60).stdout
                self.assertLessEqual(max(map(len, narrow.splitlines())), 60)
                self.assertGreater(max(map(len, self.takt(*words, "--width", 1000).stdout.splitlines())), 60)
                self.assertEqual(self.on_terminal(words, 70, TERM="xterm").count("\x1b[1m") > 0, True)
                for env in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}):
                    shown = self.on_terminal(words, 70, **env)
                    self.assertNotIn("\x1b", shown)
                    self.assertLessEqual(max(len(line) for line in shown.split("\r\n")), 70)

    def on_terminal(self, words, columns, **env):
        """Returns stdout on a terminal with this many columns."""
        terminal, its_end = os.openpty()
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([COMMAND, *map(str, words)], stdout=its_end, stderr=subprocess.DEVNULL, env=rig.environment(**env))
        os.close(its_end)
        shown = read_terminal(terminal)
        self.assertEqual(process.wait(60 * rig.SLACK), 0)
        return shown

    def test_a_misspelt_command_suggests_the_nearest_one(self):
        for word, nearest in (("reprot", "report"), ("Sync", "sync"), ("chekc", "check")):
            with self.subTest(word[:9]):
                self.assertIn(f"did you mean {nearest}?", self.takt(word, status=2).stderr)
        self.assertNotIn("did you mean", self.takt("x" * 9999, status=2).stderr)

    def test_undelivered_output_is_an_error(self):
        self.run_program("names")
        for words in (["report"], ["report", "--csv"], ["report", "--json"], ["report", "--steps"], ["check"]):
            with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([COMMAND, *words, self.runs], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=60 * rig.SLACK, check=False, env=rig.environment())
                self.assertEqual(done.returncode, 1)
                self.assertIn("takt: ", done.stderr)

    def test_names_cannot_control_a_terminal(self):
        self.run_program("names")
        for words in (["report"], ["report", "--csv"], ["report", "--steps"], ["check"]):
            out = self.takt(*words, self.runs).stdout
            self.assertNotIn("\x1b", out)
        self.assertIn("erase?[2Jall", self.takt("report", self.runs).stdout)
        rows = list(csv.DictReader(io.StringIO(self.takt("report", "--csv", self.runs).stdout, newline="")))
        self.assertEqual(rows[1]["path"], 'erase?[2Jall/two?lines,"quoted"')
        odd = self.scratch / "odd\x1b[2J"
        odd.mkdir()
        self.assertNotIn("\x1b", self.takt("report", odd, status=1).stderr)

    # Delivery

    @unittest.skipUnless(os.environ.get("HAS_MLFLOW"), "built without MLflow")
    def test_sync_of_a_killed_run_reports_what_remains(self):
        started = self.start_until_ready("hang", TAKT_PERIOD_MS=10)
        self.wait_for(lambda: "Epoch > Batch > Comm" in self.takt_out("report", self.runs), "the region in the journal")
        self.assertIn("MLFLOW_TRACKING_URI is not set", self.takt("sync", self.runs, status=1).stderr)
        server = TinyServer()
        self.addCleanup(server.stop)
        self.assertIn("the run is still running", self.takt("sync", self.runs, status=3, MLFLOW_TRACKING_URI=server.url).stderr)
        self.assertEqual(server.statuses, [])
        os.kill(started.process.pid, signal.SIGKILL)
        started.end(60)
        away = {"MLFLOW_TRACKING_URI": "http://127.0.0.1:1", "status": 3}
        self.assertIn("incomplete: ", self.takt("sync", "--patience", 0, self.runs, **away).stderr)
        done = self.takt("sync", self.runs, MLFLOW_TRACKING_URI=server.url)
        self.assertIn("complete; ", done.stdout)
        self.assertEqual(done.stderr, "")  # no progress bar without a terminal
        self.assertEqual(server.statuses, ["KILLED"])
        points = len(server.points)
        self.assertEqual(len(set(server.points)), points)
        self.assertIn("all is delivered", self.takt("sync", self.runs, MLFLOW_TRACKING_URI=server.url).stdout)
        self.assertEqual(len(server.points), points)

    def sync_on_terminal(self, columns, **env):
        """Returns stderr on a terminal with this many columns, after the line about renamed metrics."""
        self.setUp()
        self.run_program("names")
        server = TinyServer()
        self.addCleanup(server.stop)
        terminal, its_end = os.openpty()
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([COMMAND, "sync", self.runs], stdout=subprocess.PIPE, stderr=its_end, text=True,
                                   env=rig.environment(MLFLOW_TRACKING_URI=server.url, **env))
        os.close(its_end)
        shown = read_terminal(terminal)
        out, _ = process.communicate(timeout=60 * rig.SLACK)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(out, "^[^\x1b]*: complete; .*\n$")
        names, _, rest = shown.partition("\r\n")
        self.assertIn("MLflow allows letters", names)
        return rest

    @unittest.skipUnless(os.environ.get("HAS_MLFLOW"), "built without MLflow")
    def test_sync_shows_a_bar_on_a_terminal_and_removes_it(self):
        for columns, env in ((100, {}), (100, {"NO_COLOR": "1"}), (20, {}), (1, {}), (0, {})):
            with self.subTest(columns, **env):
                nothing, *lines, rest = self.sync_on_terminal(columns, TERM="xterm", **env).split("\r\x1b[K")
                self.assertEqual((nothing, rest), ("", ""))
                self.assertNotIn("\n", "".join(lines))
                if columns in (0, 100):  # 0: width unknown
                    self.assertRegex(lines[-1], r"^rank-0-0-\d+ \[#+\] 100 %  \d+ of \d+ points$")
                else:
                    self.assertEqual({len(line) for line in lines}, {max(columns - 1, 1)})
        self.assertEqual(self.sync_on_terminal(100, TERM="dumb"), "")

    @unittest.skipUnless(os.environ.get("HAS_MLFLOW"), "built without MLflow")
    def test_sync_continues_after_a_broken_directory(self):
        for rank in (0, 1):
            self.run_program("names", TAKT_RUN_ID="two", TAKT_RANK=rank, TAKT_WORLD_SIZE=2)
        first, second = sorted(self.directories())
        (first / "mlflow.json").write_text("nonsense", encoding="utf-8")
        server = TinyServer()
        self.addCleanup(server.stop)
        done = self.takt("sync", "--all-ranks", self.runs, status=1, MLFLOW_TRACKING_URI=server.url)
        self.assertIn(f"{first}: ", done.stderr)
        self.assertIn("Remove it", done.stderr)
        self.assertIn(f"{second}: complete; ", done.stdout)
        self.assertEqual(server.statuses, ["FINISHED"])

    def test_sync_to_wandb_without_a_key_reports_that_the_run_remains(self):
        self.run_program("names")
        wandb = {"WANDB_DIR": self.scratch, "NETRC": self.scratch / "none"}
        for _ in range(2):
            done = self.takt("sync", "--to", "wandb", self.runs, status=3, **wandb)
            self.assertRegex(done.stderr, "rows written, but not sent: .*; this uploads it: wandb sync ")
            self.assertEqual(done.stdout, "")
        done = self.takt("sync", "--to", "wandb", self.runs, WANDB_MODE="offline", **wandb)
        self.assertRegex(done.stdout, "rows written; this uploads it: wandb sync ")
        self.assertEqual(done.stderr, "")

    def test_sync_to_tensorboard_writes_one_file_and_changes_it_only_for_more(self):
        self.run_program("names")
        log = self.scratch / "logs"
        for env in ({}, {"TAKT_TENSORBOARD_DIR": log}):
            for _ in range(2):
                done = self.takt("sync", "--to", "tensorboard", self.runs, **env)
                self.assertRegex(done.stdout, r"values are in .*/events\.out\.tfevents\..*\.takt\n$")
                self.assertEqual(done.stderr, "")
        [file], [other] = (list(directory.rglob("events*")) for directory in (self.runs, log))
        self.assertEqual([each.name for each in file.parent.iterdir()], [file.name])
        self.assertEqual(file.read_bytes(), other.read_bytes())
        self.assertEqual(other.parent, log / self.directory().parent.name / self.directory().name)
        whole, number = file.read_bytes(), file.stat().st_ino
        os.truncate(file, 100)  # as a killed program may leave it
        self.takt("sync", "--to", "tensorboard", self.runs)
        self.assertEqual(file.read_bytes(), whole)
        self.assertNotEqual(file.stat().st_ino, number)
        os.rename(self.directory(), self.directory().with_name("rank-0-0-9"))
        self.takt("sync", "--to", "tensorboard", self.runs, TAKT_TENSORBOARD_DIR=log)
        self.assertEqual((log / other.parent.parent.name / "rank-0-0-9" / other.name).read_bytes(), whole)
        [file] = self.runs.rglob("events*")
        file.write_bytes(whole + b"more")
        self.assertIn("has more data than the journal", self.takt("sync", "--to", "tensorboard", self.runs, status=4).stderr)
        self.assertEqual(file.read_bytes(), whole + b"more")

    def test_sync_to_tensorboard_leaves_other_ranks_to_all_ranks(self):
        self.run_program("names", TAKT_RANK=1, TAKT_WORLD_SIZE=2, TAKT_RUN_ID="x")
        lease = self.directory() / "tensorboard.lease"
        lease.mkdir()  # a lease that cannot be taken
        self.assertIn("rank 0 reports", self.takt("sync", "--to", "tensorboard", self.runs).stdout)
        lease.rmdir()
        self.assertEqual(list(self.runs.rglob("tensorboard*")), [])
        self.takt("sync", "--to", "tensorboard", "--all-ranks", self.runs)
        self.assertEqual(len(list(self.runs.rglob("events*"))), 1)

    def test_sync_to_tensorboard_on_a_full_disk_changes_nothing(self):
        self.run_program("names")
        self.takt("sync", "--to", "tensorboard", self.runs)
        [file] = self.runs.rglob("events*")
        os.truncate(file, 100)
        command = [COMMAND, "sync", "--to", "tensorboard", str(self.runs)]
        started = rig.Started(command, rig.environment(), subprocess.DEVNULL, subprocess.PIPE, 1000,
                              lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        ended = started.end(60 * rig.SLACK)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("free disk space", ended.err)
        self.assertEqual([(each, each.stat().st_size) for each in file.parent.iterdir()], [(file, 100)])

    def test_pipes_and_links_in_place_of_files_do_not_block(self):
        for run in ("one", "two"):
            self.run_program("names", TAKT_RUN_ID=run)
        directory, other = self.directories()
        os.mkfifo(directory / "mlflow.json")
        if os.environ.get("HAS_MLFLOW"):
            done = self.takt("sync", directory, status=1, MLFLOW_TRACKING_URI="http://127.0.0.1:1")
            self.assertIn("mlflow.json cannot be read", done.stderr)
        segment = next(directory.glob("journal-*.tjl"))
        segment.unlink()
        os.mkfifo(segment)
        self.takt("report", directory, status=1)
        self.assertIn("using the latest of 2 runs", self.takt("check", self.runs).stdout)
        segment.unlink()
        segment.symlink_to(next(other.glob("journal-*.tjl")))
        self.takt("report", directory, status=1)

    @unittest.skipUnless(os.environ.get("HAS_MLFLOW"), "built without MLflow")
    def test_sync_survives_a_closed_pipe(self):
        self.run_program("names")
        server = TinyServer()
        self.addCleanup(server.stop)
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        done = subprocess.run([COMMAND, "sync", self.runs], stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=60 * rig.SLACK, env=rig.environment(MLFLOW_TRACKING_URI=server.url))
        self.assertEqual((done.returncode, server.statuses), (1, ["FINISHED"]), done.stderr)

    # Runs of different sizes

    def test_scaling_rejects_incomparable_runs_and_reports_the_cure(self):
        self.takt("scaling", status=2)
        self.takt("scaling", "--weak", "--strong", self.runs, status=2)
        self.takt("scaling", "--json", "--csv", self.runs, status=2)
        self.run_program("names", TAKT_RUN_ID="one")
        self.assertIn("counts no samples", self.takt("scaling", self.runs, status=1).stderr)
        self.assertIn("there is no directory", self.takt("scaling", self.runs / "none", status=1).stderr)

    # Time line

    def test_predictions_are_compared_with_a_runs_measurements(self):
        directory = self.scratch / "run" / "rank-0-0-1"
        directory.mkdir(parents=True)
        directory.joinpath("results.csv").write_text("name,latency_ms,energy_j,runs\nnet b8,4,2,30\nnet b16,10,,30\nother,1,1,30\n")
        predictions = self.scratch / "predictions.csv"
        predictions.write_text("latency_ms,name\n5,net b8\n9,net b16\n1,unknown\n")
        run = self.takt("predict-check", predictions, directory.parent)
        self.assertIn("net b8             4          5  25.00 %", run.stdout)
        self.assertIn("latency_ms: mean absolute percentage error 17.50 %, no interval: 3 models are needed, n = 2", run.stdout)
        self.assertIn("1 predicted and not measured: unknown", run.stderr)
        self.assertIn("1 measured and not predicted: other", run.stderr)
        document = json.loads(self.takt("predict-check", "--json", predictions, directory.parent).stdout)
        self.assertEqual(document["latency_ms"]["mape"], 0.175)
        self.assertIsNone(document["energy_j"]["mape"])
        drawn = self.takt("predict-check", "--color", "always", predictions, directory.parent).stdout
        self.assertTrue(drawn.startswith("\x1b[1mlatency_ms"), drawn)
        narrow = self.takt("predict-check", "--width", 40, predictions, directory.parent).stdout
        self.assertLessEqual(max(map(len, narrow.splitlines())), 40)
        predictions.write_text("name,latency_ms\nnet b8,4\nnet b16,\x1b[2J\n")
        run = self.takt("predict-check", predictions, directory.parent, status=1)
        self.assertIn("predictions.csv, line 3: latency_ms is '?[2J', which is not a number >= 0", run.stderr)
        directory.joinpath("results.csv").unlink()
        directory.joinpath("results.csv").symlink_to(predictions)
        self.assertIn("a symbolic link", self.takt("predict-check", predictions, directory.parent, status=1).stderr)

    def write_results(self, rank, batches):
        """Writes results.json and results.csv of "net, batch N" with a latency and a memory that no formula gives exactly."""
        chance = random.Random(7)
        directory = self.scratch / "run" / rank
        directory.mkdir(parents=True)
        costs = {batch: (0.3 * batch ** 0.8 * chance.uniform(0.9, 1.1), int(1e9 + 3e7 * batch * chance.uniform(0.9, 1.1)))
                 for batch in batches}
        measurements = [{"name": f"net, batch {batch}", "features": [{"name": "batch", "value": batch}, {"name": "size", "value": 224}],
                         "host": {"n": 30, "mean_ns": 1e6 * ms}, "memory_bytes": memory}
                        for batch, (ms, memory) in costs.items()]
        directory.joinpath("results.json").write_text(json.dumps({"schema": "takt-results/1", "measurements": measurements}))
        directory.joinpath("results.csv").write_text("name,latency_ms,memory_mb\n" + "".join(
            f'"net, batch {batch}",{ms!r},{memory / 1e6!r}\n' for batch, (ms, memory) in costs.items()))
        return costs

    @staticmethod
    def interpolated(costs, low, high, batch):
        """The latency and memory at `batch` from two others."""
        (low_ms, low_bytes), (high_ms, high_bytes) = costs[low], costs[high]
        share = (math.log(batch) - math.log(low)) / (math.log(high) - math.log(low))
        ms = math.exp((1 - share) * math.log(low_ms) + share * math.log(high_ms))
        share = (batch - low) / (high - low)
        return ms, ((1 - share) * low_bytes + share * high_bytes) / 1e6

    def test_predictions_are_those_recomputed_and_checked_against_a_later_run(self):
        sizes = [1, 2, 4, 8, 16, 32, 64]
        costs = self.write_results("rank-0-0-1", sizes)
        run = self.scratch / "run"
        document = json.loads(self.takt("predict", run, "--at", "batch=24", "--at", "batch=3,size=224", "--json").stdout)
        self.assertEqual(document["schema"], "takt-predict/1")
        inner = [(self.interpolated(costs, sizes[at - 1], sizes[at + 1], sizes[at]), costs[sizes[at]]) for at in range(1, 6)]
        factors = [math.exp(max(abs(math.log(found[cost] / (measured[cost] / (1e6 if cost else 1)))) for found, measured in inner))
                   for cost in (0, 1)]
        for prediction, (batch, low, high) in zip(document["predictions"], ((24, 16, 32), (3, 2, 4))):
            self.assertEqual(prediction["name"], f"net, batch {batch}")
            self.assertEqual(prediction["between"], [f"net, batch {low}", f"net, batch {high}"])
            self.assertEqual((prediction["min"], prediction["max"], prediction["measured"]), (1, 64, 7))
            self.assertIsNone(prediction["energy_j"])
            for cost, amount, factor in zip(("latency_ms", "memory_mb"), self.interpolated(costs, low, high, batch), factors):
                found = prediction[cost]
                self.assertAlmostEqual(found["predicted"], amount, delta=1e-9 * amount)
                self.assertAlmostEqual(found["low"], amount / factor, delta=1e-9 * amount)
                self.assertAlmostEqual(found["high"], amount * factor, delta=1e-9 * amount)
                self.assertEqual(found["left_out"], 5)
        refused = self.takt("predict", run, "--at", "batch=65", status=1)
        self.assertIn("batch = 65 is outside the measured range, 1 to 64", refused.stderr)
        self.assertEqual(refused.stdout, "")
        self.takt("predict", run, status=2)
        self.assertIn("is not NAME=NUMBER", self.takt("predict", run, "--at", "batch", status=2).stderr)
        # A later run measures what was predicted.
        predictions = self.scratch / "predictions.csv"
        predictions.write_text(self.takt("predict", run, "--at", "batch=24", "--at", "batch=3", "--csv").stdout)
        later = self.scratch / "later" / "rank-0-0-1"
        later.mkdir(parents=True)
        later.joinpath("results.csv").write_text('name,latency_ms\n"net, batch 24",4\n"net, batch 3",0.7\n')
        checked = json.loads(self.takt("predict-check", "--json", predictions, later.parent).stdout)
        found = [self.interpolated(costs, 16, 32, 24)[0], self.interpolated(costs, 2, 4, 3)[0]]
        self.assertAlmostEqual(checked["latency_ms"]["mape"], (abs(found[0] - 4) / 4 + abs(found[1] - 0.7) / 0.7) / 2)
        # The command uses one of several ranks and names it.
        self.write_results("rank-10-0-3", [1, 100])
        self.write_results("rank-2-1-2", [1, 1000])
        several = self.takt("predict", run, "--at", "batch=900")
        self.assertIn("using results.json of rank-2-1-2, one of 3 ranks' directories", several.stderr)
        self.assertIn("no interval", several.stdout)
        several = self.takt("predict-check", predictions, run, status=1)
        self.assertIn("using results.csv of rank-2-1-2", several.stderr)

    def test_trace_has_the_steps_and_what_was_open(self):
        started = self.start_until_ready("hang", TAKT_PERIOD_MS=10)
        self.wait_for(lambda: "Epoch > Batch > Comm" in self.takt_out("report", self.runs), "the region in the journal")
        os.kill(started.process.pid, signal.SIGKILL)
        started.end(60)
        file = self.scratch / "trace.json"
        self.takt("trace", self.runs, "-o", file)
        trace = json.loads(file.read_text(encoding="utf-8"))
        slices = [each for each in trace["traceEvents"] if each["ph"] == "X"]
        self.assertEqual([each["name"] for each in slices],
                         ["Batch 0", "Batch 1", "Batch 2", "Epoch (open)", "Batch (open)", "Comm (open)"])
        self.assertTrue(all(each["dur"] > 0 for each in slices))
        rows = list(csv.DictReader(io.StringIO(self.takt("report", "--steps", self.runs).stdout)))
        self.assertEqual([round(each["ts"] * 1000) for each in slices[:3]],
                         [int(row["begin_ns"]) for row in rows if row["path"] == "Batch/IO"])

    def test_trace_without_a_file_is_named_after_the_run(self):
        for rank in (0, 1):
            self.run_program("names", TAKT_RUN_ID="two", TAKT_RANK=rank, TAKT_WORLD_SIZE=2)
        for words, name in (([self.runs], "command-two.trace.json"), ([self.directories()[1]], "command-two.trace.json"),
                            ([self.runs, "--rank", 1], "command-two.rank-1.trace.json")):
            done = self.takt("trace", *words)
            self.assertTrue(done.stdout.startswith(f"{name}: "), done.stdout)
            self.assertIn("traceEvents", json.loads((self.scratch / name).read_text(encoding="utf-8")))
        self.takt("merge", self.runs, "-o", "all.tar")
        self.assertTrue(self.takt("trace", "all.tar").stdout.startswith("command-two.trace.json: "))
        self.takt("trace", ".", cwd=self.directories()[0])
        self.assertTrue((self.directories()[0] / "command-two.trace.json").exists())
        odd = self.runs / ".o\x1b[2J"
        self.directories()[0].parent.rename(odd)
        self.assertTrue(self.takt("trace", odd).stdout.startswith("run.o__2J.trace.json: "))

    def test_trace_replaces_a_time_line_of_takts_and_nothing_else(self):
        self.run_program("names")
        file = self.scratch / "file"
        file.touch()
        for _ in range(2):
            self.takt("trace", self.runs, "-o", file)
        pipe, directory, link, other = (self.scratch / name for name in ("pipe", "directory", "link", "other"))
        os.mkfifo(pipe)
        directory.mkdir()
        link.symlink_to(file)
        other.write_text("mine", encoding="utf-8")
        for each in (pipe, directory, link, other):
            with self.subTest(each.name):
                done = self.takt("trace", self.runs, "-o", each, status=1)
                self.assertIn("is not a time line of Takt: it is not replaced; name another file with -o", done.stderr)
        self.assertEqual(other.read_text(encoding="utf-8"), "mine")
        self.assertTrue(pipe.is_fifo() and link.is_symlink() and directory.is_dir())

    def test_trace_of_several_ranks_has_a_process_for_each(self):
        for rank in (0, 2):
            self.run_program("names", TAKT_RUN_ID="two", TAKT_RANK=rank, TAKT_WORLD_SIZE=3)
        file = self.scratch / "trace.json"
        done = self.takt("trace", self.runs, "-o", file)
        self.assertIn("of 2 ranks", done.stdout)
        self.assertNotIn("clock", done.stderr)  # no clock offsets on a single host
        self.assertIn("1 of 3 ranks have no journal", done.stderr)
        trace = json.loads(file.read_text(encoding="utf-8"))
        names = [each["args"]["name"] for each in trace["traceEvents"] if each["name"] == "process_name"]
        self.assertEqual([each.split(" (")[0] for each in names], ["rank 0", "rank 2"])
        self.assertEqual((trace["otherData"]["clock_of_rank"], trace["otherData"]["missing_ranks"]), (0, 1))
        self.takt("trace", self.runs, "--rank", 2, "-o", file)
        self.assertEqual(json.loads(file.read_text(encoding="utf-8"))["otherData"]["clock_of_rank"], 2)
        for words in ([], ["--rank", 0]):
            failed = self.takt("trace", self.runs, *words, "-o", self.scratch / "no" / "x", status=1)
            self.assertIn("cannot write the time line", failed.stderr)


def path_of(summary, path):
    return next(each for each in summary["paths"] if each["path"] == path)


class TinyServer(loopback.LoopbackServer):
    """The parts of MLflow that one run needs. Keeps the points."""

    def __init__(self):
        self.points = []
        self.statuses = []
        super().__init__(self.answer)

    def answer(self, _method, path, _headers, body):
        request = json.loads(body) if path.startswith("/api/2.0/mlflow/runs/") and body else {}
        self.points += [json.dumps(each) for each in request.get("metrics", [])]
        self.statuses += [request["status"]] if "status" in request else []
        reply = {"run": {"info": {"run_id": "r", "artifact_uri": "mlflow-artifacts:/0/r"}}}
        return 200, "application/json", json.dumps(reply).encode()


def read_terminal(terminal):
    """Reads until the end."""
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError as error:
        if error.errno != errno.EIO:  # EIO: closed by the child
            raise
    return shown.decode()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


if __name__ == "__main__":
    rig.main()
