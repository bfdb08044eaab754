// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions of the page with names, colours and figures.

const kFirstHashed = 11;
const kHashed = 8;
// Takt's keys. Other names share the last colours by a hash, so that a name has the same colour in every run.
const kFixedColors = new Map(Object.entries({Batch: 0, Other: 0, Validation: 1, IO: 2, Forward: 3, Backward: 4,
  Optimizer: 5, Comm: 6, Checkpoint: 7, Epoch: 8, IOWait: 9, CommWait: 10}));

/** Returns the colour number of a region by its key: FNV-1a, with the last step of MurmurHash. */
function colorOfName(name) {
  if (kFixedColors.has(name)) return kFixedColors.get(name);
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return kFirstHashed + ((hash ^ (hash >>> 16)) >>> 0) % kHashed;
}

const regions = {
  paths: [],
  now: [],  // by path: the figures of the chosen rank, or of all ranks: the mean of a rank
  ranks: 1,  // number of ranks that the figures are a mean of
  wall: 0,  // run time, of the same ranks

  begin(data) {
    this.paths = data.paths;
    this.paths.forEach((path, at) => {
      path.children = [];
      path.full = path.parent < 0 ? path.name : `${this.paths[path.parent].full}/${path.name}`;
      if (path.parent >= 0) this.paths[path.parent].children.push(at);
    });
    document.body.append(patterns());
    this.showRank(data, undefined);
  },

  /** Takes the figures of a rank from its part of the page's data; undefined: of all ranks. */
  showRank({run}, rank) {
    this.ranks = rank ? 1 : run.ranks;
    this.wall = rank ? rank.wall_ns : run.ranks_ns / run.ranks;
    this.now = this.paths.map((path) => ({...path, n: Math.round(path.n / run.ranks),
      so_far_ns: path.so_far_ns / run.ranks, self_ns: path.self_ns / run.ranks}));
    rank?.paths.forEach((figures, at) => {
      const [n, so_far_ns, self_ns, mean_ns, p50_ns, p99_ns, max_ns] = figures ?? [0, 0, 0, null, null, null, null];
      Object.assign(this.now[at], {n, so_far_ns, self_ns, mean_ns, p50_ns, p99_ns, max_ns});
    });
    if (!rank) return;
    for (const each of this.now) {
      const whole = each.parent < 0 ? this.wall : this.now[each.parent].so_far_ns;
      each.share = each.share === null || whole === 0 ? null : each.so_far_ns / whole;
    }
  },
};

/** Returns patterns for time outside of regions. */
function patterns() {
  const own = svg("defs");
  own.append(svg("pattern", {id: "own", width: 6, height: 6, patternUnits: "userSpaceOnUse"},
    svg("path", {class: "own-hatch", d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"})));
  own.append(svg("pattern", {id: "between", width: 5, height: 5, patternUnits: "userSpaceOnUse"},
    svg("rect", {class: "between-dots", x: 1, y: 1, width: 2, height: 2})));
  return svg("svg", {class: "patterns", width: 0, height: 0, "aria-hidden": "true"}, own);
}

/** Returns the colour of a part; grey if it is no region. */
function colorOf(path) {
  return `var(--c${regions.paths[path] ? colorOfName(regions.paths[path].name) : 0})`;
}
/**
 * \param batch path of the step itself: it is hatched, like self time in the call tree.
 * \param isThin it is too thin for a pattern.
 */
function fillOf(path, batch = -1, isThin = false) {
  if (path === batch) return isThin ? "var(--c0)" : "url(#own)";
  if (path === "between") return isThin ? "var(--extremes)" : "url(#between)";
  return colorOf(path);
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
