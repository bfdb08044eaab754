// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// What steps consist of, stacked over steps; stream spans and the program's metrics as lines on the same axis.

const kNarrowestBar = 5;  // pixels

/** The steps that a group of blocks has: [first, last] on the axis. */
function groupRange(series, group) {
  const {blocks, data} = series;
  const end = Math.min((group + 1) * data.group, blocks.size) - 1;
  return [blocks.first[group * data.group], blocks.last(end)];
}

/**
 * The steps in view as bars that are wide enough to be seen, of one group of blocks or several: first and last step, and
 * the mean that each of `phases` has in them.
 */
function barsInView(series, phases, width) {
  const {blocks, data} = series;
  const steps = (group) => blocks.counts.slice(group * data.group, (group + 1) * data.group).reduce((sum, each) => sum + each, 0);
  const [begin, end] = blocks.between(view.low, view.high);
  const [first, last] = [Math.floor(begin / data.group), Math.ceil(end / data.group)];
  const each = Math.max(1, Math.ceil((last - first) / (width / kNarrowestBar)));
  const bars = [];
  for (let at = first - first % each; at < last; at += each) {
    const groups = Array.from({length: Math.min(each, phases[0].ns.length - at)}, (_, place) => at + place);
    const counts = groups.map(steps);
    const all = counts.reduce((sum, count) => sum + count, 0);
    bars.push({first: groupRange(series, groups[0])[0], last: groupRange(series, groups.at(-1))[1],
      ns: phases.map((phase) => groups.reduce((sum, group, place) => sum + phase.ns[group] * counts[place], 0) / all)});
  }
  return bars;
}

class PhaseChart {
  constructor(element, all) {
    this.all = all;
    this.chart = new StepChart(element, {
      label: "What a step consists of, over steps", height: 240,
      draw: (chart) => this.draw(chart), linesAt: (step, y) => this.linesAt(step, y),
    });
    this.chart.area.addEventListener("click", (event) => this.click(event));
  }

  get series() {
    return this.all[view.series];
  }

  /** From the bottom to the top: in the order of the call tree, with what has no region on top. */
  get phases() {
    const place = (phase) => (typeof phase.path === "number" && phase.path !== this.series.data.path ? phase.path : Infinity);
    return [...this.series.data.phases].sort((a, b) => place(a) - place(b));
  }

  draw(chart) {
    const {phases} = this;
    const batch = this.series.data.path;
    this.bars = barsInView(this.series, phases, chart.right - chart.left);
    const most = Math.max(...this.bars.map((bar) => sumOf(bar.ns)), 1) * 1.04;
    const y = linear(0, most, chart.bottom, chart.top);
    this.y = y;
    chart.drawValues(ticks(0, most, 4), y, timeText);
    const floors = this.bars.map(() => 0);
    const labels = phases.map((phase, number) => {
      let [upper, lower] = ["", []];
      this.bars.forEach((bar, at) => {
        const [left, right] = [chart.x(bar.first - 0.5).toFixed(2), chart.x(bar.last + 0.5).toFixed(2)];
        const top = floors[at] + bar.ns[number];
        upper += `L${left} ${y(top).toFixed(2)}H${right}`;
        lower.push(`L${right} ${y(floors[at]).toFixed(2)}H${left}`);
        floors[at] = top;
      });
      const isChosen = phase.path === view.region;
      chart.plot.append(svg("path", {class: `phase ${isChosen ? "is-chosen" : ""}`, fill: fillOf(phase.path, batch),
        d: `M${upper.slice(1)}${lower.reverse().join("")}Z`}));
      const [top, bottom] = [y(floors.at(-1)), y(floors.at(-1) - this.bars.at(-1).ns[number])];
      const text = bottom - top < 9 && !isChosen ? "" : partName(phase.path, batch, true);
      return {y: (top + bottom) / 2, text, isStrong: isChosen};
    });
    chart.element.classList.toggle("has-chosen", phases.some((each) => each.path === view.region));
    chart.drawLabels(labels);
  }

  barAt(step) {
    return this.bars[Math.min(firstPlace(this.bars.length, (at) => this.bars[at].last + 0.5 >= step), this.bars.length - 1)];
  }

  /** The number of the phase below the pointer; -1: none. */
  phaseAt(step, y) {
    let floor = 0;
    return this.barAt(step).ns.findIndex((each) => {
      const isHere = y <= this.y(floor) && y >= this.y(floor + each);
      floor += each;
      return isHere;
    });
  }

  linesAt(step, y) {
    const bar = this.barAt(step);
    const here = this.phaseAt(step, y);
    const whole = sumOf(bar.ns);
    const lines = this.phases.map((each, at) => [partName(each.path, this.series.data.path),
      `${timeText(bar.ns[at])}  ${percentText(whole > 0 ? bar.ns[at] / whole : 0)}`, at === here]);
    return [[this.series.blocks.rangeText(bar.first, bar.last)], ["mean of a step", timeText(whole)], ...lines.reverse()];
  }

  click(event) {
    const [x, y] = this.chart.place(event);
    if (x < this.chart.left || x > this.chart.right) return;
    const phase = this.phases[this.phaseAt(this.chart.step(x), y)];
    if (phase && typeof phase.path === "number") view.choose(phase.path);
  }
}

/** Lines over steps: of each {name, path, x: [], y: []}, in one chart. */
class LineChart {
  constructor(element, {label, height, lines, text, name, hasAxis}) {
    Object.assign(this, {lines, text, name});
    this.chart = new StepChart(element, {
      label, height, hasAxis, draw: (chart) => this.draw(chart), linesAt: (step) => this.linesAt(step),
    });
  }

  draw(chart) {
    const lines = this.lines();
    const seen = lines.flatMap((line) => line.x.flatMap((x, at) =>
      x >= view.low && x <= view.high ? [line.least?.[at] ?? line.y[at], line.most?.[at] ?? line.y[at]] : []));
    let [low, high] = [Math.min(...seen), Math.max(...seen)];
    if (seen.length === 0) [low, high] = [0, 1];
    const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
    const y = linear(low - room, high + room, chart.bottom, chart.top);
    chart.drawValues(ticks(low - room, high + room, chart.height > 150 ? 4 : 3), y, this.text);
    const labels = lines.map((line, at) => this.drawLine(chart, line, at, y));
    chart.drawLabels(labels);
    chart.legend.replaceChildren(html("span", {class: "item strong"}, this.name));
  }

  drawLine(chart, line, number, y) {
    const begin = Math.max(firstPlace(line.x.length, (at) => line.x[at] >= view.low) - 1, 0);
    const end = Math.min(firstPlace(line.x.length, (at) => line.x[at] > view.high) + 1, line.x.length);
    const points = line.x.slice(begin, end).map((x, at) => [chart.x(x).toFixed(2), begin + at]);
    const color = line.path === undefined ? "var(--ink)" : colorOf(line.path);
    if (line.least) {
      const upper = points.map(([x, at]) => `L${x} ${y(line.most[at]).toFixed(2)}`).join("");
      const lower = points.reverse().map(([x, at]) => `L${x} ${y(line.least[at]).toFixed(2)}`).join("");
      points.reverse();
      chart.plot.append(svg("path", {class: "spread", d: `M${upper.slice(1)}${lower}Z`}));
    }
    const path = points.map(([x, at]) => `L${x} ${y(line.y[at]).toFixed(2)}`).join("");
    chart.plot.append(svg("path", {class: `line dash${number % 4}`, stroke: color, d: `M${path.slice(1)}`}));
    if (points.length <= 40) {
      for (const [x, at] of points) chart.plot.append(svg("circle", {cx: x, cy: y(line.y[at]), r: 2.5, fill: color}));
    }
    const last = line.y[end - 1];
    return {y: last === undefined ? chart.bottom : Math.min(Math.max(y(last), chart.top), chart.bottom),
      text: last === undefined ? "" : this.lines().length > 1 ? line.name : this.text(last), isStrong: true};
  }

  linesAt(step) {
    const notes = this.lines().flatMap((line) => {
      if (line.x.length === 0) return [];
      const behind = firstPlace(line.x.length, (at) => line.x[at] >= step);
      const isNearer = behind > 0 && (behind === line.x.length || step - line.x[behind - 1] < line.x[behind] - step);
      const at = isNearer ? behind - 1 : behind;
      const range = line.least && line.least[at] !== line.most[at] ? ` (${this.text(line.least[at])} to ${this.text(line.most[at])})` : "";
      return [[this.lines().length > 1 ? line.name : `at step ${grouped(Math.round(line.x[at]))}`, this.text(line.y[at]) + range]];
    });
    return notes.length === 0 ? null : [[this.name], ...notes];
  }
}

/** Of each path with stream spans a line. */
function streamLines(series) {
  const {data} = series;
  const middle = (group) => groupRange(series, group).reduce((a, b) => a + b) / 2;
  return data.streams.map((each) => ({name: partName(each.path, -1, true), path: each.path, y: each.ns,
    x: each.ns.map((_, group) => middle(group))}));
}

function metricLines(series, metric) {
  const x = metric.first.map((step) => series.blocks.positionOfNumber(step));
  const places = x.map((_, at) => at).filter((at) => !Number.isNaN(x[at])).sort((a, b) => x[a] - x[b]);
  const pick = (values) => values && places.map((at) => values[at]);
  return [{name: metric.name, x: pick(x), y: pick(metric.mean), least: pick(metric.least), most: pick(metric.most)}];
}
