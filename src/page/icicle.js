// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Call tree as an icicle: inner regions below each region, with widths by total time; self time is hatched.

const kRow = 30;
const kThinnest = 1.5;  // in pixels; thinner ones are only in the table

class Icicle {
  constructor(element) {
    this.top = -1;  // the region with full width; -1: the run
    this.element = element;
    this.legend = html("div", {class: "legend"});
    this.picture = svg("svg", {role: "group", "aria-label": "The call tree. Enter chooses a region, Home shows all."});
    element.replaceChildren(this.legend, this.picture);
    this.picture.addEventListener("keydown", (event) => this.press(event));
    view.onChange((what) => { if (what !== "range") this.paint(); });
    new ResizeObserver(() => this.paint()).observe(element);
    this.paint();
  }

  /** Returns the direct children of a region, and its time. */
  inside(path) {
    if (path < 0) return [[...regions.paths.keys()].filter((each) => regions.paths[each].parent < 0), regions.wall];
    return [regions.paths[path].children, regions.now[path].so_far_ns];
  }

  paint() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const focused = this.picture.contains(document.activeElement) ? document.activeElement.dataset.path : undefined;
    this.picture.replaceChildren();
    this.deepest = 0;
    this.place(this.top, 0, width, 0);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", (this.deepest + 1) * kRow + 1);
    const all = button("All", "Show the whole tree", () => this.fit(-1));
    this.legend.replaceChildren(keyItem("own", "self time: no inner region"),
      html("span", {class: "tools"}, ...this.top < 0 ? [] : [all]));
    const first = this.cellOf(focused ?? this.top) ?? this.cellOf(this.top);
    first?.setAttribute("tabindex", 0);
    if (focused !== undefined) first?.focus();
  }

  cellOf(path) {
    return this.picture.querySelector(`[data-path="${path}"]`);
  }

  place(path, left, width, depth) {
    this.deepest = Math.max(this.deepest, depth);
    this.picture.append(this.cell(path, left, width, depth));
    const [children, whole] = this.inside(path);
    const sum = children.reduce((all, each) => all + regions.now[each].so_far_ns, 0);
    const scale = width / Math.max(sum, whole, 1);  // concurrent threads can exceed the parent's time
    let at = left;
    for (const each of children) {
      const room = regions.now[each].so_far_ns * scale;
      if (room >= kThinnest) this.place(each, at, room, depth + 1);
      at += room;
    }
    const own = left + width - at;
    if (children.length > 0 && own >= 3) {
      this.deepest = Math.max(this.deepest, depth + 1);
      this.picture.append(
        svg("rect", {class: "own", x: at + 0.5, y: (depth + 1) * kRow, width: own - 1, height: kRow - 1}));
    }
  }

  cell(path, left, width, depth) {
    const isRun = path < 0;
    const time = isRun ? regions.wall : regions.now[path].so_far_ns;
    const name = isRun ? (regions.ranks > 1 ? "run, mean of a rank" : "run") : regions.paths[path].name;
    const isChosen = !isRun && path === view.region;
    const place = {x: left + 0.5, y: depth * kRow + 0.5, height: kRow - 2};
    const cell = svg("g", {class: isChosen ? "cell is-chosen" : "cell", "data-path": path, role: "button", tabindex: -1,
      "aria-pressed": isChosen, "aria-label": `${name}, ${timeText(time)}`},
    svg("rect", {...place, class: "tint", fill: colorOf(path), width: Math.max(width - 1, 1)}));
    if (width > 6) cell.append(svg("rect", {...place, fill: colorOf(path), width: 3}));
    const label = fitWords([`${name} ${timeText(time)}`, name], width - 16, "12.5px");
    if (label !== "") cell.append(svg("text", {x: left + 10, y: depth * kRow + kRow / 2 + 4}, label));
    cell.addEventListener("click", () => { if (!isRun) view.choose(path); });
    cell.addEventListener("dblclick", () => this.fit(path));
    explain(cell, () => this.linesOf(path));
    return cell;
  }

  linesOf(path) {
    if (path < 0) return [["run"], ["wall time", timeText(regions.wall)], ...this.ofRanks()];
    const region = regions.now[path];
    return [[region.full], ...this.ofRanks(), ["total", timeText(region.so_far_ns)],
      ["of the run", percentText(region.so_far_ns / regions.wall)],
      ...region.share === null ? [] : [["of the parent", percentText(region.share)]],
      ["self", timeText(region.self_ns)], ["calls", countText(region.n)],
      ...region.mean_ns === null ? [] : [["mean", timeText(region.mean_ns)]]];
  }

  ofRanks() {
    return regions.ranks > 1 ? [["mean of a rank", `${regions.ranks} ranks`]] : [];
  }

  /** Gives a region the full width, or resets it if it has it. -1: the whole run. */
  fit(path) {
    this.top = path === this.top ? -1 : path;
    tip.hide();
    this.paint();
  }

  press(event) {
    const path = Number(document.activeElement.dataset.path ?? NaN);
    if (Number.isNaN(path)) return;
    const siblings = path < 0 ? [-1] : this.inside(regions.paths[path].parent)[0];
    const at = siblings.indexOf(path);
    const next = {ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1], ArrowDown: this.inside(path)[0][0],
      ArrowUp: path < 0 ? undefined : regions.paths[path].parent}[event.key];
    if (event.key === "Enter" || event.key === " ") {
      if (path >= 0) view.choose(path);
    } else if (event.key === "f") this.fit(path);
    else if (event.key === "0" || event.key === "Home") this.fit(-1);
    else if (next !== undefined) this.focus(next);
    else return;
    event.preventDefault();
  }

  focus(path) {
    const cell = this.cellOf(path);
    if (!cell) return;
    this.picture.querySelector("[tabindex='0']")?.setAttribute("tabindex", -1);
    cell.setAttribute("tabindex", 0);
    cell.focus();
    const box = cell.getBoundingClientRect();
    tip.show(this.linesOf(path), box.left + Math.min(box.width / 2, 80), box.bottom - 8);
  }
}
