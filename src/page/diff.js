// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Builds a comparison page. The static content can be read without this script.

const data = JSON.parse(document.getElementById("data").textContent);

/** Returns one line per drawn run: its median over steps. */
function sideLines() {
  const last = (name) => (name.length > 12 ? `…${name.slice(-6)}` : name);  // names of runs differ at their ends
  return data.drawn.map((run) => ({name: `${run.side} ${last(run.name)}`, color: `var(--${run.side})`,
    dash: run.side === "base" ? 0 : 1, x: run.x, y: run.ns}));
}

function drawSides() {
  if (data.drawn.length === 0) return;
  const first = Math.min(...data.drawn.map((run) => run.first));
  const last = Math.max(...data.drawn.map((run) => run.last));
  [view.low, view.high] = view.whole = [first - 0.5, last + 0.5];
  const lines = sideLines();
  new SideChart(document.getElementById("step-chart"), {label: "Step time of both sides over steps", name: "Step time",
    height: 300, hasAxis: true, text: timeText, lines: () => lines});
  const range = html("span", {class: "range", role: "status"});
  const tell = () => range.replaceChildren(html("b", {}, stepsText(Math.ceil(view.low), Math.floor(view.high))));
  const bar = document.getElementById("view");
  bar.hidden = false;
  bar.replaceChildren(html("span", {class: "steps"}, ...viewButtons(), range));
  view.onChange(tell);
  tell();
}

/** Shows the two sides in the legend instead of a name. */
class SideChart extends LineChart {
  draw(chart) {
    super.draw(chart);
    chart.legend.replaceChildren(keyItem("base", "base"), keyItem("new", "new"),
      quietItem("median of neighbouring steps, one line per run"));
  }
}

function restoreRange() {
  const {steps} = view.read();
  if (steps && data.drawn.length > 0) view.show(steps[0] - 0.5, steps[1] + 0.5);
}

new Changes(document.getElementById("change-chart"), data);
drawSides();
keepViewInAddress();
restoreRange();
addEventListener("hashchange", restoreRange);
document.documentElement.dataset.ready = performance.now().toFixed(0);
