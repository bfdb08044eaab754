// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Builds a run page. The static content can be read without this script.

const data = JSON.parse(document.getElementById("data").textContent);

/** Shows the current view, with buttons to change it. */
class ViewBar {
  constructor(element, all) {
    Object.assign(this, {element, all});
    this.range = html("span", {class: "range", role: "status"});
    this.region = html("button", {type: "button", class: "region", "aria-label": "No region is chosen"});
    this.region.addEventListener("click", () => view.choose(view.region));
    this.steps = html("span", {class: "steps"}, ...viewButtons(), this.range);
    this.choice = html("select", {"aria-label": "Which ranks and steps"},
      ...all.map((each, at) => html("option", {value: at}, each.name)));
    this.choice.addEventListener("change", () => chooseSeries(all, Number(this.choice.value)));
    element.replaceChildren(...all.length > 1 ? [this.choice] : [], ...all.length > 0 ? [this.steps] : [], this.region);
    view.onChange(() => this.tell());
    this.tell();
  }

  tell() {
    const path = regions.paths[view.region];
    this.region.hidden = path === undefined;
    if (path) {
      this.region.replaceChildren(swatch(view.region), path.full, " ×");
      this.region.setAttribute("aria-label", `${path.full} is chosen; choose none`);
    }
    if (this.all.length === 0) return void (this.element.hidden = path === undefined);
    this.element.hidden = false;
    this.choice.value = view.series;
    const {blocks} = this.all[view.series];
    this.range.replaceChildren(html("b", {}, blocks.rangeText(Math.ceil(view.low), Math.floor(view.high))),
      html("span", {class: "figures"}, ` ${rangeFigures(this.all[view.series])}`));
  }
}

/** Shows other steps everywhere, and the figures of their rank. */
function chooseSeries(all, series) {
  regions.showRank(data, all[series].rank);
  view.setSeries(series, all[series].blocks.whole());
}

/** Adds each row's chart colour before its name. */
function addSwatches(table, phases, batch) {
  table.classList.add("has-swatches");
  phases.forEach((phase, at) => table.tBodies[0].rows[at]?.cells[0].prepend(swatch(phase.path, batch)));
}

/** Writes the table of the phases of the chosen steps. */
function fillPhases(table, {data: {phases, path, steps}}) {
  const whole = sumOf(phases.map((each) => each.total_ns));
  table.tBodies[0].replaceChildren(...phases.map((each) => html("tr", {},
    html("th", {scope: "row"}, html("span", {class: "name"}, partName(each.path, path))),
    html("td", {class: "n"}, timeText(each.total_ns / steps)),
    html("td", {class: "n"}, percentText(whole > 0 ? each.total_ns / whole : 0)))));
  addSwatches(table, phases, path);
}

function drawSteps(all) {
  const element = (id) => document.getElementById(id);
  new StepTimes(element("step-chart"), all);
  new PhaseChart(element("phase-chart"), all);
  const table = element("phases-table");
  if (all.length > 1) fillPhases(table, all[0]);
  else addSwatches(table, all[0].data.phases, all[0].data.path);
  view.onChange((what) => { if (what === "series") fillPhases(table, all[view.series]); });
  if (element("streams-table")) addSwatches(element("streams-table"), data.series[0].streams);
  if (all[0].data.streams.length > 0) {
    new LineChart(element("stream-chart"), {label: "Stream spans over steps", name: "Stream spans, mean of a step",
      height: 190, hasAxis: true, text: timeText, lines: () => streamLines(all[view.series])});
  }
  if (data.metrics.length > 0) new MetricCharts(element("metric-charts"), all);
}

/** Restores the view from the address. */
function restoreView(all) {
  const wanted = view.read();
  if (all[wanted.series] && wanted.series !== view.series) chooseSeries(all, wanted.series);
  if (wanted.metrics) view.chooseMetrics(wanted.metrics);
  if (wanted.steps && all.length > 0) view.show(wanted.steps[0] - 0.5, wanted.steps[1] + 0.5);
  if (regions.paths[wanted.region] && wanted.region !== view.region) view.choose(wanted.region);
}

function drawRun() {
  regions.begin(data);
  const all = choicesOf(data);
  if (all.length > 0) {
    [view.low, view.high] = view.whole = all[0].blocks.whole();
    drawSteps(all);
  }
  new Icicle(document.getElementById("icicle"));
  new TreeTable(document.getElementById("tree-table"), document.getElementById("tree-tools"));
  new Distributions(document.getElementById("distribution-chart"));
  if (data.heat) new HeatMap(document.getElementById("heat"), data.heat, all);
  new ViewBar(document.getElementById("view"), all);
  keepViewInAddress();
  restoreView(all);
  addEventListener("hashchange", () => restoreView(all));
  // For measuring how soon the page is usable.
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

drawRun();
