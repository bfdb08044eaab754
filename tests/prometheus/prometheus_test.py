# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs of two ranks, scraped by node_exporter and Prometheus, and the queries of the dashboard.

Needs Debian's prometheus and prometheus-node-exporter; exits with 77 without them. There is no Grafana here: each query
of exporters/grafana/jobs.json is run against the real Prometheus, and the layout is checked as JSON.

prometheus_test.py <program>"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import rig  # noqa: E402

SERVER, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
NODE_EXPORTER = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
DASHBOARD = pathlib.Path(__file__).parents[2] / "exporters" / "grafana" / "jobs.json"
WINDOW, FLOOR = "10s", 6
MS = {"fast": (("1", "7", "2"), ("1", "7", "2")), "slow": (("4", "16", "40"), ("4", "48", "8"))}  # IO, computing, comm
ODD = "quote\" backslash\\ line\nfeed \N{REPLACEMENT CHARACTER}"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def eventually(check, *arguments, seconds=120):
    """Repeats a check until it passes: a scrape that times out on a busy machine hides all series for a while."""
    end = time.monotonic() + seconds * rig.SLACK
    while True:
        try:
            return check(*arguments)
        except AssertionError:
            if time.monotonic() > end:
                raise
        threading.Event().wait(0.2)


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return reply.read().decode()
    except (urllib.error.URLError, OSError) as error:
        raise AssertionError(f"{url}: {error}") from error


class Servers:
    """A node_exporter that reads `metrics`, and a Prometheus that scrapes it every two seconds."""

    def __init__(self, directory, metrics):
        self.exporter, self.url = f"127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        config = directory / "prometheus.yml"
        config.write_text("global: {scrape_interval: 2s, scrape_timeout: 2s}\nscrape_configs:\n"
                          f"- {{job_name: node, static_configs: [{{targets: ['{self.exporter}']}}]}}\n", encoding="utf-8")
        self.log = open(directory / "log", "wb+")
        self.children = [self.start(NODE_EXPORTER, "--collector.disable-defaults", "--collector.textfile",
                                    f"--collector.textfile.directory={metrics}", f"--web.listen-address={self.exporter}"),
                         self.start(SERVER, f"--config.file={config}", f"--storage.tsdb.path={directory / 'data'}",
                                    f"--web.listen-address={self.url[7:]}")]
        for url in (f"http://{self.exporter}/metrics", self.url + "/-/ready"):
            eventually(get, url)

    def start(self, *command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                preexec_fn=lambda: rig.libc.prctl(rig.PR_SET_PDEATHSIG, signal.SIGKILL))

    def words(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8", errors="replace")[-4000:]

    def stop(self):
        for child in self.children:
            child.kill()
            child.wait()
        self.log.close()

    def query(self, expression):
        """Returns the rows of an instant query: labels and value."""
        reply = json.loads(get(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"))
        if reply["status"] != "success":
            raise AssertionError(f"{expression}: {reply}")
        return [({name: text for name, text in row["metric"].items() if name not in ("instance", "job")}, float(row["value"][1]))
                for row in reply["data"]["result"]]


def expressions():
    """Returns the queries of each panel by title, with Grafana's variables replaced."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return {panel["title"]: [target["expr"].replace("$__rate_interval", WINDOW).replace("$stall_floor", str(FLOOR))
                             for target in panel["targets"]] for panel in panels}


class PrometheusTest(rig.Case):
    def setUp(self):
        super().setUp()
        self.metrics, self.place = self.scratch / "metrics", self.scratch / "place"
        for each in (self.metrics, self.place):
            each.mkdir()
        self.servers = Servers(self.place, self.metrics)
        self.addCleanup(self.servers.stop)
        self.jobs = {}
        for job, ranks in MS.items():
            for rank, ms in enumerate(ranks):
                self.jobs[job, rank] = self.start(job, *ms, str(self.place), TAKT_PROMETHEUS_DIR=self.metrics, TAKT_RANK=rank,
                                                  TAKT_WORLD_SIZE=2, TAKT_RUN_ID="1", TAKT_PERIOD_MS=200)
        self.queries = expressions()

    def panel(self, title, number=0):
        self.assertNotIn("$", self.queries[title][number])
        return self.servers.query(self.queries[title][number])

    def by_run(self, title):
        return {labels["run"]: value for labels, value in self.panel(title)}

    def summaries(self, run):
        return {path.parent.name.split("-")[1]: json.loads(path.read_text(encoding="utf-8"))
                for path in (self.runs / run).glob("rank-*/summary.json")}

    def values(self, name, run, rank):
        return self.servers.query(f'{name}{{run="{run}",rank="{rank}"}}')

    def value(self, name, run, rank):
        rows = self.values(name, run, rank)
        self.assertEqual(len(rows), 1, name)
        return rows[0][1]

    def test_dashboard_shows_the_jobs_and_prometheus_has_the_figures_of_summary_json(self):
        eventually(self.check_running)
        (self.place / "fast.end").touch()
        for rank in (0, 1):
            self.assertEqual(self.jobs["fast", rank].end(60 * rig.SLACK).status, 0)
        self.kill("slow", 0)
        eventually(self.check_finished)
        eventually(self.check_stalled, "0")
        (self.place / "slow.hang").touch()
        eventually(self.check_stalled, "01")
        eventually(self.check_lives, "1")
        eventually(self.check_servers)
        self.check_files()
        self.kill("slow", 1)

    def kill(self, job, rank):
        self.jobs[job, rank].process.kill()
        self.jobs[job, rank].process.communicate()

    def check_stalled(self, ranks):
        self.assertEqual({(labels["run"], labels["rank"]) for labels, _ in self.panel("Stalled ranks")},
                         {("slow-1", rank) for rank in ranks})

    def check_lives(self, ranks):
        rows = self.servers.query('takt_update_timestamp_seconds{run="slow-1"} > time() - 6')
        self.assertEqual(sorted(labels["rank"] for labels, _ in rows), list(ranks))

    def check_servers(self):
        self.assertEqual([value for _, value in self.servers.query("node_textfile_scrape_error")], [0])
        self.assertNotRegex(self.servers.words(), "level=error|level=warn.*textfile")

    def check_running(self):
        self.assertEqual([value for _, value in self.servers.query("up")], [1])
        # Rates need figures for a whole window, after warm-up.
        self.assertEqual(len(self.servers.query("takt_update_timestamp_seconds - takt_start_timestamp_seconds > 13")), 4,
                         [list(self.metrics.iterdir()), self.servers.query("takt_update_timestamp_seconds - takt_start_timestamp_seconds")])
        self.assertEqual(len(self.servers.query("takt_step_seconds_count > 10")), 4)
        sorted_rows = self.panel("Jobs by throughput")
        self.assertEqual([labels for labels, _ in sorted_rows], [{"run": "fast-1"}, {"run": "slow-1"}])
        for title in ("Jobs by throughput", "Throughput"):
            rates = self.by_run(title)
            self.assertEqual(set(rates), {"fast-1", "slow-1"})
            for run, least in (("fast-1", 10), ("slow-1", 60)):  # 2 ranks, 32 samples a step
                self.assertLess(rates[run], 2 * 32 / least * 1e3 * 1.1)
                self.assertGreater(rates[run], 0)
        slowest = self.panel("Slowest rank of each job")
        self.assertEqual({labels["run"] for labels, _ in slowest}, {"fast-1", "slow-1"})
        busy = {labels["run"]: (labels["rank"], value) for labels, value in slowest}
        self.assertEqual(busy["slow-1"][0], "1")
        self.assertGreater(busy["slow-1"][1], 0.051)
        comm, io = self.by_run("Share of communication"), self.by_run("Share of IO")
        self.assertEqual((set(comm), set(io)), ({"fast-1", "slow-1"}, {"fast-1", "slow-1"}))
        # A step of 60 ms has 40 or 8 ms of communication and 4 ms of IO. A busy machine makes each longer.
        self.assertTrue(0.25 < comm["slow-1"] < 0.55, comm)
        self.assertTrue(0.04 < io["slow-1"] < 0.2, io)
        self.assertTrue(0.05 < comm["fast-1"] < 0.5, comm)
        self.check_stalled("")
        self.assertEqual(self.panel("Ended in the last ten minutes"), [])

    def check_finished(self):
        ended = self.queries["Ended in the last ten minutes"][0]
        self.assertEqual(self.servers.query(ended), [({"run": "fast-1", "state": "finished"}, 2)])
        self.assertEqual(self.servers.query(ended.replace("time()", "(time() + 570)")),
                         [({"run": "fast-1", "state": "finished"}, 2)])
        self.assertEqual(self.servers.query(ended.replace("time()", "(time() + 601)")), [])
        self.assertEqual(set(self.by_run("Jobs by throughput")), {"slow-1"})
        summaries = self.summaries("fast-1")
        self.assertEqual(set(summaries), {"0", "1"})
        for rank, summary in summaries.items():
            self.check_against(summary, "fast-1", rank)

    def check_against(self, summary, run, rank):
        def value(name):
            return self.value(name, run, rank)

        paths = {path["path"]: path for path in summary["paths"]}
        batch = paths["Epoch/Batch"]
        steps = batch["host"]
        self.assertEqual(value("takt_steps_total"), steps["n"])
        self.assertEqual(value("takt_last_step"), steps["n"] - 1)
        self.assertEqual(value("takt_samples_total"), 32 * steps["n"])
        self.assertEqual(value("takt_samples_total"), batch["items"])
        self.assertEqual(value("takt_step_seconds_count"), steps["n"] - steps["warmup_n"])
        self.assertAlmostEqual(value("takt_step_seconds_sum"), (steps["total_ns"] - steps["warmup_total_ns"]) / 1e9, 6)
        for labels, count in self.values("takt_step_seconds_bucket", run, rank):
            bound, near = float(labels["le"]) * 1e9, 1 / 64
            low, high = (sum(n for lowest, n in steps["histogram"] if lowest <= bound * factor) for factor in (1 - near, 1 + near))
            self.assertTrue(low <= count <= high, (labels, count, low, high))
        self.assertAlmostEqual(value("takt_step_median_seconds"), steps["p50_ns"] / 1e9, delta=0.3 * steps["p50_ns"] / 1e9)
        self.assertAlmostEqual(value("takt_overhead_seconds"), summary["overhead_ns"] / 1e9, 9)
        self.assertAlmostEqual(value("takt_start_timestamp_seconds"), summary["run"]["start_unix_ns"] / 1e9, 3)
        last = value("takt_last_step_timestamp_seconds")
        self.assertTrue(0 <= value("takt_update_timestamp_seconds") - last < 2)
        self.assertEqual(value("takt_expiry_timestamp_seconds"), value("takt_update_timestamp_seconds") + 600)
        self.assertEqual(value("takt_left_out"), 0)

        regions = {labels["region"]: (labels["kind"], seconds) for labels, seconds in
                   self.values("takt_region_seconds_total", run, rank)}
        self.assertEqual(set(regions), {name for name, path in paths.items() if path["depth"] == 2})
        self.assertEqual(len(regions), 4)
        shares = {labels["region"]: share for labels, share in self.values("takt_region_share", run, rank)}
        for region, (kind, seconds) in regions.items():
            self.assertEqual(kind, paths[region]["kind"])
            self.assertAlmostEqual(seconds, paths[region]["host"]["total_ns"] / 1e9, 6)
            self.assertAlmostEqual(shares[region], paths[region]["host"]["total_ns"] / summary["wall_ns"], 6)
        for labels, seconds in self.values("takt_kind_seconds_total", run, rank):
            own = sum(path["self_ns"] for path in summary["paths"] if path["kind"] == labels["kind"])
            self.assertAlmostEqual(seconds, own / 1e9, 6)
        lost = {labels["what"]: count for labels, count in self.values("takt_losses_total", run, rank)}
        expected = {}
        for loss in summary["losses"]:
            expected[loss["what"]] = expected.get(loss["what"], 0) + loss["count"]
        self.assertEqual(lost, expected)
        labels, _ = self.values("takt_last_step", run, rank)[0]
        self.assertEqual(labels, {"__name__": "takt_last_step", "run": run, "rank": rank, "host": summary["run"]["host"],
                                  "tag_team": "fasts", "tag_an_odd_tag": ODD})

    def check_files(self):
        files = sorted(self.metrics.iterdir())
        self.assertEqual([each.name for each in files], [f"takt-{job}-1-{rank}.prom" for job in MS for rank in (0, 1)])
        for each in files:
            text = each.read_text(encoding="utf-8")
            done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            self.assertLess(sum(not line.startswith("#") for line in text.splitlines()), 200)


class DashboardTest(unittest.TestCase):
    def test_layout(self):
        board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        variables = {each["name"] for each in board["templating"]["list"]}
        self.assertEqual(variables, {"datasource", "stall_floor"})
        taken = set()
        for panel in board["panels"]:
            self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${datasource}"})
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            taken |= cells
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))


if __name__ == "__main__":
    missing = [name for name, path in (("prometheus", SERVER), ("promtool", PROMTOOL),
                                       ("prometheus-node-exporter", NODE_EXPORTER)) if path is None]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)} (Debian's packages prometheus and prometheus-node-exporter)")
        sys.exit(77)
    rig.main()
