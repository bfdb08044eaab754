# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of a run in a browser: its contents, its interaction and its safety. page_test.py PROGRAM
STYLE_SHEET"""

import json
import pathlib
import re
import sys
import unittest

STYLE_SHEET = sys.argv.pop(2)

import page_case  # noqa: E402
from page_case import BROWSER, page  # noqa: E402

KINDS = ("usual", "tiny", "one", "long", "regions", "gpu", "hostile", "long_names", "empty", "ranks", "many_ranks")
MARKS = {"#findings": ".findings li", "#figures": ".tiles dd", "#step-chart": "path.extremes, path.band, circle.step", "#metric-charts": "path.line",
         "#phase-chart": "path.phase", "#icicle": ".cell rect", "#tree": "tbody tr", "#distributions": ".strip path", "#lacks": "li",
         "#facts": "tbody tr"}


class Case(page_case.Case):
    def view(self):
        BROWSER.settle()
        return BROWSER.run("return [view.low, view.high, view.region]")


class Shows(Case):
    def test_console_stays_empty(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.open(kind)
                self.assertEqual(BROWSER.console(), [])
                self.assertIsNotNone(BROWSER.run("return document.documentElement.dataset.ready ?? null"))

    def test_every_part_has_its_marks(self):
        for kind in ("usual", "gpu", "ranks", "tiny", "long", "regions"):
            self.open(kind)
            for part, mark in MARKS.items():
                with self.subTest(kind=kind, part=part):
                    self.assertGreater(BROWSER.run("return document.querySelector(arguments[0]).querySelectorAll(arguments[1]).length",
                                                   part, mark), 0)
        self.open("ranks")
        self.assertEqual(self.count("#heat canvas"), 1)
        self.assertEqual(self.count("#busy-table tbody tr"), 8)
        self.open("gpu")
        self.assertEqual(self.count("#stream-chart path.line"), 3)
        self.assertEqual(self.count("#metric-charts .chart"), 3)

    def test_parts_are_in_order(self):
        self.open("ranks")
        self.assertEqual(BROWSER.run("return [...document.querySelectorAll('main > section')].map((each) => each.id)"),
                         ["findings", "figures", "steps", "phases", "tree", "distributions", "ranks", "lacks", "facts"])

    def test_numbers_are_those_of_json(self):
        for kind in ("usual", "gpu", "regions", "ranks"):
            with self.subTest(kind):
                self.open(kind)
                summary = self.summary(kind)
                shown = BROWSER.run("return regions.paths.map((each) => ({...each, device: each.device ?? null}))")
                self.assertEqual(len(shown), len(summary["paths"]))
                by_path = {each["path"]: each for each in summary["paths"]}
                for each in shown:
                    there = by_path[each["full"]]
                    self.assertEqual([each["self_ns"], each["kind"], each["share"]],
                                     [there["self_ns"], there["kind"], there["share_of_parent"]])
                    for field in ("n", "total_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"):
                        self.assertEqual(each[field], there["host"][field], f"{each['full']} {field}")
                        if each["device"]:
                            self.assertEqual(each["device"][field], there["device"][field], f"{each['full']} {field}")

    def test_script_writes_numbers_as_the_library_does(self):
        self.open("regions")
        cells = BROWSER.run("return [...document.querySelectorAll('#tree-table tbody tr')].map((row) =>"
                            "[row.dataset.path, ...[...row.cells].map((cell) => cell.textContent)])")
        of_script = BROWSER.run("const text = (ns) => ns === null ? '-' : timeText(ns); return regions.paths.map((each) => ['',"
                                "percentText(each.share), ...[each.mean_ns, each.total_ns, each.self_ns].map(text), countText(each.n),"
                                "...[each.p50_ns, each.p99_ns, each.max_ns].map(text), each.kind])")
        for path, _, *texts in cells:
            self.assertEqual(texts, of_script[int(path)][1:])

    def test_pointing_at_a_mark_shows_its_value(self):
        self.open("usual")
        times = json.loads((page("usual") / "times.json").read_text())["times"]
        left, top, width, height = BROWSER.box("#step-chart .area")
        x = round(left + BROWSER.run("return charts.all[0].x(903)"))
        step = BROWSER.run("return Math.round(charts.all[0].step(arguments[0]))", x - left)
        BROWSER.move_to(x, top + height / 2)
        lines = self.text("#tip")
        self.assertIn(BROWSER.run("return stepsText(arguments[0], arguments[0])", step), lines)
        self.assertIn(BROWSER.run("return timeText(arguments[0])", times[step]), lines)
        for selector, word in (("#icicle .cell[data-path='2']", "total"), ("#distribution-chart .strip[data-path='2']", "median"),
                               ("#phase-chart .area", "mean of a step")):
            left, top, width, height = BROWSER.box(selector)
            BROWSER.move_to(left + width / 2, top + height / 2)
            self.assertIn(word, self.text("#tip"))
            self.assertFalse(BROWSER.run("return document.getElementById('tip').hidden"))

    def test_the_heat_map_shows_the_slow_rank(self):
        self.open("ranks")
        left, top, width, _ = BROWSER.box("#heat .area")
        row = BROWSER.run("const chart = charts.all.at(-1); return chart.top + 3.5 / 8 * (chart.bottom - chart.top)")
        BROWSER.move_to(left + width / 2, top + row)
        self.assertIn("rank 3", self.text("#tip"))
        self.assertRegex(self.text("#tip"), r"\+\d+\.\d % busy")

    def test_heat_map_scale_follows_the_slow_rank(self):
        self.open("ranks")
        most, row = BROWSER.run("const map = new HeatMap(document.getElementById('heat'), data.heat, []);"
                                "const row = data.heat.cells.slice(3 * map.columns, 4 * map.columns).sort((a, b) => a - b);"
                                "return [map.most, row[row.length >> 1]]")
        self.assertLess(row, most)
        self.assertLess(most, 2 * row)
        for end in (f"−{most // 10} % or less", f"+{most // 10} % or more"):
            self.assertIn(end, self.text("#heat .legend"))

    def test_a_name_has_one_colour_in_every_run_and_chart(self):
        colours = "return Object.fromEntries(regions.paths.map((path, at) => [path.name, colorOf(at)]))"
        found = {}
        for kind in ("usual", "regions", "gpu", "ranks"):
            self.open(kind)
            for name, colour in BROWSER.run(colours).items():
                self.assertEqual(found.setdefault(name, colour), colour, name)
        self.assertEqual(len({found[name] for name in ("Epoch", "Batch", "IO", "Forward", "Backward", "Optimizer")}), 6)
        self.open("usual")
        forward = found["Forward"]
        for selector in (".cell[data-path='3'] rect", ".strip[data-path='3'] path", "#tree-table tr[data-path='3'] .swatch rect"):
            self.assertEqual(BROWSER.run("return document.querySelector(arguments[0]).getAttribute('fill')", selector), forward, selector)
        self.assertIn(forward, BROWSER.run("return [...document.querySelectorAll('.phase')].map((each) => each.getAttribute('fill'))"))

    def test_thin_phases_have_no_pattern(self):
        self.open("usual")
        thin = BROWSER.run("return [...document.querySelectorAll('.phase')].filter((each) => each.getBBox().height < kThinPhase)"
                           ".map((each) => each.getAttribute('fill'))")
        self.assertEqual([fill for fill in thin if fill.startswith("url")], [])

    def test_epochs_are_a_table(self):
        self.open("usual")
        rows = BROWSER.run("return [...document.querySelectorAll('#epochs-table tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual(rows[:3], [["Epoch", "time", "steps", "samples/s", "accuracy", "loss"],
                                    ["0", "35.0 s", "400", "731", "-", "2"], ["1", "35.0 s", "400", "731", "0.5", "1"]])
        self.assertEqual(len(rows), 6)


class Moves(Case):
    def chart(self, selector="#step-chart .area"):
        left, top, _, height = BROWSER.box(selector)
        from_, to = BROWSER.run("return [charts.all[0].left, charts.all[0].right]")
        return left + from_, left + to, top + height / 2

    def test_dragging_selects_a_range_and_double_click_fits(self):
        self.open("usual")
        left, right, y = self.chart()
        BROWSER.drag(left + (right - left) * 0.25, y, left + (right - left) * 0.5, y)
        low, high, _ = self.view()
        self.assertAlmostEqual(low, 500, delta=8)
        self.assertAlmostEqual(high, 1000, delta=8)
        self.assertRegex(BROWSER.run("return location.hash"), r"^#steps=\d+:\d+$")
        self.assertIn("steps 50", self.text("#view"))
        BROWSER.double_click(left + 100, y)
        self.assertEqual(self.view()[:2], [-0.5, 1999.5])
        self.assertEqual(BROWSER.run("return location.hash"), "")

    def test_the_wheel_zooms_at_the_pointer_and_lets_the_page_scroll(self):
        self.open("usual")
        left, right, y = self.chart()
        BROWSER.move_to(left + 5, y)
        BROWSER.move_to(left + (right - left) / 2, y)
        BROWSER.turn_wheel(left + (right - left) / 2, y, -120)
        low, high, _ = self.view()
        self.assertAlmostEqual(high - low, 1600, delta=1)
        self.assertAlmostEqual((low + high) / 2, 999.5, delta=5)
        # A chart that passes the pointer while the page scrolls does not stop the scrolling.
        BROWSER.run("view.showAll(); scrollTo({top: 0, behavior: 'instant'}); dispatchEvent(new Event('scroll'));")
        before = BROWSER.run("return scrollY")
        BROWSER.turn_wheel(600, 500, 300)
        BROWSER.settle()
        self.assertGreater(BROWSER.run("return scrollY"), before)
        self.assertEqual(self.view()[:2], [-0.5, 1999.5])

    def test_all_charts_over_steps_have_one_view(self):
        self.open("gpu")
        BROWSER.run("view.show(400, 600)")
        BROWSER.settle()
        first = BROWSER.run("return charts.all.map((chart) => [chart.left, chart.right, Math.round(chart.x(500))])")
        self.assertEqual(len({tuple(each) for each in first}), 1, first)

    def test_keys_move_zoom_and_read(self):
        self.open("usual")
        BROWSER.run("document.querySelector('#step-chart .area').focus()")
        BROWSER.press("+")
        self.assertEqual(self.view()[:2], [499.5, 1499.5])
        BROWSER.press("right")
        self.assertEqual(self.view()[:2], [699.5, 1699.5])
        BROWSER.press("-")
        BROWSER.press("0")
        self.assertEqual(self.view()[:2], [-0.5, 1999.5])
        BROWSER.press("shift+right")
        self.assertFalse(BROWSER.run("return document.getElementById('tip').hidden"))
        self.assertRegex(self.text("#tip"), r"^steps? [\d ]+.*(step time|most)")
        self.assertEqual(BROWSER.run("return document.getElementById('tip').getAttribute('aria-live')"), "polite")

    def test_the_keyboard_reaches_everything_with_a_visible_focus(self):
        self.open("usual")
        seen = set()
        for _ in range(80):
            BROWSER.press("tab")
            # The position of the focus, and if it is visible.
            name, ring = BROWSER.run("const e = document.activeElement; const s = getComputedStyle(e); return [e.closest('[id]')?.id ?? '',"
                                     "e.matches('.cell, .strip') || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2)]")
            if name:
                self.assertTrue(ring, name)
            seen.add(name)
        self.assertLessEqual({"view", "step-chart", "phase-chart", "icicle", "tree-tools", "tree-table", "distribution-chart"}, seen)

    def test_a_region_is_selected_everywhere(self):
        self.open("usual")
        BROWSER.click("#icicle .cell[data-path='3']")
        BROWSER.settle()
        self.assertEqual(self.count(".cell.is-chosen"), 1)
        self.assertEqual(self.count(".strip.is-chosen[data-path='3']"), 1)
        self.assertEqual(self.count("#tree-table tr[aria-current][data-path='3']"), 1)
        self.assertEqual(self.count(".phase.is-chosen"), 1)
        self.assertIn("Epoch/Batch/Forward", self.text("#view .region"))
        self.assertEqual(BROWSER.run("return location.hash"), "#region=3")
        BROWSER.click("#view .region")
        BROWSER.settle()
        self.assertEqual(self.count(".is-chosen"), 0)
        for selector in ("#distribution-chart .strip[data-path='4']", "#tree-table tr[data-path='4']"):
            BROWSER.run("document.querySelector(arguments[0]).focus()", selector)
            BROWSER.press("enter")
            self.assertEqual(self.view()[2], 4, selector)
            BROWSER.run("view.choose(4)")

    def test_call_tree_moves_by_keys(self):
        self.open("usual")
        BROWSER.run("document.querySelector('#icicle [data-path=\"-1\"]').focus()")
        BROWSER.press("down", "down", "down", "right")
        self.assertEqual(BROWSER.run("return document.activeElement.dataset.path"), "3")
        BROWSER.press("enter")
        self.assertEqual(self.view()[2], 3)
        BROWSER.press("f")
        BROWSER.settle()
        self.assertEqual(BROWSER.run("return document.querySelector('#icicle .cell').dataset.path"), "3")

    def test_table_is_sorted_and_filtered(self):
        self.open("regions")
        order = "return [...document.querySelectorAll('#tree-table tbody tr')].map((row) => regions.paths[row.dataset.path].mean_ns)"
        BROWSER.click("#tree-table thead th:nth-child(3) button")
        means = BROWSER.run(order)
        self.assertEqual(means, sorted(means, reverse=True))
        self.assertEqual(BROWSER.run("return document.querySelector('th[aria-sort]').getAttribute('aria-sort')"), "descending")
        BROWSER.click("#tree-table thead th:nth-child(3) button")
        means = BROWSER.run(order)
        self.assertEqual(means, sorted(means))
        BROWSER.run("document.querySelector('#tree-tools input').focus()")
        BROWSER.press(*"layer1")
        names = BROWSER.run("return [...document.querySelectorAll('#tree-table tbody th')].map((each) => each.textContent)")
        self.assertEqual(len(names), 11)
        self.assertTrue(all("Layer1" in name for name in names), names)
        self.assertIn("11 of 62 regions", self.text("#tree-tools"))

    def choose_steps(self, number):
        BROWSER.run("const e = document.querySelector('#view select'); e.value = arguments[0]; e.dispatchEvent(new Event('change'));", number)
        BROWSER.settle()

    def test_reader_chooses_a_rank(self):
        self.open("ranks")
        names = BROWSER.run("return [...document.querySelectorAll('#view option')].map((each) => each.textContent)")
        self.assertEqual(names, ["all ranks: median and spread of 8", "rank 0: Epoch/Batch on main", *(f"rank {rank}" for rank in range(1, 8))])
        self.assertIn("fastest to slowest rank", self.text("#step-chart .legend"))
        tops = "return [regions.wall, regions.now.filter((each) => each.parent < 0).reduce((sum, each) => sum + each.so_far_ns, 0)]"
        cell = "return document.querySelector('#tree-table tr[data-path=\"1\"]').cells[arguments[0]].textContent"
        wall, inside = BROWSER.run(tops)
        self.assertLessEqual(inside, wall)
        self.assertIn("mean of 8 ranks", self.text("#tree"))
        mean = [BROWSER.run(cell, at) for at in (3, 5)]
        self.choose_steps(6)
        self.assertEqual(BROWSER.run(cell, 5), "1 000")
        self.assertNotEqual([BROWSER.run(cell, at) for at in (3, 5)], mean)
        wall, inside = BROWSER.run(tops)
        self.assertLessEqual(inside, wall)
        self.assertEqual(BROWSER.run("return view.whole"), [-0.5, 999.5])
        self.assertEqual(BROWSER.run("return location.hash"), "#series=6")
        self.choose_steps(0)
        self.assertEqual([BROWSER.run(cell, at) for at in (3, 5)], mean)
        self.assertEqual(BROWSER.run("return view.whole"), [-0.5, 1999.5])
        self.open("ranks", "#series=4")
        self.assertEqual(BROWSER.run("return document.querySelector('#view select').value"), "4")

    def test_median_and_spread_of_the_ranks(self):
        self.open("ranks")
        BROWSER.run("view.show(400, 500)")
        expected = BROWSER.run("""
            const [all] = choicesOf(data);
            const middle = (all.blocks.first[all.blocks.at(450)] + all.blocks.last(all.blocks.at(450))) / 2;
            return data.ranks.map((each) => { const blocks = new Blocks(each.series); return blocks.mean[blocks.at(middle)]; }).sort((a, b) => a - b);""")
        low, median, high = BROWSER.run("const [all] = choicesOf(data); const at = all.blocks.at(450);"
                                        "return [all.blocks.least[at], all.blocks.mean[at], all.blocks.most[at]]")
        self.assertEqual([low, high], [expected[0], expected[-1]])
        self.assertAlmostEqual(median, (expected[3] + expected[4]) / 2, delta=1)

    def test_reader_chooses_metrics(self):
        self.open("largest")
        shown = "return [...document.querySelectorAll('#metric-charts .chart:not([hidden]) .legend .strong')].map((each) => each.textContent)"
        self.assertEqual(self.count("#metric-charts input"), 12)
        self.assertEqual(len(BROWSER.run(shown)), 4)
        BROWSER.click("#metric-charts label:nth-of-type(1) input")
        BROWSER.click("#metric-charts label:nth-of-type(12) input")
        BROWSER.settle()
        names = BROWSER.run("return data.metrics.map((each) => each.name)")
        self.assertEqual(BROWSER.run(shown), [*names[1:4], names[11]])
        self.assertEqual(BROWSER.run("return location.hash"), "#metrics=1,2,3,11")
        self.open("largest", "#metrics=7")
        self.assertEqual(BROWSER.run(shown), [names[7]])
        self.assertGreater(self.count("#metric-charts .chart:not([hidden]) path.line"), 0)

    def test_links_unfold_what_they_lead_to(self):
        self.open("tiny")
        BROWSER.click("#figures a[href='#rates']")
        self.assertTrue(BROWSER.run("return document.getElementById('rates').open"))
        self.assertIn("rates", BROWSER.run("return document.activeElement.id"))

    def test_the_address_contains_the_view(self):
        self.open("usual", "#steps=100:300&region=4")
        self.assertEqual(self.view(), [99.5, 300.5, 4])
        self.assertEqual(self.count("tr[aria-current]"), 1)
        for address in ("#steps=5000:9000", "#steps=9:1", "#region=999", "#series=7", "#steps=x:y&region=-1", "#%%%", "#findings"):
            with self.subTest(address):
                self.open("usual", address)
                low, high, region = self.view()
                self.assertLess(low, high)
                self.assertTrue(-0.5 <= low and high <= 1999.5)
                self.assertEqual(region, -1)
                self.assertEqual(BROWSER.console(), [])
        self.open("usual", "#steps=100:300")
        BROWSER.click("nav a[href='#tree']")
        self.assertEqual(BROWSER.run("return location.hash"), "#steps=100:300")


class Draws(Case):
    """Compares the page's steps with all steps, pixel by pixel."""

    COMPARE = """
        const [times, low, high, spikes, most] = arguments;
        const series = {blocks: new Blocks(data.series[0])};
        const columns = series.blocks.columns(low, high, 2000);
        const seen = times.slice(Math.max(0, Math.ceil(low)), Math.floor(high) + 1);
        const x = linear(low, high, 0, 1000);
        const y = linear(Math.min(...columns.map((each) => each.least)), most ?? Math.max(...columns.map((each) => each.most)), 295, 5);
        const draw = (path) => {
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [1000, 300];
          const paint = canvas.getContext("2d", {willReadFrequently: true});
          paint.stroke(path);
          return paint.getImageData(0, 0, 1000, 300).data;
        };
        const full = new Path2D();
        seen.forEach((each, at) => full.lineTo(x(Math.max(0, Math.ceil(low)) + at), y(each)));
        const [wanted, drawn] = [draw(full), draw(new Path2D(extremesPath(columns, x, y)))];
        let [lit, off, far] = [0, 0, 0];
        for (let at = 3; at < wanted.length; at += 4) {
          lit += wanted[at] > 0 ? 1 : 0;
          off += Math.abs(wanted[at] - drawn[at]) > 25 ? 1 : 0;
          far += Math.abs(wanted[at] - drawn[at]) > 127 ? 1 : 0;
        }
        const isLit = (step) => {
          const [column, row] = [x(step), y(times[step])].map(Math.round);
          for (let dx = -2; dx <= 2; ++dx) for (let dy = -2; dy <= 2; ++dy) {
            if (drawn[((row + dy) * 1000 + column + dx) * 4 + 3] > 60) return true;
          }
          return false;
        };
        return [off / lit, far / lit, spikes.filter(isLit)];"""

    def compare(self, kind, low, high, most=None):
        """Returns the shares of lit pixels that differ by more than 10 % and 50 %. Spikes must be at the right
        positions. `most` is the upper end of the axis in ns; None: the axis includes all spikes."""
        known = json.loads((page(kind) / "times.json").read_text())
        spikes = [step for step in known["spikes"] if low < step < high and most is None]
        off, far, drawn = BROWSER.run(self.COMPARE, known["times"], low, high, spikes, most)
        self.assertEqual(drawn, spikes)
        return off, far

    def test_a_million_steps_look_like_all_steps_drawn(self):
        self.open("long")
        # If the axis includes all spikes, most steps form a line of few pixels, whose upper and lower ones differ.
        for name, most, most_off in (("with the spikes", None, 0.5), ("up to 110 ms", 110e6, 0.2)):
            off, far = self.compare("long", -0.5, 999_999.5, most)
            print(f"1 000 000 steps {name}: {100 * off:.1f} % of the lit pixels are off by more than 10 %, {100 * far:.2f} % by more than 50 %")
            self.assertLess(off, most_off)
            self.assertLess(far, 0.01)

    def test_few_steps_are_drawn_one_by_one(self):
        self.open("usual")
        for low, high in ((-0.5, 1999.5), (300, 700), (1840, 1850)):
            off, far = self.compare("usual", low, high)
            self.assertLess(far, 0.01, f"{low} {high}")
            self.assertLess(off, 0.2, f"{low} {high}")

    def test_spikes_are_visible_at_every_zoom(self):
        self.open("long")
        known = json.loads((page("long") / "times.json").read_text())
        usual = sorted(known["times"])[len(known["times"]) // 2]
        for spike in known["spikes"]:
            for width in (10, 1000, 100_000):
                most, marks = BROWSER.run(
                    "view.show(arguments[0] - arguments[1], arguments[0] + arguments[1]); charts.all[0].paint(); const [step] = arguments;"
                    "const columns = new Blocks(data.series[0]).columns(view.low, view.high, 2000);"
                    "return [Math.max(...columns.filter((each) => each.first - each.steps <= step && step <= each.last + each.steps)"
                    ".map((each) => each.most)), document.querySelectorAll('#step-chart path.worst').length]", spike, width)
                self.assertGreaterEqual(most, 0.999 * known["times"][spike])
                if known["times"][spike] > 2.1 * usual:
                    self.assertGreater(marks, 0, spike)


class Looks(Case):
    def test_fits_narrow_and_wide_windows(self):
        for kind in ("usual", "hostile", "ranks", "gpu", "regions", "empty"):
            for width in (320, 360, 768, 1280, 2560):
                with self.subTest(kind=kind, width=width):
                    BROWSER.resize(width, 800)
                    self.open(kind)
                    self.assertEqual(self.wider_than_window(), [])

    def test_narrow_tables_begin_with_share_and_mean(self):
        BROWSER.resize(420, 800)
        self.open("usual")
        heads = BROWSER.run("return [...document.querySelectorAll('#tree-table thead th')].map((each) => [each.textContent, each.getBoundingClientRect().right])")
        self.assertEqual([name for name, _ in heads[:3]], ["region", "share", "mean"])
        self.assertLessEqual(heads[2][1], 420)

    def test_names_are_not_cut_inside_a_word(self):
        for kind in ("usual", "ranks", "gpu"):
            BROWSER.resize(420, 800)
            self.open(kind)
            with self.subTest(kind):
                self.assertEqual(BROWSER.run("""
                    const words = new Set(regions.paths.flatMap((each) => each.full.split("/")));
                    const labels = [...document.querySelectorAll(".cell text, .strip text:not([text-anchor=middle])")]
                      .map((each) => each.textContent.replace(/ [\\d.]+ (ns|us|ms|s|min|h)$/, ""));
                    return labels.filter((each) => !each.startsWith("run") && each.split("/").some((word) => !words.has(word)));"""), [])
                self.assertEqual(BROWSER.run("""
                    return [...document.querySelectorAll("#tree-table .name")].filter((each) => each.getClientRects()[0].height > 24)
                      .map((each) => each.textContent);"""), [])

    def test_navigation_scrolls_sideways(self):
        BROWSER.resize(420, 800)
        self.open("ranks")
        self.assertEqual(BROWSER.run("const e = document.querySelector('nav ul'); return [e.scrollWidth > e.clientWidth, e.clientHeight < 48]"), [True, True])

    def test_long_names_wrap_without_a_scroll_bar(self):
        for kind in ("hostile", "long_names"):
            with self.subTest(kind=kind):
                BROWSER.resize(1280, 800)
                self.open(kind)
                self.assertEqual(BROWSER.run(
                    "return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 80))"), [])

    def test_charts_follow_the_window(self):
        self.open("usual")
        BROWSER.resize(700, 800)
        BROWSER.settle()
        BROWSER.settle()
        self.assertLessEqual(BROWSER.run("return Math.max(...charts.all.map((each) => each.width))"), 700)

    def test_chart_labels_are_inside_and_do_not_overlap(self):
        for kind in ("usual", "gpu", "regions", "long", "ranks"):
            for width in (360, 1280):
                with self.subTest(kind=kind, width=width):
                    BROWSER.resize(width, 800)
                    self.open(kind)
                    self.assertEqual(BROWSER.run("""
                        const found = [];
                        for (const picture of document.querySelectorAll("#step-chart svg, .metric svg, #phase-chart svg, #stream-chart svg, #heat svg")) {
                          const frame = picture.getBoundingClientRect();
                          const boxes = [...picture.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
                          for (const [text, box] of boxes) {
                            if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 2) found.push(text);
                          }
                          boxes.forEach(([text, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
                            if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4) found.push(`${text} / ${other}`);
                          }));
                        }
                        return found;"""), [])

    def test_is_dark_if_requested(self):
        colour = "return getComputedStyle(document.body).backgroundColor"
        self.open("usual")
        light = BROWSER.run(colour)
        BROWSER.look(dark=True)
        dark = BROWSER.run(colour)
        self.assertEqual((light, dark), ("rgb(255, 255, 255)", "rgb(20, 24, 30)"))

    def test_print_shows_folded_parts_and_no_controls(self):
        self.open("usual")
        BROWSER.look(media="print")
        self.assertEqual(BROWSER.run("return [...document.querySelectorAll('nav, .tools')].filter((e) => e.getClientRects().length > 0).length"), 0)
        self.assertGreater(BROWSER.box("#steps-table tbody tr")[3], 0)

    def test_targets_are_large_enough(self):
        self.open("ranks")
        small = BROWSER.run("return [...document.querySelectorAll('button, select, input, summary, nav a, #tree-table tbody tr, .cell, .strip')]"
                            ".filter((e) => e.getClientRects().length > 0).map((e) => [e.textContent, e.getBoundingClientRect().height])"
                            ".filter(([, height]) => height < 24)")
        self.assertEqual(small, [])

    def test_nothing_moves_with_reduced_motion(self):
        self.open("usual")
        self.assertEqual(BROWSER.run("return getComputedStyle(document.documentElement).scrollBehavior"), "auto")
        BROWSER.look(still=False)
        self.assertEqual(BROWSER.run("return getComputedStyle(document.documentElement).scrollBehavior"), "smooth")

    def test_chart_data_has_names(self):
        self.open("ranks")
        nameless = BROWSER.run("return [...document.querySelectorAll('[role=button], [role=group], [role=region], [role=img], button, input, select')]"
                               ".filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML.slice(0, 80))")
        self.assertEqual(nameless, [])
        self.assertEqual(BROWSER.run("return [...document.querySelectorAll('table')].filter((e) => !e.caption?.textContent).length"), 0)


class Contrast(unittest.TestCase):
    """Contrast as of WCAG 2: 4.5 for text against its background, 3 for marks and controls against the page."""

    COLOURS = 19

    TEXTS = [("ink", "page"), ("ink", "raised"), ("ink", "chosen"), ("quiet", "page"), ("quiet", "raised"), ("quiet", "chosen"), ("accent", "page"),
             ("good", "page"), ("bad", "page"), ("page", "ink")]
    MARKS = [("control", "page"), ("focus", "page"), ("accent", "rule"), ("extremes", "page"), ("edge", "page"), ("median", "page"), ("median", "band"),
             ("worst", "page"), ("longer", "page"), ("shorter", "page"), ("page", "longer"), *((f"c{number}", "page") for number in range(COLOURS))]

    def test_colours_have_enough_contrast_with_their_background(self):
        css = pathlib.Path(STYLE_SHEET).read_text(encoding="utf-8")
        light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part)) for part in re.findall(r":root \{(.*?)\}", css, re.DOTALL))
        self.assertEqual(set(light), set(dark))
        for name, colours in (("light", light), ("dark", dark)):
            for pairs, least in ((self.TEXTS, 4.5), (self.MARKS, 3)):
                for a, b in pairs:
                    with self.subTest(name=name, a=a, b=b):
                        self.assertGreaterEqual(contrast(colours[a], colours[b]), least)

    def test_text_is_readable_on_tints_of_colours(self):
        css = pathlib.Path(STYLE_SHEET).read_text(encoding="utf-8")
        for part in re.findall(r":root \{(.*?)\}", css, re.DOTALL):
            colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part))
            tint = float(re.search(r"--tint: ([\d.]+);", part)[1])
            for number in range(self.COLOURS):
                with self.subTest(number=number, page=colours["page"]):
                    self.assertGreaterEqual(contrast(colours["ink"], mixed(colours[f"c{number}"], colours["page"], tint)), 4.5)

    def test_colours_are_defined_in_one_place(self):
        css = pathlib.Path(STYLE_SHEET).read_text(encoding="utf-8")
        rest = re.sub(r":root \{.*?\}", "", css, flags=re.DOTALL)
        self.assertEqual(re.findall(r"#[0-9a-fA-F]{3,8}\b(?! )|rgba?\(|hsla?\(", re.sub(r"(?m)^[^{]*\{|#[\w-]+ [^{]*\{", "", rest)), [])


def luminance(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def mixed(colour, ground, share):
    parts = [(int(colour[at:at + 2], 16), int(ground[at:at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in parts)


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class Holds(Case):
    """Tests hostile names, and the page without scripts."""

    def test_hostile_names_do_nothing(self):
        self.open("hostile")
        BROWSER.run("for (const each of document.querySelectorAll('details')) each.open = true; view.choose(2);")
        left, top, width, height = BROWSER.box("#icicle .cell[data-path='2']")
        BROWSER.move_to(left + width / 2, top + height / 2)
        self.assertEqual(self.count("img, iframe, object, embed, link, base, form"), 0)
        self.assertEqual(self.count("script"), 3)
        self.assertTrue(self.text("h1").startswith("</script><img src=x"))
        self.assertIn("<img src=x", self.text("#tip"))
        self.assertEqual(BROWSER.console(), [])

    def test_nothing_gets_in_from_outside(self):
        self.open("usual")
        self.says = ["Content Security Policy", "127.0.0.1"]
        refused = BROWSER.run_later("""
            const done = arguments[0];
            const found = new Set();
            document.addEventListener("securitypolicyviolation", (event) => found.add(event.effectiveDirective));
            const add = (name, change) => { const e = document.createElement(name); Object.assign(e, change); document.body.append(e); };
            add("script", {textContent: "document.title = 'broken in'"});
            add("img", {src: "file:///etc/hostname"});
            add("div", {innerHTML: "<b style='color: red' onclick='1'>x</b>"});
            add("iframe", {src: "data:text/html,x"});
            add("link", {rel: "stylesheet", href: "file:///x.css"});
            fetch("http://127.0.0.1:1/").catch(() => {});
            setTimeout(() => done([...found].sort()), 500);""")
        self.assertLessEqual({"connect-src", "frame-src", "img-src", "script-src-attr", "script-src-elem", "style-src-attr", "style-src-elem"}, set(refused))
        self.assertNotEqual(BROWSER.run("return document.title"), "broken in")

    def readable(self):
        self.assertGreater(self.count("#tree-table tbody tr"), 3)
        self.assertGreater(BROWSER.box("#tree-table")[3], 100)
        self.assertGreater(BROWSER.box("#steps svg.still")[2], 500)
        self.assertIn("samples/s", self.text("#figures"))
        self.assertIn("input-bound", self.text("#findings"))

    def test_is_readable_without_scripts(self):
        BROWSER.switch_scripts(False)
        self.addCleanup(BROWSER.switch_scripts, True)
        BROWSER.open(page("usual") / "run.html")
        BROWSER.switch_scripts(True)  # only for the test's queries: the page's own script has not run
        self.readable()
        self.assertIsNone(BROWSER.run("return document.documentElement.dataset.ready ?? null"))

    def test_is_readable_with_a_modified_script(self):
        self.open_changed("usual", "drawRun();", "drawRun() ;")
        self.readable()
        said = BROWSER.console()
        self.assertEqual(len(said), 1, said)
        self.assertIn("Content Security Policy", said[0])

    def test_page_is_small(self):
        for kind in ("usual", "long", "regions", "gpu", "ranks", "many_ranks"):
            size = (page(kind) / "run.html").stat().st_size
            print(f"{kind}: {size / 1000:.0f} kB")
            self.assertLess(size, 400_000, kind)
        # Its heat map has a tenth of the cells that there may be.
        size = (page("largest_job") / "run.html").stat().st_size
        print(f"largest_job: {size / 1000:.0f} kB")
        self.assertLess(size, 570_000)


if __name__ == "__main__":
    page_case.main()
