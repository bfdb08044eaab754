// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Heat map of ranks over steps: each rank's busy time relative to the median of its group.

class HeatMap {
  constructor(element, heat, all) {
    Object.assign(this, {heat, all});
    this.columns = heat.first.length;
    this.rows = heat.cells.length / this.columns;
    this.most = this.mostShown();
    this.fewest = Math.min(this.most, 1000);  // nothing is busy for less than no time
    const row = Math.max(2, Math.min(24, Math.floor(440 / this.rows)));
    this.chart = new StepChart(element, {
      label: "How busy ranks are, over steps", canvas: true,
      height: Math.max(this.rows * row, 40) + kMargin.top + kMargin.bottom,
      draw: (chart) => this.draw(chart), linesAt: (step, y) => this.linesAt(step, y),
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.chart.redraw());
  }

  /**
   * Returns the excess with the full colour. It follows the rank that is usually farthest from the others, because
   * single long steps would make everything else pale.
   */
  mostShown() {
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    const row = (at) => this.heat.cells.slice(at * this.columns, (at + 1) * this.columns);
    const rows = Array.from({length: this.rows}, (_, at) => Math.abs(middle(row(at))));
    const usual = Math.max(1.25 * Math.max(...rows), 2 * middle(this.heat.cells.map(Math.abs)), 10);
    const power = 10 ** Math.floor(Math.log10(usual));
    return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= usual);
  }

  /** Returns the axis range of a column. */
  range(column) {
    const {first, last} = this.heat;
    return [first[column], column + 1 < this.columns ? first[column + 1] - 1 : last];
  }
  columnAt(step) {
    return Math.max(firstPlace(this.columns, (at) => this.heat.first[at] - 0.5 > step) - 1, 0);
  }

  draw(chart) {
    const {canvas} = chart;
    const scale = devicePixelRatio;
    canvas.width = chart.width * scale;
    canvas.height = chart.height * scale;
    canvas.style.width = `${chart.width}px`;
    canvas.style.height = `${chart.height}px`;
    const paint = canvas.getContext("2d");
    paint.scale(scale, scale);
    paint.beginPath();
    paint.rect(chart.left, chart.top, chart.right - chart.left, chart.bottom - chart.top);
    paint.clip();
    const height = (chart.bottom - chart.top) / this.rows;
    for (let column = 0; column < this.columns; ++column) {
      const [first, last] = this.range(column);
      if (last < view.low || first > view.high) continue;
      this.drawColumn(paint, column, chart.x(first - 0.5), chart.x(last + 0.5), chart.top, height);
    }
    this.drawRanks(chart, height);
    this.drawLegend(chart);
  }

  drawColumn(paint, column, left, right, top, height) {
    const style = getComputedStyle(document.documentElement);
    const [longer, shorter, page] = ["--longer", "--shorter", "--page"].map((each) => style.getPropertyValue(each));
    const width = right - left;
    for (let row = 0; row < this.rows; ++row) {
      const cell = this.heat.cells[row * this.columns + column];
      const value = cell / (cell < 0 ? this.fewest : this.most);
      paint.globalAlpha = Math.min(Math.abs(value), 1);
      paint.fillStyle = value > 0 ? longer : shorter;
      paint.fillRect(left, top + row * height, width + 0.3, height - (height > 5 ? 1 : 0));
      if (value < 0.5 || height < 7) continue;
      paint.globalAlpha = 1;
      paint.fillStyle = page;
      const size = Math.min(3, width);
      paint.fillRect((left + right - size) / 2, top + (row + 0.5) * height - 1.5, size, 3);
    }
  }

  drawRanks(chart, height) {
    const every = Math.ceil(16 / height);
    for (let row = 0; row < this.rows; row += every) {
      const rank = this.heat.ranks[row * this.heat.ranks_a_row];
      const y = chart.top + (row + 0.5) * height + 4;
      chart.around.append(svg("text", {x: chart.left - 8, y, "text-anchor": "end"},
        `${row === 0 ? "rank " : ""}${rank}`));
    }
    chart.around.append(svg("rect", {class: "frame", x: chart.left, y: chart.top, width: chart.right - chart.left,
      height: chart.bottom - chart.top}));
  }

  drawLegend(chart) {
    const [fewest, most, half] = [this.fewest, this.most, this.most / 2]
      .map((each) => Number((each / 10).toPrecision(3)));
    const items = [
      html("span", {class: "item scale"},
        `−${fewest} %${fewest < 100 ? " or less" : ""}`, html("span", {class: "key heat"}), `+${most} % or more`),
      keyItem("dot", `+${half} % or more`), quietItem("how much longer a rank is busy than the median of its group")];
    const a_row = this.heat.ranks_a_row;
    if (a_row > 1) items.push(quietItem(`each row has up to ${a_row} ranks and shows the farthest from the median`));
    chart.legend.replaceChildren(...items);
  }

  linesAt(step, y) {
    const height = (this.chart.bottom - this.chart.top) / this.rows;
    const row = Math.floor((y - this.chart.top) / height);
    const column = this.columnAt(step);
    if (row < 0 || row >= this.rows) return null;
    const ranks = this.heat.ranks.slice(row * this.heat.ranks_a_row, (row + 1) * this.heat.ranks_a_row);
    const name = ranks.length > 1 ? `ranks ${ranks[0]} to ${ranks[ranks.length - 1]}` : `rank ${ranks[0]}`;
    const share = this.heat.cells[row * this.columns + column] / 1000;
    return [[name], [stepsText(...this.range(column)), `${changeText(share)} busy`, true]];
  }
}
