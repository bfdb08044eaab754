// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Lines over steps.

/**
 * Several lines in one chart, each {name, color, dash, x, y} with numbers per axis position, and optional `least` and
 * `most`.
 */
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
    const labels = lines.map((line) => this.drawLine(chart, line, y));
    chart.drawLabels(labels);
    chart.legend.replaceChildren(html("span", {class: "item strong"}, this.name));
  }

  drawLine(chart, line, y) {
    const begin = Math.max(firstPlace(line.x.length, (at) => line.x[at] >= view.low) - 1, 0);
    const end = Math.min(firstPlace(line.x.length, (at) => line.x[at] > view.high) + 1, line.x.length);
    const points = line.x.slice(begin, end).map((x, at) => [chart.x(x).toFixed(2), begin + at]);
    if (points.length === 0) return {y: chart.bottom, text: ""};
    if (line.least) {
      const upper = points.map(([x, at]) => `L${x} ${y(line.most[at]).toFixed(2)}`).join("");
      const lower = points.reverse().map(([x, at]) => `L${x} ${y(line.least[at]).toFixed(2)}`).join("");
      points.reverse();
      chart.plot.append(svg("path", {class: "spread", d: `M${upper.slice(1)}${lower}Z`}));
    }
    const path = points.map(([x, at]) => `L${x} ${y(line.y[at]).toFixed(2)}`).join("");
    chart.plot.append(svg("path", {class: `line dash${line.dash}`, stroke: line.color, d: `M${path.slice(1)}`}));
    if (points.length <= 40) {
      chart.plot.append(...points.map(([cx, at]) => svg("circle", {cx, cy: y(line.y[at]), r: 2.5, fill: line.color})));
    }
    const last = line.y[end - 1];
    return {y: last === undefined ? chart.bottom : Math.min(Math.max(y(last), chart.top), chart.bottom),
      text: last === undefined ? "" : this.lines().length > 1 ? line.name : this.text(last), isStrong: true};
  }

  linesAt(step) {
    const all = this.lines();
    const notes = all.flatMap((line) => {
      if (line.x.length === 0) return [];
      const behind = firstPlace(line.x.length, (at) => line.x[at] >= step);
      const isNearer = behind > 0 && (behind === line.x.length || step - line.x[behind - 1] < line.x[behind] - step);
      const at = isNearer ? behind - 1 : behind;
      const isRange = line.least && line.least[at] !== line.most[at];
      const range = isRange ? ` (${this.text(line.least[at])} to ${this.text(line.most[at])})` : "";
      const name = all.length > 1 ? line.name : `at step ${grouped(Math.round(line.x[at]))}`;
      return [[name, this.text(line.y[at]) + range]];
    });
    return notes.length === 0 ? null : [[this.name], ...notes];
  }
}
