// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A chart over steps. All charts are stacked on one axis and share one view.

const kMargin = {left: 68, top: 18, bottom: 26};
const kGutter = 132;  // at the right, for labels, in wide windows
const kNarrow = 620;

/** All charts of the page, and the step at the pointer. */
const charts = {all: [], cursor: NaN, scrolls: true};

addEventListener("scroll", () => { charts.scrolls = true; }, {passive: true});

function setCursor(step) {
  charts.cursor = step;
  for (const each of charts.all) each.placeCursor();
}

class StepChart {
  /**
   * `draw(chart)` draws into chart.plot; `linesAt(step, y, chart)` returns the lines of the tooltip. With `canvas`, the
   * plot has one behind it.
   */
  constructor(element, {label, height, draw, linesAt, hasAxis = true, canvas = false, top = kMargin.top}) {
    Object.assign(this, {element, height, draw, linesAt, hasAxis, top});
    this.legend = html("div", {class: "legend"});
    this.canvas = canvas ? html("canvas", {"aria-hidden": "true"}) : null;
    this.picture = svg("svg", {height, "aria-hidden": "true"});
    this.area = html("div", {class: "area", tabindex: 0, role: "group", "aria-label":
      `${label}. Arrows move, plus and minus zoom, 0 shows all, Shift with arrows reads.`});
    this.area.append(...this.canvas ? [this.canvas] : [], this.picture);
    element.replaceChildren(this.legend, this.area);
    charts.all.push(this);
    this.listen();
    view.onChange((what) => this.redraw(what));
    new ResizeObserver(() => this.redraw("size")).observe(element);
    this.paint();
  }

  /** Repaints once for all changes before the next frame. */
  redraw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.paint();
    });
  }

  paint() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    this.width = width;
    this.left = kMargin.left;
    this.right = width - (width < kNarrow ? 10 : kGutter);
    this.bottom = this.height - (this.hasAxis ? kMargin.bottom : 6);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", this.height);
    this.x = linear(view.low, view.high, this.left, this.right);
    this.step = linear(this.left, this.right, view.low, view.high);
    const {left, top} = this;
    const [across, down] = [this.right - left, this.bottom - top];
    this.plot = svg("svg", {x: left, y: top, width: across, height: down, viewBox: `${left} ${top} ${across} ${down}`});
    this.around = svg("g");
    this.line = svg("line", {class: "cursor", y1: top, y2: this.bottom, visibility: "hidden"});
    this.chosen = svg("rect", {class: "chosen", y: top, height: down, visibility: "hidden"});
    this.picture.replaceChildren(this.around, this.plot, this.chosen, this.line);
    if (this.hasAxis) this.drawAxis();
    this.draw(this);
    this.placeCursor();
  }

  drawAxis() {
    const y = this.bottom;
    this.around.append(svg("line", {class: "axis", x1: this.left, x2: this.right, y1: y, y2: y}));
    const width = textWidth(grouped(Math.round(view.high))) + 40;
    const count = Math.max(1, Math.min(8, Math.floor((this.right - this.left) / width)));
    for (const each of ticks(Math.ceil(view.low), Math.floor(view.high), count, true)) {
      const x = this.x(each);
      this.around.append(svg("line", {class: "axis", x1: x, x2: x, y1: y, y2: y + 4}),
        svg("text", {x, y: y + 17, "text-anchor": "middle"}, grouped(each)));
    }
    this.around.append(svg("text", {class: "quiet", x: this.left - 8, y: y + 17, "text-anchor": "end"}, "step"));
  }

  /** Draws grid lines and labels for values; `y` maps them to pixels. */
  drawValues(values, y, text) {
    for (const each of values) {
      const at = y(each);
      this.around.append(svg("line", {class: "grid", x1: this.left, x2: this.right, y1: at, y2: at}),
        svg("text", {x: this.left - 8, y: at + 4, "text-anchor": "end"}, text(each)));
    }
  }

  /** Draws labels in the gutter and moves overlapping ones apart. */
  drawLabels(labels) {
    if (this.right + kGutter > this.width) return;
    const sorted = labels.filter((each) => each.text !== "").sort((a, b) => a.y - b.y);
    const height = 15;
    sorted.forEach((each, at) => { each.at = Math.max(each.y, at === 0 ? this.top : sorted[at - 1].at + height); });
    for (let at = sorted.length - 1, most = this.bottom + 2; at >= 0; --at, most -= height) {
      sorted[at].at = Math.min(sorted[at].at, most);
    }
    for (const each of sorted) {
      const text = fitText(each.text, kGutter - 22, each.isStrong ? "600 12px" : "12px");
      this.around.append(svg("path", {class: "lead", d: `M${this.right + 2} ${each.y}L${this.right + 12} ${each.at}`}),
        svg("text", {class: each.isStrong ? "strong" : "", x: this.right + 16, y: each.at + 4},
          text, svg("title", {}, each.text)));
    }
  }

  placeCursor() {
    const x = this.x?.(charts.cursor);
    const isSeen = x >= this.left && x <= this.right;
    this.line?.setAttribute("visibility", isSeen ? "visible" : "hidden");
    if (isSeen) for (const end of ["x1", "x2"]) this.line.setAttribute(end, x);
  }

  listen() {
    const {area} = this;
    area.addEventListener("pointermove", (event) => this.pointTo(event));
    area.addEventListener("pointerleave", () => {
      setCursor(NaN);
      tip.hide();
    });
    area.addEventListener("pointerdown", (event) => this.beginDrag(event));
    area.addEventListener("pointerup", (event) => this.endDrag(event));
    area.addEventListener("pointercancel", () => this.cancelDrag());
    area.addEventListener("dblclick", () => view.showAll());
    area.addEventListener("wheel", (event) => this.turnWheel(event), {passive: false});
    area.addEventListener("keydown", (event) => this.press(event));
    area.addEventListener("blur", () => {
      setCursor(NaN);
      tip.hide();
    });
  }

  place(event) {
    const box = this.area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  pointTo(event) {
    if (event.movementX !== 0 || event.movementY !== 0) charts.scrolls = false;
    const [x, y] = this.place(event);
    if (this.begin !== undefined) return this.drag(x);
    if (x < this.left || x > this.right) {
      setCursor(NaN);
      return tip.hide();
    }
    const step = this.step(x);
    setCursor(step);
    const lines = this.linesAt(step, y, this);
    if (lines) tip.show(lines, event.clientX, event.clientY);
    else tip.hide();
  }

  beginDrag(event) {
    const [x] = this.place(event);
    if (event.button !== 0 || x < this.left || x > this.right) return;
    this.area.setPointerCapture(event.pointerId);
    this.begin = x;
  }

  drag(x) {
    tip.hide();
    const [from, to] = [this.begin, Math.min(Math.max(x, this.left), this.right)].sort((a, b) => a - b);
    this.range = to - from < 4 ? null : [this.step(from), this.step(to)];
    this.chosen.setAttribute("visibility", this.range ? "visible" : "hidden");
    this.chosen.setAttribute("x", from);
    this.chosen.setAttribute("width", to - from);
  }

  endDrag() {
    if (this.begin !== undefined && this.range) view.show(...this.range);
    this.cancelDrag();
  }

  cancelDrag() {
    this.begin = undefined;
    this.range = null;
    this.chosen.setAttribute("visibility", "hidden");
  }

  /** Charts pass below the pointer while the page scrolls, so the wheel zooms only after the pointer was moved. */
  turnWheel(event) {
    const [x] = this.place(event);
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (charts.scrolls && !event.ctrlKey) return;
    if (view.isWhole() && (isSideways || event.deltaY > 0)) return;
    event.preventDefault();
    if (isSideways) return view.pan(Math.sign(event.deltaX) * 0.05);
    view.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.step(Math.min(Math.max(x, this.left), this.right)));
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const sideways = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Escape") this.cancelDrag();
    else if (sideways && event.shiftKey) this.read(sideways);
    else if (sideways) view.pan(sideways * 0.2);
    else if (event.key === "ArrowUp" || event.key === "+" || event.key === "=") view.zoom(0.5);
    else if (event.key === "ArrowDown" || event.key === "-") view.zoom(2);
    else if (event.key === "0" || event.key === "Home") view.showAll();
    else return;
    event.preventDefault();
  }

  /** Moves the cursor sideways and shows the tooltip there. */
  read(sideways) {
    const by = Math.max(1, (view.high - view.low) / (this.right - this.left) * 4);
    const from = Number.isNaN(charts.cursor) ? (view.low + view.high) / 2 : charts.cursor + sideways * by;
    const step = Math.min(Math.max(from, view.low), view.high);
    setCursor(step);
    const box = this.area.getBoundingClientRect();
    const lines = this.linesAt(step, (this.top + this.bottom) / 2, this);
    if (lines) tip.show(lines, box.left + this.x(step), box.top + this.top);
  }
}
