// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
"use strict";

// Steps of a series as blocks of neighbouring steps, each with its minimum, maximum and mean.

class Blocks {
  constructor(data) {
    this.data = data;
    this.numbers = [];  // number of each block's first step, as the program counts
    this.counts = [];
    for (const [number, steps, blocks] of data.runs) {
      for (let at = 0; at < blocks; ++at) {
        this.numbers.push(number + at * steps);
        this.counts.push(steps);
      }
    }
    this.mean = data.mean;
    this.least = data.least ?? data.mean;
    this.most = data.most ?? data.mean;
    this.places = [];  // number of steps before each block
    let place = 0;
    for (const count of this.counts) {
      this.places.push(place);
      place += count;
    }
    this.steps = place;
    // If numbers go back, steps are shown in the order in which they ran.
    const goesBack = (at) => at > 0 && this.numbers[at] < this.numbers[at - 1] + this.counts[at - 1];
    this.isCounted = !this.numbers.some((_, at) => goesBack(at));
    this.first = this.isCounted ? this.numbers : this.places;
  }

  get size() {
    return this.first.length;
  }
  last(at) {
    return this.first[at] + this.counts[at] - 1;
  }
  /** Returns both ends of the axis. */
  whole() {
    return [this.first[0] - 0.5, this.last(this.size - 1) + 0.5];
  }
  /** Returns the axis position of the step with this many steps before it. */
  positionOfPlace(place) {
    const at = firstPlace(this.size, (each) => this.places[each] > place) - 1;
    return this.first[at] + place - this.places[at];
  }
  /** Returns the axis position of the step with this number. */
  positionOfNumber(number) {
    if (this.isCounted) return number;
    const at = this.numbers.findLastIndex((each, place) => each <= number && number < each + this.counts[place]);
    return at < 0 ? NaN : this.places[at] + number - this.numbers[at];
  }
  /** Returns the block at the position, or the next one. */
  at(position) {
    return Math.min(firstPlace(this.size, (each) => this.last(each) + 0.5 >= position), this.size - 1);
  }
  /** Returns the range of blocks from `low` to `high`, extended by one at each end: first, and one past the last. */
  between(low, high) {
    const begin = firstPlace(this.size, (at) => this.last(at) + 0.5 > low);
    const end = firstPlace(this.size, (at) => this.first[at] - 0.5 >= high);
    return [Math.max(begin - 1, 0), Math.min(end + 1, this.size)];
  }

  /** Combines the steps from `low` to `high` into about `count` equally wide columns; keeps all extremes. */
  columns(low, high, count) {
    const found = [];
    const [begin, end] = this.between(low, high);
    let place = NaN;
    for (let at = begin; at < end; ++at) {
      const middle = (this.first[at] + this.last(at)) / 2;
      const here = Math.floor((middle - low) / (high - low) * count);
      if (here !== place) {
        found.push({first: this.first[at], last: this.last(at), least: Infinity, most: 0, sum: 0, steps: 0});
        place = here;
      }
      const column = found[found.length - 1];
      column.last = this.last(at);
      column.least = Math.min(column.least, this.least[at]);
      column.most = Math.max(column.most, this.most[at]);
      column.sum += this.mean[at] * this.counts[at];
      column.steps += this.counts[at];
    }
    return found;
  }

  /** Returns "step 17" or "steps 1 024 to 1 279" for a range of the axis. */
  rangeText(first, last) {
    return this.isCounted ? stepsText(first, last) : stepsText(first, last).replace("step", "place");
  }
}
