// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Step time over steps.

const kSlow = 2;  // multiple of the median; Takt's definition of a slow step

/** Returns the band of a block; undefined if there are no bands. */
function bandAt(series, block) {
  const {bands} = series.data;
  const at = Math.min(Math.floor(block / bands.blocks), bands.low.length - 1);
  return at < 0 ? undefined : {low: bands.low[at], median: bands.median[at], high: bands.high[at]};
}

/** Returns the median of all bands: the usual step time. */
function usualTime(series) {
  const medians = [...series.data.bands.median].sort((a, b) => a - b);
  return medians[medians.length >> 1] ?? series.blocks.mean[0];
}

/** Returns the longest steps that are slow. */
function slowSteps(series) {
  return series.data.worst.filter((each) => each.ns >= kSlow * usualTime(series));
}

/** Returns a line through minimum and maximum of each column, which looks like a line through all steps. */
function extremesPath(columns, x, y) {
  let path = "";
  columns.forEach((column, at) => {
    const here = x((column.first + column.last) / 2).toFixed(2);
    const [a, b] = at % 2 ? [column.most, column.least] : [column.least, column.most];
    path += `${at === 0 ? "M" : "L"}${here} ${y(a).toFixed(2)}`;
    if (a !== b) path += `L${here} ${y(b).toFixed(2)}`;
  });
  return path;
}

/** Returns boxes from minimum to maximum, for columns wider than a line. */
function boxesPath(columns, x, y) {
  return columns.map((column) => {
    const [left, right] = [x(column.first - 0.5).toFixed(2), x(column.last + 0.5).toFixed(2)];
    const [top, bottom] = [y(column.most) - 0.5, y(column.least) + 0.5];
    return `M${left} ${top.toFixed(2)}H${right}V${bottom.toFixed(2)}H${left}Z`;
  }).join("");
}

class StepTimes {
  constructor(element, all) {
    this.all = all;
    this.isLog = this.wantsLog();
    this.chart = new StepChart(element, {
      label: "Step time over steps", height: 300,
      draw: (chart) => this.draw(chart), linesAt: (step) => this.linesAt(step),
    });
    view.onChange((what) => { if (what === "series") this.isLog = this.wantsLog(); });
  }

  get series() {
    return this.all[view.series];
  }

  /** Returns true if spikes would flatten everything else. */
  wantsLog() {
    const {blocks} = this.series;
    return Math.max(...blocks.most) > 20 * usualTime(this.series) && Math.min(...blocks.least) > 0;
  }

  draw(chart) {
    const {blocks} = this.series;
    const columns = blocks.columns(view.low, view.high, 2 * (chart.right - chart.left));
    const y = this.scale(chart, columns);
    this.drawPauses(chart);
    if (!this.series.isAll) this.drawExtremes(chart, columns, y);
    const labels = this.drawBands(chart, y);
    this.drawWorst(chart, y);
    chart.drawLabels(labels);
    this.drawLegend(chart, columns);
  }

  scale(chart, columns) {
    let least = Math.min(...columns.map((each) => each.least));
    let most = Math.max(...columns.map((each) => each.most));
    const {top, bottom} = chart;
    if (this.isLog && least > 0) {
      const y = logarithmic(least / 1.1, Math.max(most * 1.1, least * 1.3), bottom, top);
      chart.drawValues(logTicks(least / 1.1, most * 1.1), y, timeText);
      return y;
    }
    const room = Math.max((most - least) * 0.06, most * 0.01, 1);
    [least, most] = [least < 0.4 * most ? 0 : least - room, most + room];
    const y = linear(least, most, bottom, top);
    chart.drawValues(ticks(least, most, 4), y, timeText);
    return y;
  }

  /** Draws warm-up and the ends of Epochs. */
  drawPauses(chart) {
    const {blocks, data} = this.series;
    const {plot, around, top, bottom} = chart;
    if (data.warmup > 0) {
      const end = chart.x(blocks.positionOfPlace(Math.min(data.warmup, blocks.steps) - 1) + 0.5);
      const begin = chart.x(view.whole[0]);
      const width = Math.max(end - begin, 1);
      plot.append(svg("rect", {class: "warmup", x: begin, y: top, width, height: bottom - top}));
      const x = Math.max(begin, chart.left) + 2;
      if (end > chart.left + 8) around.append(svg("text", {class: "quiet", x, y: top - 5}, "warm-up"));
    }
    const places = data.breaks.map((place, at) => ({x: chart.x(blocks.positionOfPlace(place) - 0.5), epoch: at + 1}))
      .filter((each) => each.x > chart.left && each.x < chart.right);
    if (places.length > (chart.right - chart.left) / 5) return;
    let free = chart.left + 60;
    for (const {x, epoch} of places) {
      plot.append(svg("line", {class: "pause", x1: x, x2: x, y1: top, y2: bottom}));
      const text = data.has_epochs ? `Epoch ${epoch}` : "pause";
      if (x < free || x + textWidth(text) > chart.right) continue;
      around.append(svg("text", {class: "quiet", x: x + 2, y: top - 5}, text));
      free = x + textWidth(text) + 16;
    }
  }

  drawExtremes(chart, columns, y) {
    const isWide = columns.length < (chart.right - chart.left) / 3 && columns.some((each) => each.steps > 1);
    if (isWide) chart.plot.append(svg("path", {class: "extremes box", d: boxesPath(columns, chart.x, y)}));
    else chart.plot.append(svg("path", {class: "extremes", d: extremesPath(columns, chart.x, y)}));
    if (columns.length > 60 || isWide) return;
    for (const each of columns) {
      const cx = chart.x((each.first + each.last) / 2);
      chart.plot.append(svg("circle", {class: "step", cx, cy: y(each.most), r: 3}));
    }
  }

  /** Draws the bands. Returns the labels of the lines. */
  drawBands(chart, y) {
    const {blocks, data} = this.series;
    const {bands} = data;
    if (bands.low.length === 0) return [];
    const [begin, end] = blocks.between(view.low, view.high);
    let [upper, lower, middle] = ["", [], ""];
    const behind = Math.min(Math.ceil(end / bands.blocks), bands.low.length);
    for (let at = Math.floor(begin / bands.blocks); at < behind; ++at) {
      const left = chart.x(blocks.first[at * bands.blocks] - 0.5).toFixed(2);
      const right = chart.x(blocks.last(Math.min((at + 1) * bands.blocks, blocks.size) - 1) + 0.5).toFixed(2);
      const [low, median, high] = [bands.low, bands.median, bands.high].map((each) => y(each[at]).toFixed(2));
      upper += `L${left} ${high}H${right}`;
      lower.push(`L${right} ${low}H${left}`);
      middle += `${middle === "" ? "M" : "L"}${left} ${median}H${right}`;
    }
    chart.plot.append(svg("path", {class: "band", d: `M${upper.slice(1)}${lower.reverse().join("")}Z`}),
      svg("path", {class: "median back", d: middle}), svg("path", {class: "median", d: middle}));
    const last = bandAt(this.series, Math.min(end, blocks.size) - 1);
    return [{y: y(last.median), text: `median ${timeText(last.median)}`, isStrong: true},
      {y: y(last.high), text: `${this.series.isAll ? "slowest" : "90 % ≤"} ${timeText(last.high)}`}];
  }

  drawWorst(chart, y) {
    const {blocks} = this.series;
    for (const each of slowSteps(this.series)) {
      const at = blocks.positionOfNumber(each.step);
      if (!(at >= view.low && at <= view.high)) continue;
      const [x, top] = [chart.x(at), y(each.ns)];
      chart.plot.append(svg("path", {class: "worst", d: `M${x - 4} ${top - 7}h8l-4 6Z`}));
    }
  }

  drawLegend(chart, columns) {
    const {data} = this.series;
    const most = Math.max(...columns.map((each) => each.steps));
    const {isAll} = this.series;
    const items = isAll ? [] : [most > 1 ? keyItem("extremes", `min to max of up to ${countText(most)} steps`)
      : keyItem("each", "each step")];
    if (isAll) items.push(keyItem("band", "fastest to slowest rank"), keyItem("median", "median of the ranks"));
    else if (data.bands.low.length > 0) items.push(keyItem("band", "10 to 90 % of steps"), keyItem("median", "median"));
    if (slowSteps(this.series).length > 0) items.push(keyItem("worst", "longest steps"));
    const tools = html("span", {class: "tools"});
    const log = html("button", {type: "button", "aria-pressed": this.isLog}, "log scale");
    log.addEventListener("click", () => {
      this.isLog = !this.isLog;
      chart.paint();
      chart.legend.querySelector("button").focus();
    });
    tools.append(log);
    chart.legend.replaceChildren(...items, tools);
  }

  linesAt(step) {
    const {blocks} = this.series;
    const at = blocks.at(step);
    const near = (view.high - view.low) / 150;
    const worst = slowSteps(this.series).find((each) => Math.abs(blocks.positionOfNumber(each.step) - step) <= near);
    const band = bandAt(this.series, at);
    const lines = [[blocks.rangeText(blocks.first[at], blocks.last(at))]];
    if (this.series.isAll) {
      return [...lines, ["slowest rank", timeText(band.high)], ["median", timeText(band.median)],
        ["fastest rank", timeText(band.low)]];
    }
    if (blocks.counts[at] === 1) lines.push(["step time", timeText(blocks.mean[at])]);
    else lines.push(...["most", "mean", "least"].map((name) => [name, timeText(blocks[name][at])]));
    if (band) lines.push(["90 % of nearby steps", `≤ ${timeText(band.high)}`], ["median", timeText(band.median)]);
    if (worst) {
      lines.push([`step ${grouped(worst.step)}`, timeText(worst.ns), true], ["longer in", partName(worst.path)]);
    }
    return lines;
  }
}

/** Returns the figures of the view as text. */
function rangeFigures(series) {
  const {blocks} = series;
  const isSeen = (each) => each.last + 0.5 > view.low && each.first - 0.5 < view.high;
  const columns = blocks.columns(view.low, view.high, 1).filter(isSeen);
  const steps = sumOf(columns.map((each) => each.steps));
  const sum = sumOf(columns.map((each) => each.sum));
  const least = Math.min(...columns.map((each) => each.least));
  const most = Math.max(...columns.map((each) => each.most));
  return `mean ${timeText(sum / steps)}, ${timeText(least)} to ${timeText(most)}`;
}
