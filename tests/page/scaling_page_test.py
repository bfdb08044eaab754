# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of takt scaling in a browser. scaling_page_test.py PROGRAM"""

import unittest

import page_case
from page_case import BROWSER

KINDS = ("usual", "few", "one", "hostile", "many")


class Shows(page_case.Case):
    def test_console_stays_empty(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.open(kind)
                self.assertEqual(BROWSER.console(), [])
                self.assertIsNotNone(BROWSER.run("return document.documentElement.dataset.ready ?? null"))

    def test_charts_have_a_line_and_an_ideal_for_steps_and_each_kind_of_trial(self):
        for kind, lines, runs in (("usual", 4, 24), ("few", 1, 3), ("one", 1, 1), ("many", 4, 240)):
            self.open(kind)
            for chart in ("#rate-chart", "#efficiency-chart"):
                with self.subTest(kind=kind, chart=chart):
                    self.assertEqual(self.count(f"{chart} .area circle"), runs)
                    self.assertEqual(self.count(f"{chart} .area path.axis"), lines)
                    self.assertEqual(self.count(f"{chart} .legend .item"), lines + 1)
        self.open("usual")
        names = BROWSER.run("return [...document.querySelectorAll('#rate-chart .legend .item')].map((each) => each.textContent)")
        self.assertEqual(names[:4], ["Epoch/Batch", "SYNTHETIC", "IO", "FULL"])

    def test_numbers_are_those_of_json(self):
        for kind in ("usual", "few", "one", "many"):
            with self.subTest(kind):
                self.open(kind)
                document = self.summary(kind)
                expected = [run for group in (document["runs"], *(each["runs"] for each in document["trials"])) for run in group]
                shown = [run for line in BROWSER.run("return data.lines") for run in line["runs"]]
                self.assertEqual(len(shown), len(expected))
                for run, row in zip(shown, expected):
                    self.assertEqual([run["run"], run["ranks"], run["rate"], [run["low"], run["high"]], run["efficiency"]],
                                     [row[name] for name in ("run_id", "ranks", "items_per_s", "items_per_s_interval", "efficiency")])

    def test_points_intervals_and_the_ideal_are_drawn_at_their_values(self):
        self.open("usual")
        points, ends = BROWSER.run("""
            const chart = document.querySelector("#rate-chart .area");
            const [first] = data.lines;
            const circles = [...chart.querySelectorAll("circle")].slice(0, first.runs.length);
            const ideal = chart.querySelector("path.axis").getBBox();
            const bars = [...chart.querySelectorAll("path.line")].slice(1).slice(0, first.runs.length);
            return [first.runs.map((run, at) => [run.rate, Number(circles[at].getAttribute("cy")), run.ranks,
                Number(circles[at].getAttribute("cx")), bars[at].getBBox().height, Math.log(run.high / run.low)]),
              [ideal.x, ideal.y, ideal.x + ideal.width, ideal.y + ideal.height]];""")
        (low_rate, low_y, _, low_x, height, ratio), (high_rate, high_y, _, high_x, *_) = points[0], points[-1]
        scale = (low_y - high_y) / BROWSER.run("return Math.log(arguments[0] / arguments[1])", high_rate, low_rate)
        self.assertAlmostEqual(height, ratio * scale, delta=0.1)
        self.assertAlmostEqual(ends[0], low_x, delta=0.1)
        self.assertAlmostEqual(ends[2], high_x, delta=0.1)
        self.assertAlmostEqual(ends[3], low_y, delta=0.1)
        self.assertAlmostEqual(low_y - ends[1], scale * BROWSER.run("return Math.log(32)"), delta=0.1)
        steps = [b[3] - a[3] for a, b in zip(points, points[1:])]
        self.assertAlmostEqual(min(steps), max(steps), delta=0.1)  # each size is twice the one before

    def test_pointer_and_keys_show_the_values_of_a_size(self):
        self.open("usual")
        left, top, width, height = BROWSER.box("#rate-chart circle:last-of-type")
        BROWSER.move_to(left + width / 2, top + height / 2)
        for each in ("32 ranks", "FULL", "run-32", "(", " to "):
            self.assertIn(each, self.text("#tip"))
        BROWSER.run("document.querySelector('#efficiency-chart .area').focus()")
        BROWSER.press("right")
        self.assertIn("1 rank", self.text("#tip"))
        BROWSER.press("right")
        self.assertIn("2 ranks", self.text("#tip"))
        self.assertIn("%", self.text("#tip"))
        BROWSER.press("escape")
        self.assertTrue(BROWSER.run("return document.getElementById('tip').hidden"))
        self.open("few")
        left, top, width, height = BROWSER.box("#rate-chart circle:last-of-type")
        BROWSER.move_to(left + width / 2, top + height / 2)
        self.assertIn("again-4", self.text("#tip"))
        self.assertIn("run-4", self.text("#tip"))


class Holds(page_case.Case):
    def test_hostile_names_do_nothing(self):
        self.open("hostile")
        self.assertEqual(self.count("img, iframe, object, embed, link, base, form"), 0)
        self.assertEqual(self.count("script"), 3)
        self.assertIn("<img src=x", self.text("#rate-chart .legend"))
        self.assertIn("<img src=x", self.text("#numbers"))

    def test_is_readable_without_its_script(self):
        self.open_changed("usual", "keepViewInAddress();", "keepViewInAddress() ;")
        self.says = ["Content Security Policy"]
        self.assertGreater(BROWSER.box("#run-table")[3], 100)
        self.assertGreater(BROWSER.box("#trial-table")[3], 100)
        self.assertIsNone(BROWSER.run("return document.documentElement.dataset.ready ?? null"))

    def test_fits_windows_and_is_small(self):
        for kind in KINDS:
            for width in (360, 420, 1400):
                with self.subTest(kind=kind, width=width):
                    BROWSER.resize(width, 800)
                    self.open(kind)
                    self.assertEqual(self.wider_than_window(), [])
            self.assertLess((page_case.page(kind) / "run.html").stat().st_size, 200_000)


if __name__ == "__main__":
    page_case.main()
