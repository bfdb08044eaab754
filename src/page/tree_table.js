// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The call tree's table, with sorting, filtering and selection.

const kColumnsOfTree = ["", "share", "mean_ns", "so_far_ns", "self_ns", "n", "p50_ns", "p99_ns", "max_ns", "kind",
  "device total_ns", "device mean_ns"];

class TreeTable {
  constructor(table, tools) {
    this.table = table;
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    table.classList.add("has-swatches");
    this.column = 0;
    this.isDown = false;
    this.filter = "";
    this.rows.forEach((row, path) => this.prepare(row, path));
    [...table.tHead.rows[0].cells].forEach((head, column) => this.prepareHead(head, column));
    const input = html("input", {type: "search", placeholder: "Filter regions",
      "aria-label": "Filter regions by name or kind"});
    input.addEventListener("input", () => {
      this.filter = input.value.toLowerCase();
      this.arrange();
    });
    this.count = html("span", {class: "quiet", role: "status"});
    tools.replaceChildren(input, this.count);
    view.onChange((what) => {
      if (what === "region") this.mark();
      if (what !== "series") return;
      this.rows.forEach((row, path) => this.write(row, regions.now[path]));
      const note = document.getElementById("tree-note");
      if (note) note.hidden = regions.ranks === 1;
      this.arrange();
    });
    this.arrange();
  }

  prepare(row, path) {
    row.tabIndex = 0;
    row.dataset.path = path;
    row.cells[0].title = regions.paths[path].full;
    row.cells[0].prepend(swatch(path));
    onPress(row, () => view.choose(path));
    this.addBar(row, path);
  }

  addBar(row, path) {
    const part = Math.min(regions.now[path].share ?? 0, 1);
    row.cells[1].append(svg("svg", {class: "share", width: 48, height: 8, "aria-hidden": "true"},
      svg("rect", {class: "whole", width: 48, height: 8}),
      svg("rect", {fill: colorOf(path), width: 48 * part, height: 8})));
  }

  /** Writes the figures of another rank. */
  write(row, region) {
    const text = (value, format) => (value === null ? "-" : format(value));
    const times = (names) => names.map((name) => text(region[name], timeText));
    const texts = [text(region.share, percentText), ...times(["mean_ns", "so_far_ns", "self_ns"]), countText(region.n),
      ...times(["p50_ns", "p99_ns", "max_ns"])];
    texts.forEach((each, at) => row.cells[at + 1].replaceChildren(each));
    this.addBar(row, Number(row.dataset.path));
  }

  prepareHead(head, column) {
    const order = html("button", {type: "button"}, head.textContent);
    order.addEventListener("click", () => {
      // Numbers: largest first. Names: tree order. A second click reverses the order.
      this.isDown = this.column === column ? !this.isDown : !["", "kind"].includes(kColumnsOfTree[column]);
      this.column = column;
      this.arrange();
    });
    head.replaceChildren(order);
  }

  value(path) {
    const name = kColumnsOfTree[this.column];
    const region = regions.now[path];
    if (name === "") return path;
    return name.startsWith("device ") ? region.device?.[name.slice(7)] ?? null : region[name];
  }

  arrange() {
    const isBefore = (a, b) => {
      const [x, y] = [this.value(a), this.value(b)];
      if (x === y) return a - b;
      if (x === null || y === null) return x === null ? 1 : -1;
      return (x < y ? -1 : 1) * (this.isDown ? -1 : 1);
    };
    const isTree = this.column === 0 && this.filter === "";
    const shown = [...this.rows.keys()].filter((path) =>
      `${regions.paths[path].full} ${regions.paths[path].kind}`.toLowerCase().includes(this.filter));
    this.table.classList.toggle("is-flat", !isTree);
    this.body.replaceChildren(...shown.sort(isBefore).map((path) => {
      this.rows[path].cells[0].lastChild.textContent = isTree ? regions.paths[path].name : regions.paths[path].full;
      return this.rows[path];
    }));
    this.count.textContent = shown.length === this.rows.length ? "" : `${shown.length} of ${this.rows.length} regions`;
    [...this.table.tHead.rows[0].cells].forEach((head, column) => {
      if (column !== this.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.isDown ? "descending" : "ascending");
    });
  }

  mark() {
    this.rows.forEach((row, path) => row.toggleAttribute("aria-current", path === view.region));
  }
}
