// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Charts of the metrics that the reader chooses, over steps.

const kFewMetrics = 4;

/** Returns the metrics that are drawn unless the reader chooses others: not those that the table of Epochs has. */
function firstMetrics() {
  const others = data.metrics.filter((each) => !each.name.startsWith("epoch/"));
  return others.slice(0, kFewMetrics).map((each) => data.metrics.indexOf(each));
}

function metricLines(series, metric) {
  const x = metric.first.map((step) => series.blocks.positionOfNumber(step));
  const places = x.map((_, at) => at).filter((at) => !Number.isNaN(x[at])).sort((a, b) => x[a] - x[b]);
  const pick = (values) => values && places.map((at) => values[at]);
  return [{name: metric.name, color: "var(--ink)", dash: 0, x: pick(x), y: pick(metric.mean), least: pick(metric.least),
    most: pick(metric.most)}];
}

class MetricCharts {
  constructor(element, all) {
    Object.assign(this, {element, all});
    this.charts = [];  // by metric, once drawn
    this.boxes = data.metrics.map((metric, at) => this.box(metric, at));
    const choice = html("fieldset", {class: "choice"}, html("legend", {}, "Metrics"), ...this.boxes);
    if (data.metrics.length > 1) element.append(choice);
    view.onChange((what) => { if (what === "metrics") this.update(); });
    this.update();
  }

  box(metric, at) {
    const input = html("input", {type: "checkbox", value: at});
    input.addEventListener("change", () => view.chooseMetrics(
      data.metrics.map((_, each) => each).filter((each) => this.boxes[each].firstChild.checked)));
    return html("label", {}, input, metric.name);
  }

  /** Draws the chosen charts; the lowest one has the axis. */
  update() {
    const wanted = view.metrics ?? firstMetrics();
    const chosen = data.metrics.map((_, at) => at).filter((at) => wanted.includes(at));
    data.metrics.forEach((metric, at) => {
      const isChosen = chosen.includes(at);
      this.boxes[at].firstChild.checked = isChosen;
      if (isChosen) this.charts[at] ??= this.draw(metric, at);
      if (!this.charts[at]) return;
      const {chart} = this.charts[at];
      chart.element.hidden = !isChosen;
      chart.hasAxis = at === chosen.at(-1);
      chart.redraw();
    });
  }

  draw(metric, at) {
    const place = html("div", {class: "chart metric"});
    const next = this.charts.find((each, other) => each && other > at);
    if (next) next.chart.element.before(place);
    else this.element.append(place);
    return new LineChart(place, {label: `${metric.name} over steps`, name: metric.name, height: 104, hasAxis: false,
      text: numberText, lines: () => metricLines(this.all[view.series], metric)});
  }
}
