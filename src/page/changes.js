// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
"use strict";

// Change of each region: one line per region, from one end of its interval to the other.

const kChangeRow = 30;
const kFewChanges = 20;

class Changes {
  constructor(element, data) {
    Object.assign(this, {element, data});
    this.isWhole = data.regions.length <= kFewChanges;
    this.legend = html("div", {class: "legend"});
    this.picture = svg("svg", {role: "group", "aria-label": "Changes, with their intervals"});
    element.replaceChildren(this.legend, this.picture);
    new ResizeObserver(() => this.paint()).observe(element);
    this.paint();
  }

  /** If there are many, those that changed and the first others. */
  shown() {
    const {regions: rows} = this.data;
    if (this.isWhole) return rows;
    const marked = rows.filter((each) => each.mark !== null).length;
    let room = Math.max(kFewChanges - marked, 1);
    return rows.filter((each) => each.mark !== null || room-- > 0);
  }

  paint() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const isNarrow = width < kNarrow;
    this.width = width;
    this.right = width - (isNarrow ? 76 : 250);
    this.top = 26;
    const {threshold} = this.data;
    const rows = this.shown();
    this.left = labelWidth(rows.map((each) => ending(each.path)), width);
    const bottom = this.top + rows.length * kChangeRow;
    const [low, high] = this.ends(rows);
    this.x = linear(low, high, this.left, this.right);
    this.picture.replaceChildren();
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", bottom + 8);
    for (const each of ticks(low, high, Math.max(2, Math.floor((this.right - this.left) / 90)))) {
      const text = `${each > 0 ? "+" : ""}${Number((100 * each).toPrecision(3))} %`;
      this.upright(each, each === 0 ? "zero" : "grid", bottom, text);
    }
    if (threshold !== null) this.upright(threshold, "gate", bottom, "");
    rows.forEach((row, at) => this.row(row, this.top + at * kChangeRow, isNarrow));
    this.tell(rows.length);
  }

  /** Returns the ends of the axis. Intervals far longer than most are cut, because they would squeeze the others. */
  ends(rows) {
    const {threshold} = this.data;
    const all = rows.flatMap((each) => [each.change, each.low ?? each.change, each.high ?? each.change]);
    const sizes = all.map(Math.abs).sort((a, b) => a - b);
    const most = Math.max(1.5 * (sizes[Math.floor(sizes.length * 0.8)] ?? 0), 1.3 * (threshold ?? 0), 0.002);
    const within = (value) => Math.min(Math.max(value, -most), most);
    const [low, high] = [Math.min(0, ...all), Math.max(0, threshold ?? 0, ...all)].map(within);
    const room = (high - low || 0.01) * 0.05;
    return [low - room, high + room];
  }

  /** Returns a value's position, clamped to the axis. */
  within(value) {
    return Math.min(Math.max(this.x(value), this.left), this.right);
  }

  upright(value, name, bottom, text) {
    const x = this.x(value);
    this.picture.append(svg("line", {class: name, x1: x, x2: x, y1: this.top - 4, y2: bottom}),
      svg("text", {x, y: this.top - 10, "text-anchor": "middle"}, text));
  }

  row(row, top, isNarrow) {
    const middle = top + kChangeRow / 2;
    const mark = row.mark ?? "unclear";
    const font = row.mark ? "600 12.5px" : "12.5px";
    const name = fitWords([ending(row.path), ending(row.path, 1)], this.left - 16, font)
      || fitText(ending(row.path, 1), this.left - 16, font);
    const group = svg("g", {class: `change ${mark}`, role: "img", tabindex: 0, "aria-label": this.sentence(row)},
      svg("rect", {class: "row", x: 0, y: top, width: this.width, height: kChangeRow - 1}),
      svg("text", {x: this.left - 10, y: middle + 4, "text-anchor": "end"}, name));
    if (row.low !== null) {
      const [low, high] = [this.within(row.low), this.within(row.high)];
      const end = (x, value, way) => (this.x(value) === x ? `M${x} ${middle - 5}v10`
        : `M${x - way * 6} ${middle - 5}l${way * 6} 5l${-way * 6} 5`);
      const ends = end(low, row.low, -1) + end(high, row.high, 1);
      group.append(svg("path", {class: `interval ${row.basis}`, d: `M${low} ${middle}H${high}${ends}`}));
    }
    const [x, y] = [this.within(row.change), middle];
    const shapes = {slower: `M${x - 6} ${y + 5}h12l-6 -11Z`, faster: `M${x - 6} ${y - 5}h12l-6 11Z`,
      unclear: `M${x - 4} ${y - 4}h8v8h-8Z`};
    group.append(svg("path", {class: "mean", d: shapes[mark]}));
    let text = changeText(row.change);
    if (!isNarrow && row.low !== null) text += `  [${changeText(row.low)}, ${changeText(row.high)}]  ${row.mark ?? ""}`;
    group.append(svg("text", {x: this.right + 10, y: middle + 4}, text));
    this.picture.append(group);
    explain(group, () => this.linesOf(row));
    group.addEventListener("focus", () => {
      const box = group.getBoundingClientRect();
      tip.show(this.linesOf(row), box.left + this.within(row.change), box.bottom);
    });
    group.addEventListener("blur", () => tip.hide());
  }

  sentence(row) {
    const interval = row.low === null ? "" : `, between ${changeText(row.low)} and ${changeText(row.high)}`;
    return `${row.path}: ${changeText(row.change)}${interval}${row.mark ? `, ${row.mark}` : ""}`;
  }

  linesOf(row) {
    const basis = {pairs: "95 % interval, of pairs", runs: "95 % interval", none: "no interval"}[row.basis];
    const interval = row.low === null ? "-" : `${changeText(row.low)} to ${changeText(row.high)}`;
    return [[row.path], ["base", timeText(row.base)], ["new", timeText(row.new)],
      ["change", changeText(row.change), true],
      [basis, interval], ...row.mark ? [["that is", row.mark]] : []];
  }

  tell(shown) {
    const {threshold, left_out, regions: rows} = this.data;
    const items = [keyItem("slower", "slower"), keyItem("faster", "faster"),
      keyItem("unclear", "the interval is inconclusive")];
    if (threshold !== null) items.push(keyItem("gate", `gate, ${changeText(threshold)}`));
    const {statistic} = this.data;
    items.push(quietItem(`${statistic} of a step; the line is the 95 % interval, with an arrow if it continues`));
    if (left_out > 0) items.push(quietItem(`${left_out} more are in the table`));
    if (rows.length > kFewChanges) {
      const text = this.isWhole ? "Only changes" : `All ${rows.length}`;
      items.push(html("span", {class: "tools"}, button(text, `${shown} of ${rows.length} regions are shown`, () => {
        this.isWhole = !this.isWhole;
        this.paint();
        this.legend.querySelector("button").focus();
      })));
    }
    this.legend.replaceChildren(...items);
  }
}
