// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The current view: a range of steps, a series, a region. It is stored in the address after the #, so that links
// reproduce it.

const view = {
  whole: [0, 1],  // all steps of the series, with half a step added at both ends
  low: 0,
  high: 1,
  series: 0,
  region: -1,  // -1: none
  metrics: undefined,  // those drawn; undefined: the first ones
  listeners: [],

  isWhole() {
    return this.low <= this.whole[0] && this.high >= this.whole[1];
  },

  /** Shows the steps from `low` to `high`, at least two, limited to existing steps. */
  show(low, high) {
    this.limit(low, high);
    this.tell("range");
  },

  limit(low, high) {
    const [first, last] = this.whole;
    const span = Math.min(Math.max(high - low, 2), last - first);
    this.low = Math.min(Math.max(low, first), last - span);
    this.high = this.low + span;
  },

  showAll() {
    this.show(...this.whole);
  },

  /** Multiplies the number of steps in view by `factor`; step `at` keeps its position. */
  zoom(factor, at = (this.low + this.high) / 2) {
    this.show(at - (at - this.low) * factor, at + (this.high - at) * factor);
  },

  /** Moves by a share of the visible range. */
  pan(share) {
    const by = share * (this.high - this.low);
    this.show(this.low + by, this.high + by);
  },

  /** Selects a region; selecting it again clears the selection. */
  choose(region) {
    this.region = region === this.region ? -1 : region;
    this.tell("region");
  },

  /** Shows other steps, in the same range if they are there. */
  setSeries(series, whole) {
    const [low, high] = this.isWhole() ? whole : [this.low, this.high];
    this.series = series;
    this.whole = whole;
    this.limit(low, high);
    this.tell("series");
  },

  chooseMetrics(metrics) {
    this.metrics = metrics;
    this.tell("metrics");
  },

  onChange(listener) {
    this.listeners.push(listener);
  },

  tell(what) {
    this.write();
    for (const each of this.listeners) each(what);
  },

  /** Writes the view to the address, without a history entry. */
  write() {
    const parts = [];
    if (this.series > 0) parts.push(`series=${this.series}`);
    if (!this.isWhole()) parts.push(`steps=${Math.ceil(this.low)}:${Math.floor(this.high)}`);
    if (this.region >= 0) parts.push(`region=${this.region}`);
    if (this.metrics) parts.push(`metrics=${this.metrics.join(",")}`);
    if (parts.length === 0 && !location.hash.includes("=")) return;
    history.replaceState(null, "", parts.length === 0 ? "#" : `#${parts.join("&")}`);
  },

  /** Returns the valid parts of the address. */
  read() {
    const wanted = {};
    const number = "-?\\d{1,16}";
    for (const part of location.hash.slice(1).split("&")) {
      const found = part.match(`^(series|region)=(\\d{1,6})$`);
      if (found) wanted[found[1]] = Number(found[2]);
      const metrics = part.match("^metrics=([\\d,]{0,200})$");
      if (metrics) wanted.metrics = metrics[1].split(",").filter((each) => each !== "").map(Number);
      const range = part.match(`^steps=(${number}):(${number})$`);
      if (range) wanted.steps = [Number(range[1]), Number(range[2])];
    }
    return wanted;
  },
};

/** Returns buttons that change the range. */
function viewButtons() {
  return [button("←", "Earlier steps", () => view.pan(-0.5)), button("→", "Later steps", () => view.pan(0.5)),
    button("+", "Fewer steps", () => view.zoom(0.5)), button("−", "More steps", () => view.zoom(2)),
    button("All", "All steps", () => view.showAll())];
}

/** Keeps the view in the address when links to parts of the page are followed; unfolds these. */
function keepViewInAddress() {
  for (const link of document.querySelectorAll("a[href^='#']")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const part = document.querySelector(link.getAttribute("href"));
      const folded = part.closest("details");
      if (folded) folded.open = true;
      part.tabIndex = -1;
      part.focus({preventScroll: true});
      part.scrollIntoView();
    });
  }
}
