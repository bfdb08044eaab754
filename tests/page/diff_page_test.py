# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of a comparison in a browser. diff_page_test.py PROGRAM"""

import unittest

import page_case
from page_case import BROWSER

KINDS = ("usual", "few", "hostile", "many")


class Shows(page_case.Case):
    def test_console_stays_empty(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.open(kind)
                self.assertEqual(BROWSER.console(), [])
                self.assertIsNotNone(BROWSER.run("return document.documentElement.dataset.ready ?? null"))

    def test_every_part_has_its_marks(self):
        marks = {"#verdict": "li", "#change-chart": ".change path", "#step-chart": "path.line", "#numbers": "tbody tr", "#runs": "tbody tr"}
        for kind in KINDS:
            self.open(kind)
            for part, mark in marks.items():
                with self.subTest(kind=kind, part=part):
                    self.assertGreater(self.count(f"{part} {mark}"), 0)
        self.open("usual")
        self.assertEqual(self.count("#step-chart path.line"), 6)
        self.assertEqual(self.count("#step-chart path.dash1"), 3)
        self.open("many")
        self.assertEqual(self.count("#step-chart path.line"), 12)
        self.assertIn("228 further runs are not drawn", self.text("#steps"))
        self.assertEqual(self.count("#runs-table tbody tr"), 200)
        self.assertIn("40 more runs are not listed", self.text("#runs"))
        changed = BROWSER.run("return data.regions.filter((each) => each.mark).length")
        self.assertGreater(changed, 20)
        self.assertEqual(self.count(".change"), changed + 1)
        BROWSER.click("#change-chart .tools button")
        self.assertEqual(self.count(".change"), 100)
        self.assertIn("201 more are in the table", self.text("#changes"))

    def test_numbers_are_those_of_json(self):
        for kind in ("usual", "few", "many"):
            with self.subTest(kind):
                self.open(kind)
                document = self.summary(kind)
                self.assertIn(document["answer"], self.text("header"))
                means = {region["path"]: (region, region["figures"][0]) for region in document["regions"]}
                shown = BROWSER.run("return data.regions")
                self.assertGreater(len(shown), 6)
                for each in shown:
                    region, mean = means[each["path"]]
                    self.assertEqual(mean["figure"], "p25")
                    self.assertEqual([each[field] for field in ("base", "new", "change", "low", "high", "basis", "mark")],
                                     [*(mean[field] for field in ("base", "new", "change", "low", "high", "basis")), region["mark"]])

    def test_headline_is_that_of_the_text(self):
        for kind in ("usual", "few"):
            self.open(kind)
            self.assertEqual(self.text("h1"), (page_case.page(kind) / "headline.txt").read_text(encoding="utf-8"))
            self.assertNotIn("first rank", self.text("#steps"))

    def test_intervals_are_drawn_at_their_values(self):
        self.open("usual")
        rows = BROWSER.run("""
            const chart = new Changes(document.getElementById("change-chart"), data);
            return data.regions.map((row, at) => {
              const box = document.querySelectorAll("#change-chart .change .interval")[at].getBBox();
              return [box.x, box.x + box.width, chart.x(row.low), chart.x(row.high)];
            });""")
        for left, right, low, high in rows:
            self.assertAlmostEqual(left, low, delta=1)
            self.assertAlmostEqual(right, high, delta=1)
        self.assertEqual(self.count(".change.slower"), BROWSER.run("return data.regions.filter((each) => each.mark === 'slower').length"))
        self.assertGreater(self.count(".change.slower"), 0)
        self.assertGreater(self.count(".change.faster"), 0)

    def test_pointer_and_keys_show_the_values(self):
        self.open("usual")
        left, top, width, height = BROWSER.box(".change")
        BROWSER.move_to(left + width / 2, top + height / 2)
        self.assertIn("95 % interval", self.text("#tip"))
        BROWSER.run("document.querySelector('#step-chart .area').focus()")
        BROWSER.press("+", "shift+right")
        self.assertIn("base", self.text("#tip"))
        self.assertRegex(BROWSER.run("return location.hash"), r"^#steps=\d+:\d+$")
        self.open("usual", "#steps=100:200")
        self.assertEqual(BROWSER.run("return [view.low, view.high]"), [99.5, 200.5])


class Holds(page_case.Case):
    def test_hostile_names_do_nothing(self):
        self.open("hostile")
        self.assertEqual(self.count("img, iframe, object, embed, link, base, form"), 0)
        self.assertEqual(self.count("script"), 3)
        self.assertIn("<img src=x", self.text("#changes"))
        self.assertIn("for this reason: </script>", self.text("#verdict"))

    def test_is_readable_without_its_script(self):
        self.open_changed("usual", "drawSides();", "drawSides() ;")
        self.says = ["Content Security Policy"]
        self.assertGreater(BROWSER.box("#numbers-table")[3], 100)
        self.assertIn("a step takes", self.text("h1"))
        self.assertIsNone(BROWSER.run("return document.documentElement.dataset.ready ?? null"))

    def test_fits_windows_and_is_small(self):
        for kind in KINDS:
            for width in (360, 1280):
                with self.subTest(kind=kind, width=width):
                    BROWSER.resize(width, 800)
                    self.open(kind)
                    self.assertEqual(self.wider_than_window(), [])
            self.assertLess((page_case.page(kind) / "run.html").stat().st_size, 400_000)


if __name__ == "__main__":
    page_case.main()
