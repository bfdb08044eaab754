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
    element.replaceChildren(...all.length > 0 ? [this.steps] : [], this.region);
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
    const {blocks} = this.all[view.series];
    this.range.replaceChildren(html("b", {}, blocks.rangeText(Math.ceil(view.low), Math.floor(view.high))),
      html("span", {class: "figures"}, ` ${rangeFigures(this.all[view.series])}`));
  }
}

/** Adds each row's chart colour before its name. */
function addSwatches(id, phases, batch) {
  const table = document.getElementById(id);
  table?.classList.add("has-swatches");
  phases.forEach((phase, at) => table?.tBodies[0].rows[at]?.cells[0].prepend(swatch(phase.path, batch)));
}

function drawSteps(all) {
  const element = (id) => document.getElementById(id);
  new StepTimes(element("step-chart"), all);
  new PhaseChart(element("phase-chart"), all);
  addSwatches("phases-table", all[0].data.phases, all[0].data.path);
  addSwatches("streams-table", all[0].data.streams);
  if (all[0].data.streams.length > 0) {
    new LineChart(element("stream-chart"), {label: "Stream spans over steps", name: "Stream spans, mean of a step",
      height: 190, hasAxis: true, text: timeText, lines: () => streamLines(all[view.series])});
  }
  data.metrics.forEach((metric, at) => {
    const place = html("div", {class: "chart metric"});
    element("metric-charts").append(place);
    new LineChart(place, {label: `${metric.name} over steps`, name: metric.name, height: 104,
      hasAxis: at + 1 === data.metrics.length, text: numberText, lines: () => metricLines(all[view.series], metric)});
  });
}

/** Restores the view from the address. */
function restoreView(all) {
  const wanted = view.read();
  if (all[wanted.series]) view.setSeries(wanted.series, all[wanted.series].blocks.whole());
  if (wanted.steps && all.length > 0) view.show(wanted.steps[0] - 0.5, wanted.steps[1] + 0.5);
  if (regions.paths[wanted.region] && wanted.region !== view.region) view.choose(wanted.region);
}

function drawRun() {
  regions.begin(data);
  const all = data.series.map((each) => ({data: each, blocks: new Blocks(each)}));
  if (all.length > 0) {
    [view.low, view.high] = view.whole = all[0].blocks.whole();
    drawSteps(all);
  }
  new Icicle(document.getElementById("icicle"), data);
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
