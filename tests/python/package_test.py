# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The installed Python package: it records the run that C++ records, and what threads, generators, coroutines, forks and
misuse do is what a reader expects."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
sys.path.insert(0, str(HERE.parent / "c"))
import c_test  # noqa: E402  pylint: disable=wrong-import-position
import rig  # noqa: E402  pylint: disable=wrong-import-position

CPP = None


class Case(rig.Case):
    def python(self, code, *arguments, **how):
        """Runs a program."""
        rig.PROGRAM = sys.executable
        file = self.scratch / "program.py"
        file.write_text(textwrap.dedent(code), encoding="utf-8")
        return self.run_program(file, *arguments, **{"TAKT_TABLE": 0, "timeout": 120, **how})

    def paths(self):
        return {each["path"]: each for each in self.summary()["paths"]}

    def counts(self):
        return {path: each["host"]["n"] for path, each in self.paths().items()}


class Tree(c_test.Same):
    def test_the_trees_are_equal(self):
        expected = self.report(CPP)
        self.assertEqual(self.report(sys.executable, HERE / "same.py"), expected)


class Regions(Case):
    def test_a_region_is_timed_however_it_is_written(self):
        self.python("""
            import takt
            with takt.Session("s"):
                held = takt.region("held", kind="io")
                for _ in range(3):
                    with held:
                        with takt.region("inner") as inner:
                            inner.items(2)
                    with takt.region(held): pass
                held.begin(); held.end()
                @takt.region
                def work(depth):
                    return depth if depth == 0 else work(depth - 1)
                work(2)
                @takt.region("named")
                def other(): "doc"
                other()
                assert other.__name__ == "other" and other.__doc__ == "doc"
                assert (held.name, held.kind, repr(held)) == ("held", "io", "takt.region('held')")
            """)
        self.assertEqual(self.counts(), {"held": 7, "held/inner": 3, "work": 1, "work/work": 1, "work/work/work": 1, "named": 1})
        self.assertEqual(self.paths()["held/inner"]["items"], 6)
        self.assertEqual(self.paths()["held"]["kind"], "io")
        self.assertEqual(self.summary()["losses"], [])

    def test_an_exception_ends_regions_and_marks_the_run(self):
        ended = self.python("""
            import takt
            with takt.Session("s"):
                try:
                    with takt.Forward: raise ValueError
                except ValueError:
                    pass
                with takt.Backward: raise KeyError("x")
            """, status=1)
        self.assertIn("KeyError", ended.err)
        self.assertEqual(self.counts(), {"Forward": 1, "Backward": 1})
        self.assertTrue(self.summary()["failed"])
        self.assertEqual(self.summary()["open"], [])

    def test_threads_share_a_region_object(self):
        self.python("""
            import threading, takt
            barrier = threading.Barrier(4)
            def run():
                barrier.wait()
                for _ in range(2000):
                    with takt.Forward, takt.Forward:
                        with takt.IO: pass
            with takt.Session("s"):
                threads = [threading.Thread(target=run) for _ in range(4)]
                for each in threads: each.start()
                for each in threads: each.join()
            """)
        self.assertEqual(self.counts(), {"Forward": 8000, "Forward/Forward": 8000, "Forward/Forward/IO": 8000})
        self.assertEqual(self.summary()["losses"], [])

    def test_a_generator_has_the_time_of_its_own_work(self):
        self.python("""
            import takt
            @takt.region("produce")
            def produce(n):
                got = 0
                for i in range(n):
                    try:
                        got += (yield i) or 0
                    except ValueError:
                        got += 100
                return got
            def consume():
                got = yield from produce(3)
                assert got == 5, got
            with takt.Session("s"):
                for i in produce(5):
                    with takt.Forward: pass
                inner = consume()
                assert next(inner) == 0 and inner.send(5) == 1 and inner.send(None) == 2
                try: inner.send(None)
                except StopIteration: pass
                inner = produce(2)
                next(inner); inner.throw(ValueError()); inner.close()
                left = produce(2)
                next(left)
                del left  # ends it
            """)
        # 5 values and the end; 3 and the end; 2 and the close; 1 and the close.
        self.assertEqual(self.counts(), {"produce": 6 + 4 + 3 + 2, "Forward": 5})
        self.assertEqual(self.summary()["open"], [])

    def test_a_with_around_a_yield_is_open_meanwhile(self):
        self.python("""
            import takt
            def batches():
                for i in range(3):
                    with takt.region("held open"):
                        yield i
            with takt.Session("s"):
                for _ in batches():
                    with takt.Forward: pass
                a, b = batches(), batches()
                next(a); next(b); a.close(); b.close()
            """)
        counts = self.counts()
        self.assertEqual(counts["held open/Forward"], 3)
        self.assertEqual(sum(n for path, n in counts.items() if path.endswith("held open")), 5)

    def test_spans_of_coroutines_overlap(self):
        self.python("""
            import asyncio, takt
            @takt.region
            async def fetch(seconds):
                with takt.region("parse"): pass
                await asyncio.sleep(seconds)
            async def main():
                async def plain():
                    with takt.span("plain"): await asyncio.sleep(0.05)
                await asyncio.gather(fetch(0.05), fetch(0.05), plain(), plain())
            with takt.Session("s"):
                asyncio.run(main())
                try:
                    @takt.region
                    async def numbers(): yield 1
                    raise SystemExit(3)
                except TypeError: pass
            """)
        self.assertEqual(self.counts(), {"parse": 2, "fetch": 2, "plain": 2})
        for path in ("fetch", "plain"):
            self.assertGreater(self.paths()[path]["host"]["min_ns"], 40e6)

    def test_a_million_names_and_odd_ones(self):
        ended = self.python("""
            import takt
            with takt.Session("s", exit_ms=60000):
                for i in range(1_000_000):
                    with takt.region(f"name {i}"): pass
                for bad in (1, None, b"x"):
                    try: takt.region(bad); raise SystemExit(3)
                    except TypeError: pass
                for call in (lambda: takt.region("a\\0b"), lambda: takt.region("a", kind="x"),
                             lambda: takt.region("a", every=0), lambda: takt.record("a", float("nan"))):
                    try: call(); raise SystemExit(4)
                    except ValueError: pass
                for call in (lambda: takt.region("a", k=1), lambda: takt.region(), lambda: takt.region("a", stream=1, every=2),
                             lambda: takt.region("a", stream="x")):
                    try: call(); raise SystemExit(5)
                    except TypeError: pass
            """)
        self.assertEqual(len(ended.err.splitlines()), 1, ended.err)
        self.assertEqual(sum(self.counts().values()), 1_000_000)

    def test_unbalanced_ends_are_reported(self):
        ended = self.python("""
            import takt
            with takt.Session("s"):
                region = takt.region("work")
                region.end()
                region.begin(); region.end(); region.end(); region.items(1); region.lap("next")
                region.begin()
                takt.region("kept").begin()
            """)
        self.assertIn("takt_begin()", ended.err)
        self.assertEqual(self.counts(), {"work": 1, "work/kept": 0})
        self.assertEqual(sorted(rig.open_paths(self.summary())), ["work", "work/kept"])

    def test_begin_and_end_by_name(self):
        self.python("""
            import takt
            with takt.Session("s"):
                for _ in range(3):
                    takt.region("decode").begin()
                    takt.region("inner").begin()
                    takt.region("inner").end()
                    takt.region("decode").end()
                region = takt.region("first").begin()
                region.lap("second")
                takt.region("second").end()
                with takt.Batch: pass
            """)
        self.assertEqual(self.counts(), {"decode": 3, "decode/inner": 3, "first": 1, "second": 1, "Batch": 1})
        self.assertEqual((self.summary()["losses"], self.summary()["open"]), ([], []))

    def test_copies_and_decorated_objects(self):
        self.python("""
            import copy, pickle, takt
            held = takt.region("held", kind="io", every=2).begin()
            for other in (copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
                assert (other.name, other.kind) == ("held", "io")
                with other: pass
            held.end()
            assert "span" in repr(copy.copy(takt.span("x")))
            for bad in (staticmethod(print), classmethod(print), property(print), type("C", (), {}), 5):
                for decorate in (takt.region, takt.region("x")):
                    try: decorate(bad); raise SystemExit(3)
                    except TypeError as error: assert "decorates" in str(error), error
            """)

    def test_an_end_on_another_thread_counts(self):
        self.python("""
            import threading, takt
            with takt.Session("s"):
                region = takt.region("handed over").begin()
                thread = threading.Thread(target=region.end)
                thread.start(); thread.join()
            """)
        self.assertEqual(self.counts(), {"handed over": 1})
        self.assertEqual([each["what"] for each in self.summary()["losses"]], ["ended_on_another_thread"])

    def test_a_stream_without_a_gpu_times_the_host(self):
        self.python("""
            import takt
            class CupyStream: ptr = 16
            with takt.Session("s"):
                with takt.region("on a stream", stream=0): pass
                with takt.region("on a stream", stream=CupyStream()): pass
            """)
        self.assertEqual(self.counts(), {"on a stream": 2})


class Runs(Case):
    def test_results_options_and_errors(self):
        self.python("""
            import os, pathlib, takt
            for options in ({"nonsense": 1}, {"warmup": "x"}, {"trackers": "nothing"}):
                try: takt.Session("s", **options); raise SystemExit(3)
                except ValueError: pass
            with takt.Session("s", tags={"a": "b"}, csv_mb=1) as session:
                takt.metric("m", 1, step=3); takt.metric("m", 1, 3)
                for call in (lambda: takt.metric("m", 1, other=3), lambda: takt.metric("m", step=3)):
                    try: call(); raise SystemExit(5)
                    except TypeError: pass
                try: takt.Session("t"); raise SystemExit(4)
                except RuntimeError as error: assert "with takt.Session" in str(error)
                session.param("on", True); session.param("rate", 0.5)
                with takt.Batch as batch: batch.items(3)
                known = session.snapshot()
                assert known["params"] == {"on": "1", "rate": "0.5"}, known["params"]
                assert [each["path"] for each in known["paths"]] == ["Batch"]
                assert pathlib.Path(session.directory).is_dir() and session.rank == 0 and session.world_size == 1
            assert session.close()
            class Bad:
                def __str__(self): raise KeyError
            for bad in ({"params": {"a": Bad()}}, {"params": [1]}, {"tags": {"a": Bad()}}):
                try: takt.Session("bad", files=False, **bad); raise SystemExit(6)
                except (KeyError, TypeError): pass
            with takt.Session("again"): pass
            """)
        names = sorted(self.summary(each)["run"]["name"] for each in self.directories())
        self.assertEqual(names, ["again", "s"])

    def test_the_tables_text_follows_the_programs(self):
        ended = self.python("""
            import takt
            with takt.Session("s") as session:
                print("before")
                with takt.Batch: pass
            print("after")
            """, TAKT_TABLE=None)
        self.assertLess(ended.out.index("before"), ended.out.index("Takt: s"))
        self.assertLess(ended.out.index("Takt: s"), ended.out.index("after"))

    def test_nothing_is_said_about_objects_that_the_exit_finds(self):
        ended = self.python("""
            import gc, sys, threading, time, weakref, takt
            class Broken:
                def write(self, text): return len(text)
                def flush(self): raise RuntimeError
            session = takt.Session("s")
            class Trainer:
                def __init__(self): self.batches = takt.trials(session, self)
                def __iter__(self): return iter([1, 2])
            trainer = Trainer()
            gone = weakref.ref(trainer)
            del trainer
            gc.collect()
            assert gone() is None
            ready = threading.Event()
            def heartbeat():
                while True: ready.set()
            threading.Thread(target=heartbeat, daemon=True).start()
            ready.wait()
            sys.stdout = Broken()
            assert session.close() and session.close()
            sys.stdout = sys.__stdout__
            """)
        self.assertEqual(ended.err, "")

    def test_a_run_that_is_never_closed_is_closed_at_exit(self):
        self.python("import takt\ntakt.Session('s')\nwith takt.Forward: pass\n")
        self.assertTrue(self.summary()["finished"])
        self.assertFalse(self.summary()["failed"])
        self.assertEqual(self.counts(), {"Forward": 1})

    def test_a_run_without_end_fails_with_the_program(self):
        self.python("import takt\nsession = takt.Session('s')\nraise ValueError\n", status=1)
        self.assertTrue(self.summary()["finished"])
        self.assertTrue(self.summary()["failed"])

    def test_an_interrupted_program_closes_its_run(self):
        self.python("""
            import os, signal, takt
            session = takt.Session("s")
            with takt.Forward: os.kill(os.getpid(), signal.SIGINT)
            """, status=-2)
        self.assertTrue(self.summary()["finished"])
        self.assertTrue(self.summary()["failed"])
        self.assertEqual(self.counts(), {"Forward": 1})

    def test_the_interpreter_ends_while_threads_record(self):
        self.python("""
            import threading, takt
            session = takt.Session("s")
            started = threading.Event()
            def run():
                while True:
                    with takt.Forward, takt.region("inner"): started.set()
            for _ in range(3): threading.Thread(target=run, daemon=True).start()
            started.wait()
            """)
        self.assertTrue(self.summary()["finished"])

    def test_forked_children_record_nothing_unless_they_open_a_run(self):
        self.python("""
            import multiprocessing, multiprocessing.resource_tracker, os, takt
            def work(number):
                with takt.region("in the child"): return number
            def own(_):
                with takt.Session("child"):
                    with takt.region("own"): pass
            if __name__ == "__main__":
                session = takt.Session("parent")
                with takt.Batch:
                    for method in ("fork", "spawn"):
                        with multiprocessing.get_context(method).Pool(2) as pool:
                            assert pool.map(work, range(8)) == list(range(8))
                    with multiprocessing.get_context("fork").Pool(1) as pool: pool.map(own, [0])
                    pid = os.fork()
                    if pid == 0:
                        with takt.Forward: pass
                        session.close()
                        os._exit(0)
                    assert os.waitpid(pid, 0)[1] == 0
                session.close()
                multiprocessing.resource_tracker._resource_tracker._stop()  # of spawn; would end later than this test
            """)
        runs = {self.summary(each)["run"]["name"]: self.summary(each) for each in self.directories()}
        self.assertEqual([each["path"] for each in runs["parent"]["paths"]], ["Batch"])
        self.assertEqual([each["path"] for each in runs["child"]["paths"]], ["own"])
        self.assertEqual(len(runs), 2)

    def test_trackers_that_write_files(self):
        self.python("""
            import takt
            with takt.Session("s", trackers=["tensorboard", "wandb"]):
                with takt.Batch: pass
            """, WANDB_MODE="offline", WANDB_DIR=self.scratch, TAKT_TENSORBOARD_DIR=self.scratch / "tb")
        self.assertTrue(list(self.scratch.glob("tb/**/events.*")))
        self.assertTrue(list(self.scratch.glob("**/*.wandb")))

    def test_pandas(self):
        if importlib.util.find_spec("pandas") is None:
            self.skipTest("no pandas")
        self.python("""
            import takt
            for _ in range(4):
                with takt.Forward, takt.IO: pass
            frame = takt.snapshot().to_pandas()
            assert list(frame.index) == ["Forward", "Forward/IO"] and list(frame["host_n"]) == [4, 4], frame
            """)


class Trials(Case):
    LOOP = """
        import sys, time, takt
        def loader():
            for i in range(40):
                until = time.perf_counter() + 0.002
                while time.perf_counter() < until: pass
                yield [i] * 8
        class Again:
            def __iter__(self): return loader()
        with takt.Session("s") as session:
            for batch in takt.trials(session, Again() if "again" in sys.argv else loader(), steps=20, trials=3):
                with takt.Batch as step:
                    step.items(len(batch))
            print(takt.snapshot()["params"])
        """

    def test_without_trials_it_is_the_loop_with_io(self):
        self.python(self.LOOP)
        self.assertEqual(self.counts(), {"IO": 41, "Batch": 40})

    def test_trials_name_the_loader(self):
        ended = self.python(self.LOOP, "again", TAKT_TRIALS="all", TAKT_TABLE=None)
        self.assertRegex(ended.out, r"(?m)^SYNTHETIC .*\n^IO .*\n^FULL ")
        self.assertIn("input-bound", ended.out)
        self.assertNotIn("Batch", self.counts())

    def test_a_generator_cannot_start_again(self):
        ended = self.python(self.LOOP, TAKT_TRIALS="io,full", TAKT_TABLE=None)
        self.assertIn("the trials were cut off", ended.err)

    def test_errors_and_a_break(self):
        self.python("""
            import takt
            with takt.Session("s") as session:
                try: takt.trials(session, [1], nonsense=1); raise SystemExit(3)
                except TypeError: pass
                for bad in ((5, {}), (None, {}), ([1], {"steps": "5"}), ([1], {"items": len}), ([1], {"io": "yes"})):
                    try: takt.trials(session, bad[0], **bad[1]); raise SystemExit(3)
                    except TypeError: pass
                try:
                    for _ in takt.trials(session, [1, 2], io=True, steps=0): pass
                    raise SystemExit(4)
                except RuntimeError: pass
                def failing():
                    yield 1
                    raise KeyError("loader")
                try:
                    for _ in takt.trials(session, failing()): pass
                    raise SystemExit(5)
                except KeyError: pass
                for _ in takt.trials(session, [1, 2], full=True): break
                with takt.Forward: pass
            """)
        self.assertIn("Forward", self.counts())

    def test_measure(self):
        self.python("""
            import takt
            with takt.Session("s") as session:
                calls = []
                result = takt.measure(session, "net", lambda: calls.append(1), warmup=2, runs=6, items=4, features={"batch": 4})
                assert len(calls) == 8 and result["host"]["n"] == 6 and result["features"] == {"batch": 4.0}
                assert result["stream"] is None and result["host"]["low_ns"] <= result["host"]["median_ns"], result
                def fails(): raise KeyError
                try: takt.measure(session, "fails", fails); raise SystemExit(3)
                except KeyError: pass
                try: takt.measure(session, "none", print, runs=0); raise SystemExit(4)
                except RuntimeError: pass
            """)
        self.assertTrue((self.directory() / "results.json").is_file())


class Page(Case):
    def run_file(self, name):
        rig.PROGRAM = sys.executable
        return self.run_program(HERE / name, timeout=120)

    def test_the_first_program(self):
        ended = self.run_file("train.py")
        self.assertIn("Batch on main: ", ended.out)
        counts = self.counts()
        self.assertEqual(counts["Batch/Forward"], counts["Batch"])
        self.assertEqual(counts["Batch/Backward"], counts["Batch"])

    def test_the_program_with_pytorch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("no PyTorch")
        self.run_file("train_torch.py")
        self.assertEqual(self.counts()["Batch/Forward/0"], 100)


class Package(Case):
    def run_here(self, *command, **how):
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              cwd=self.scratch, **how)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_command(self):
        self.python("import takt\nwith takt.Session('s'):\n  with takt.Forward: pass\n")
        command = pathlib.Path(sys.executable).with_name("takt")
        self.assertIn("Forward", self.run_here(command, "report", self.directory()))
        self.assertIn("Forward", self.run_here(sys.executable, "-m", "takt", "report", self.directory()))

    def test_a_library_in_cpp_and_python_share_one_tree(self):
        (self.scratch / "CMakeLists.txt").write_text("""
            cmake_minimum_required(VERSION 3.22)
            project(physics LANGUAGES CXX)
            find_package(takt REQUIRED)
            add_library(physics SHARED physics.cpp)
            target_link_libraries(physics PRIVATE takt::takt)
            """, encoding="utf-8")
        (self.scratch / "physics.cpp").write_text("""
            #include <takt/scope.hpp>
            extern "C" void advance() {
              TAKT_SCOPE("advance");
              TAKT_SCOPE("solve");
            }
            """, encoding="utf-8")
        prefix = self.run_here(sys.executable, "-m", "takt", "--prefix").strip()
        self.run_here("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        self.run_here("cmake", "--build", "build")
        for first in ("library", "takt"):  # whichever is loaded first
            with self.subTest(first):
                shutil.rmtree(self.runs, ignore_errors=True)
                self.python("""
                    import ctypes, sys
                    physics = ctypes.CDLL(sys.argv[1]) if sys.argv[2] == "library" else None
                    import takt
                    physics = physics or ctypes.CDLL(sys.argv[1])
                    with takt.Session("s"):
                        for _ in range(3):
                            with takt.Batch, takt.Forward: physics.advance()
                    """, self.scratch / "build" / "libphysics.so", first)
                self.assertEqual(self.counts()["Batch/Forward/advance/solve"], 3)

    def test_types(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("no mypy")
        file = self.scratch / "typed.py"
        file.write_text((HERE / "typed.py").read_text(encoding="utf-8"), encoding="utf-8")
        self.run_here(sys.executable, "-m", "mypy", "--strict", file)

    def test_the_commit_is_that_of_the_script(self):
        self.run_here("git", "init", "-q", ".")
        self.run_here("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
        commit = self.run_here("git", "rev-parse", "HEAD").strip()
        self.python("import takt\nwith takt.Session('s'): pass\n", prepare=lambda: os.chdir("/"))
        self.assertEqual(self.summary()["machine"]["commit"], commit)


if __name__ == "__main__":
    CPP = sys.argv.pop(1)
    unittest.main(verbosity=2)
