// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions of the page with names, colours and patterns.

const kColors = 8;

const regions = {
  paths: [],
  colors: [],  // by path: colour number, 0 for all others

  begin(data) {
    this.paths = data.paths;
    this.paths.forEach((path, at) => {
      path.children = [];
      path.full = path.parent < 0 ? path.name : `${this.paths[path.parent].full}/${path.name}`;
      if (path.parent >= 0) this.paths[path.parent].children.push(at);
    });
    this.colors = this.paths.map(() => 0);
    const own = new Set(data.series.map((each) => each.path));
    const inSteps = data.series.flatMap((each) => each.phases).filter((each) => typeof each.path === "number");
    const bySelf = [...this.paths.keys()].sort((a, b) => this.paths[b].self_ns - this.paths[a].self_ns);
    const order = [...new Set([...inSteps.map((each) => each.path), ...bySelf])].filter((each) => !own.has(each));
    order.slice(0, kColors).sort((a, b) => a - b).forEach((path, at) => { this.colors[path] = at + 1; });
    document.body.append(patterns());
  },
};

/** Returns a fill for each colour. Every second one is hatched, so neighbours differ without colour, too. */
function patterns() {
  const marks = [null, "M0 6L6 0", null, "M0 3H6", null, "M0 0L6 6", null, "M3 0V6"];
  const own = svg("defs");
  for (let number = 0; number <= kColors; ++number) {
    const pattern = svg("pattern", {id: `fill${number}`, width: 6, height: 6, patternUnits: "userSpaceOnUse"},
      svg("rect", {class: `c${number}`, width: 6, height: 6}));
    const mark = number === 0 ? null : marks[number - 1];
    if (mark) pattern.append(svg("path", {class: "hatch", d: mark}));
    own.append(pattern);
  }
  own.append(svg("pattern", {id: "own", width: 6, height: 6, patternUnits: "userSpaceOnUse"},
    svg("path", {class: "own-hatch", d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"})));
  own.append(svg("pattern", {id: "between", width: 5, height: 5, patternUnits: "userSpaceOnUse"},
    svg("rect", {class: "between-dots", x: 1, y: 1, width: 2, height: 2})));
  return svg("svg", {class: "patterns", width: 0, height: 0, "aria-hidden": "true"}, own);
}

/** Returns the colour number of a part; 0 if it has no colour of its own. */
function colorNumber(path) {
  return typeof path === "number" ? regions.colors[path] ?? 0 : 0;
}
function colorOf(path) {
  return `var(--c${colorNumber(path)})`;
}
/** \param batch path of the step itself: it is hatched, like self time in the call tree. */
function fillOf(path, batch = -1) {
  if (path === batch) return "url(#own)";
  if (path === "between") return "url(#between)";
  return `url(#fill${colorNumber(path)})`;
}

/** Returns the name of a part of a step. \param batch path of the step itself: it means time outside regions. */
function partName(path, batch = -1, isShort = false) {
  if (path === "between") return isShort ? "between steps" : "between two steps";
  if (path === "rest") return "further regions";
  if (path === batch) return isShort ? "no region" : "no region inside the step";
  return isShort ? regions.paths[path].name : regions.paths[path].full;
}

/** Returns a small square in the colour of a part. */
function swatch(path, batch = -1) {
  return svg("svg", {class: "swatch", width: 12, height: 12, "aria-hidden": "true"},
    svg("rect", {width: 12, height: 12, rx: 2, fill: fillOf(path, batch)}));
}
