// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Phases of steps, stacked over steps; stream spans and user metrics as lines on the same axis.

const kNarrowestBar = 5;  // pixels
const kThinPhase = 12;

/** Returns the steps of a group of blocks: [first, last] on the axis. */
function groupRange(series, group) {
  const {blocks, data} = series;
  const end = Math.min((group + 1) * data.group, blocks.size) - 1;
  return [blocks.first[group * data.group], blocks.last(end)];
}

/**
 * Returns the steps in view as bars wide enough to see, each of one or more groups of blocks: first and last step, and
 * the mean of each of `phases`.
 */
function barsInView(series, phases, width) {
  const {blocks, data} = series;
  const steps = (group) => sumOf(blocks.counts.slice(group * data.group, (group + 1) * data.group));
  const [begin, end] = blocks.between(view.low, view.high);
  const [first, last] = [Math.floor(begin / data.group), Math.ceil(end / data.group)];
  const each = Math.max(1, Math.ceil((last - first) / (width / kNarrowestBar)));
  const bars = [];
  for (let at = first - first % each; at < last; at += each) {
    const groups = Array.from({length: Math.min(each, phases[0].ns.length - at)}, (_, place) => at + place);
    const counts = groups.map(steps);
    const all = sumOf(counts);
    bars.push({first: groupRange(series, groups[0])[0], last: groupRange(series, groups.at(-1))[1],
      ns: phases.map((phase) => sumOf(groups.map((group, place) => phase.ns[group] * counts[place])) / all)});
  }
  return bars;
}

class PhaseChart {
  constructor(element, all) {
    this.all = all;
    this.chart = new StepChart(element, {
      label: "What a step consists of, over steps", height: 230, top: 8,
      draw: (chart) => this.draw(chart), linesAt: (step, y) => this.linesAt(step, y),
    });
    this.chart.area.addEventListener("click", (event) => this.click(event));
  }

  get series() {
    return this.all[view.series];
  }

  /** Phases from bottom to top: in tree order, with time outside regions on top. */
  get phases() {
    const {path, phases} = this.series.data;
    const place = (phase) => (typeof phase.path === "number" && phase.path !== path ? phase.path : Infinity);
    return [...phases].sort((a, b) => place(a) - place(b));
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
      const isThin = Math.max(...this.bars.map((bar) => y(0) - y(bar.ns[number]))) < kThinPhase;
      chart.plot.append(svg("path", {class: `phase ${isChosen ? "is-chosen" : ""}`,
        fill: fillOf(phase.path, batch, isThin), d: `M${upper.slice(1)}${lower.reverse().join("")}Z`}));
      const [top, bottom] = [y(floors.at(-1)), y(floors.at(-1) - this.bars.at(-1).ns[number])];
      const text = bottom - top < 9 && !isChosen ? "" : partName(phase.path, batch, true);
      return {y: (top + bottom) / 2, text, isStrong: isChosen};
    });
    chart.element.classList.toggle("has-chosen", phases.some((each) => each.path === view.region));
    chart.drawLabels(labels);
  }

  barAt(step) {
    const found = firstPlace(this.bars.length, (at) => this.bars[at].last + 0.5 >= step);
    return this.bars[Math.min(found, this.bars.length - 1)];
  }

  /** Returns the index of the phase below the pointer; -1: none. */
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
    const range = this.series.blocks.rangeText(bar.first, bar.last);
    return [[range], ["mean of a step", timeText(whole)], ...lines.reverse()];
  }

  click(event) {
    const [x, y] = this.chart.place(event);
    if (x < this.chart.left || x > this.chart.right) return;
    const phase = this.phases[this.phaseAt(this.chart.step(x), y)];
    if (phase && typeof phase.path === "number") view.choose(phase.path);
  }
}

/** Returns one line per path with stream spans. */
function streamLines(series) {
  const {data} = series;
  const middle = (group) => groupRange(series, group).reduce((a, b) => a + b) / 2;
  return data.streams.map((each, at) => ({name: partName(each.path, -1, true), color: colorOf(each.path), dash: at % 4,
    x: each.ns.map((_, group) => middle(group)), y: each.ns}));
}
