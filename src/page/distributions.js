// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Distributions of call times: one strip per region on a common logarithmic axis.

const kStrip = 34;
const kFewStrips = 12;
const kClassesAnOctave = 8;

class Distributions {
  constructor(element) {
    this.element = element;
    this.withHistogram = [...regions.paths.keys()].filter((path) => regions.paths[path].histogram?.length > 1);
    this.isWhole = false;
    this.legend = html("div", {class: "legend"});
    this.picture = svg("svg", {role: "group", "aria-label": "How long calls take, by region"});
    element.replaceChildren(this.legend, this.picture);
    view.onChange((what) => { if (what === "region") this.paint(); });
    new ResizeObserver(() => this.paint()).observe(element);
    this.paint();
  }

  /** Returns the regions with the most time and the selected one, in tree order. */
  shown() {
    if (this.isWhole) return this.withHistogram;
    const bySelf = [...this.withHistogram].sort((a, b) => regions.paths[b].self_ns - regions.paths[a].self_ns);
    const few = bySelf.slice(0, kFewStrips);
    return this.withHistogram.filter((path) => few.includes(path) || path === view.region);
  }

  paint() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const shown = this.shown();
    if (shown.length === 0) {
      this.element.replaceChildren(html("p", {class: "quiet"}, "No call was measured after warm-up."));
      return;
    }
    const isNarrow = width < kNarrow;
    this.left = labelWidth(shown.map((path) => ending(regions.paths[path].full)), width);
    this.right = width - (isNarrow ? 12 : 150);
    this.top = 24;
    const bottom = this.top + shown.length * kStrip;
    const histograms = shown.map((path) => regions.paths[path].histogram);
    const first = Math.min(...histograms.map((each) => each[0]));
    const last = Math.max(...histograms.map((each) => each[0] + each.length - 1));
    this.first = first;
    this.x = linear(first, last, this.left, this.right);
    const edge = (ns) => this.x(kClassesAnOctave * Math.log2(ns));
    this.picture.replaceChildren();
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", bottom + 6);
    let free = 0;
    for (const each of logTicks(2 ** (first / kClassesAnOctave), 2 ** (last / kClassesAnOctave))) {
      const [text, x] = [timeText(each), edge(each)];
      this.picture.append(svg("line", {class: "grid", x1: x, x2: x, y1: this.top - 4, y2: bottom}));
      if (x - textWidth(text) / 2 < free || x + textWidth(text) / 2 > width) continue;
      free = x + textWidth(text) / 2 + 8;
      this.picture.append(svg("text", {x, y: this.top - 10, "text-anchor": "middle"}, text));
    }
    shown.forEach((path, at) => this.strip(path, this.top + at * kStrip, edge, isNarrow));
    this.tell(shown);
  }

  strip(path, top, edge, isNarrow) {
    const region = regions.paths[path];
    const [first, ...counts] = region.histogram;
    const floor = top + kStrip - 4;
    const y = linear(0, Math.max(...counts), floor, top + 4);
    let area = `M${this.x(first).toFixed(1)} ${floor}`;
    counts.forEach((count, at) => {
      const height = count > 0 ? Math.min(y(count), floor - 1.5) : floor;  // keep a single call visible
      area += `V${height.toFixed(1)}H${this.x(first + at + 1).toFixed(1)}`;
    });
    const isChosen = path === view.region;
    const [median, most] = [region.p50_ns, region.p99_ns].map((ns) => (ns === null ? "" : timeText(ns)));
    const group = svg("g", {class: isChosen ? "strip is-chosen" : "strip", role: "button", tabindex: 0,
      "data-path": path, "aria-pressed": isChosen, "aria-label": `${region.full}: median ${median}`},
    svg("rect", {class: "row", x: 0, y: top, width: this.element.clientWidth, height: kStrip - 1}),
    svg("path", {fill: fillOf(path), d: `${area}V${floor}Z`}),
    svg("line", {class: "axis", x1: this.left, x2: this.right, y1: floor, y2: floor}));
    const mark = (ns, name) => {
      if (ns !== null) group.append(svg("path", {class: name, d: `M${edge(ns).toFixed(1)} ${top + 3}V${floor}`}));
    };
    mark(region.p50_ns, "mark p50");
    if (region.p99_ns !== null) {
      group.append(svg("path", {class: "mark p99", d: `M${edge(region.p99_ns).toFixed(1)} ${top + 10}l-5 -8h10Z`}));
    }
    const font = isChosen ? "600 12.5px" : "12.5px";
    const name = fitWords([ending(region.full), region.name], this.left - 16, font)
      || fitText(region.name, this.left - 16, font);
    group.append(svg("text", {x: this.left - 10, y: top + kStrip / 2 + 4, "text-anchor": "end"}, name));
    if (!isNarrow) {
      const text = most === "" ? median : `${median} / ${most}`;
      group.append(svg("text", {class: "quiet", x: this.right + 10, y: top + kStrip / 2 + 4}, text));
    }
    onPress(group, () => {
      view.choose(path);
      this.picture.querySelector(`[data-path="${path}"]`).focus();
    });
    this.picture.append(group);
    explain(group, (_x, _y, event) => this.linesAt(path, event));
  }

  linesAt(path, event) {
    const region = regions.paths[path];
    const [first, ...counts] = region.histogram;
    const lines = [[region.full], ["calls", countText(region.n)]];
    const x = event.clientX - this.picture.getBoundingClientRect().left;
    const number = Math.floor(this.first + (x - this.left) / (this.x(1) - this.x(0))) - first;
    if (counts[number] > 0) {
      const [from, to] = [first + number, first + number + 1].map((each) => timeText(2 ** (each / kClassesAnOctave)));
      const all = counts.reduce((sum, each) => sum + each, 0);
      lines.push([`${from} to ${to}`, `${countText(counts[number])}  ${percentText(counts[number] / all)}`, true]);
    }
    for (const [name, field] of [["median", "p50_ns"], ["p90", "p90_ns"], ["p99", "p99_ns"], ["max", "max_ns"]]) {
      if (region[field] !== null) lines.push([name, timeText(region[field])]);
    }
    return lines;
  }

  tell(shown) {
    const tools = html("span", {class: "tools"});
    if (shown.length < this.withHistogram.length || this.isWhole) {
      const text = this.isWhole ? `Only ${kFewStrips}` : `All ${this.withHistogram.length}`;
      tools.append(button(text, "How many regions are shown", () => {
        this.isWhole = !this.isWhole;
        this.paint();
        this.legend.querySelector("button").focus();
      }));
    }
    const whose = data.run.ranks > 1 ? "of all ranks " : "";
    this.legend.replaceChildren(keyItem("p50", "median"), keyItem("p99", "p99"),
      quietItem(`calls ${whose}after warm-up; bar height: number of calls (each row scaled to its own maximum)`),
      tools);
  }
}
