// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Builds the page of takt scaling: charts over ranks, one line for the steps and each kind of trial.

const data = JSON.parse(document.getElementById("data").textContent);
const sizes = [...new Set(data.lines.flatMap((line) => line.runs.map((run) => run.ranks)))].sort((a, b) => a - b);

function rateText(rate) {
  return rate < 99.95 ? threeDigits(rate) : rate < 999999.5 ? grouped(Math.round(rate)) : withPrefix(rate, "");
}

function lineStyle(at) {
  return {stroke: `var(--c${at + 1})`, class: `line dash${at % 4}`};
}

/** Values over ranks: `value(run)` with its interval from `least(run)` to `most(run)`, and `ideal(run, first)`. */
class SizeChart {
  constructor(element, {label, height, value, least, most, ideal, text, tick = text, scale, key}) {
    Object.assign(this, {element, height, value, least, most, ideal, text, tick, scale, key, top: 12});
    this.at = -1;  // index of the size at the pointer
    this.legend = html("div", {class: "legend"});
    this.picture = svg("svg", {height, "aria-hidden": "true"});
    this.area = html("div", {class: "area", tabindex: 0, role: "group",
      "aria-label": `${label}. Left and right arrows read the values.`}, this.picture);
    element.replaceChildren(this.legend, this.area);
    this.drawLegend();
    this.area.addEventListener("pointermove", (event) => this.pointTo(event));
    this.area.addEventListener("keydown", (event) => this.press(event));
    for (const each of ["pointerleave", "blur"]) this.area.addEventListener(each, () => this.mark(-1));
    new ResizeObserver(() => this.paint()).observe(element);
    this.paint();
  }

  drawLegend() {
    const items = data.lines.map((line, at) => html("span", {class: "item"},
      svg("svg", {width: 30, height: 10}, svg("line", {...lineStyle(at), x1: 0, x2: 30, y1: 5, y2: 5})),
      fitText(line.name, Math.min(300, this.element.clientWidth - 50), "13px")));
    this.legend.replaceChildren(...items, html("span", {class: "item quiet"},
      svg("svg", {width: 30, height: 10}, svg("line", {class: "axis", x1: 0, x2: 30, y1: 5, y2: 5})), this.key));
  }

  paint() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    this.width = width;
    this.left = kMargin.left;
    this.right = width - (width < kNarrow ? 14 : kGutter);
    this.bottom = this.height - 42;
    const ends = Math.sqrt(Math.max(sizes.at(-1) / sizes[0], 2)) ** 0.12;
    this.x = logarithmic(sizes[0] / ends, sizes.at(-1) * ends, this.left, this.right);
    const seen = data.lines.flatMap(({runs}) => runs.flatMap((run) =>
      [this.least(run), this.most(run), this.ideal(run, runs[0])]));
    const {y, values} = this.scale(Math.min(...seen), Math.max(...seen), this.bottom, this.top);
    this.y = y;
    this.around = svg("g");
    this.line = svg("line", {class: "cursor", y1: this.top, y2: this.bottom, visibility: "hidden"});
    this.picture.setAttribute("width", width);
    this.picture.replaceChildren(this.around, this.line);
    StepChart.prototype.drawValues.call(this, values, y, this.tick);
    this.drawSizes();
    data.lines.forEach((line) => this.drawIdeal(line));
    const labels = data.lines.map((line, at) => this.drawLine(line, at));
    StepChart.prototype.drawLabels.call(this, labels);
    this.mark(-1);
  }

  drawSizes() {
    let end = -Infinity;
    this.around.append(svg("line", {class: "axis", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom}),
      svg("text", {class: "quiet", x: (this.left + this.right) / 2, y: this.bottom + 36, "text-anchor": "middle"},
        "ranks"));
    for (const each of sizes) {
      const [x, half] = [this.x(each), textWidth(grouped(each)) / 2];
      this.around.append(svg("line", {class: "axis", x1: x, x2: x, y1: this.bottom, y2: this.bottom + 4}));
      if (x - half < end + 6) continue;
      this.around.append(svg("text", {x, y: this.bottom + 18, "text-anchor": "middle"}, grouped(each)));
      end = x + half;
    }
  }

  path(runs, value) {
    return `M${runs.map((run) => `${this.x(run.ranks).toFixed(2)} ${this.y(value(run)).toFixed(2)}`).join("L")}`;
  }

  drawIdeal({runs}) {
    this.picture.append(svg("path", {class: "axis", d: this.path(runs, (run) => this.ideal(run, runs[0]))}));
  }

  /** Draws one line through the first run of each size, and all runs as points; returns its label. */
  drawLine({name, runs}, at) {
    const style = lineStyle(at);
    const first = runs.filter((run, place) => place === 0 || runs[place - 1].ranks !== run.ranks);
    this.picture.append(svg("path", {...style, d: this.path(first, this.value)}));
    for (const run of runs) {
      const x = this.x(run.ranks);
      const [y, low, high] = [this.value, this.least, this.most].map((each) => this.y(each(run)));
      if (low !== high) {
        const bar = `M${x - 4} ${low}h8m-4 0V${high}m-4 0h8`;
        this.picture.append(svg("path", {class: "line", stroke: style.stroke, d: bar}));
      }
      this.picture.append(svg("circle", {cx: x, cy: y, r: 3.5, fill: style.stroke}));
    }
    return {y: this.y(this.value(first.at(-1))), text: ending(name), isStrong: true};
  }

  pointTo(event) {
    const box = this.area.getBoundingClientRect();
    const distances = sizes.map((each) => Math.abs(this.x(each) - event.clientX + box.left));
    this.mark(distances.indexOf(Math.min(...distances)), event.clientX, event.clientY);
  }

  press(event) {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Escape") this.mark(-1);
    if (!by) return;
    event.preventDefault();
    const box = this.area.getBoundingClientRect();
    const at = Math.min(Math.max(this.at + by, 0), sizes.length - 1);
    this.mark(at, box.left + this.x(sizes[at]), box.top + this.top);
  }

  /** Shows the values of the size with this index; -1: none. */
  mark(at, left, top) {
    this.at = at;
    this.line?.setAttribute("visibility", at < 0 ? "hidden" : "visible");
    if (at < 0) return tip.hide();
    for (const end of ["x1", "x2"]) this.line.setAttribute(end, this.x(sizes[at]));
    tip.show(this.linesOf(sizes[at]), left, top);
  }

  linesOf(size) {
    const found = data.lines.flatMap((line) => line.runs.filter((run) => run.ranks === size).map((run) => {
      const [low, high] = [this.least(run), this.most(run)];
      const interval = low === high ? "" : ` (${this.text(low)} to ${this.text(high)})`;
      return [`${line.name}, ${run.run}`, this.text(this.value(run)) + interval];
    }));
    return [[`${grouped(size)} ${size === 1 ? "rank" : "ranks"}`], ...found];
  }
}

new SizeChart(document.getElementById("rate-chart"), {label: "Samples per second over ranks", height: 340,
  key: "ideal: the smallest run's rate, times the ranks; bars: 95 % intervals; samples/s, both axes logarithmic",
  value: (run) => run.rate, least: (run) => run.low ?? run.rate, most: (run) => run.high ?? run.rate,
  ideal: (run, first) => first.rate * run.ranks / first.ranks, text: rateText,
  scale: (low, high, bottom, top) => {
    const [from, to] = [low / 1.15, high * 1.15];
    return {y: logarithmic(from, to, bottom, top), values: logTicks(from, to)};
  }});
const efficiency = (run) => run.efficiency;
new SizeChart(document.getElementById("efficiency-chart"), {label: "Efficiency over ranks", height: 260,
  key: "ideal: the smallest run's rate per rank",
  value: efficiency, least: efficiency, most: efficiency, ideal: () => 1,
  text: percentText, tick: (share) => `${Math.round(100 * share)} %`,
  scale: (low, high, bottom, top) => {
    const to = Math.max(high, 1) * 1.05;
    return {y: linear(0, to, bottom, top), values: ticks(0, to, 6)};
  }});
keepViewInAddress();
document.documentElement.dataset.ready = performance.now().toFixed(0);
