// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Steps of several ranks, of which the reader chooses one, or all together.

/** Returns the value in the middle. */
function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Combines the ranks' series: the median of the ranks for each block of steps, the fastest and the slowest rank. */
function seriesOfAll(ranks) {
  const all = ranks.map((each) => ({data: each.series, blocks: new Blocks(each.series)}));
  const {data: base, blocks} = all.reduce((a, b) => (b.blocks.steps > a.blocks.steps ? b : a));
  const values = blocks.first.map((first, at) => {
    const middle = (first + blocks.last(at)) / 2;
    const there = all.filter((each) => each.blocks.whole()[0] <= middle && middle <= each.blocks.whole()[1]);
    return there.map((each) => each.blocks.mean[each.blocks.at(middle)]);
  });
  const [median, low, high] = [medianOf, (each) => Math.min(...each), (each) => Math.max(...each)]
    .map((pick) => values.map(pick));
  const series = {...base, mean: median, least: low, most: high, worst: [], streams: meanOfPhases(all, "streams"),
    phases: meanOfPhases(all, "phases"), bands: {blocks: 1, low, median, high}};
  return {data: series, blocks: new Blocks(series), isAll: true, name: `all ranks: median and spread of ${all.length}`};
}

/** Returns the mean of each phase by group of blocks, over the ranks that got there. */
function meanOfPhases(all, kind) {
  const phases = all.flatMap((each) => each.data[kind]);
  const groups = all.map(({data: {phases: [some]}}) => some.ns.length);
  const there = Array.from({length: Math.max(...groups)}, (_, at) => groups.filter((each) => each > at).length);
  return [...new Set(phases.map((each) => each.path))].map((path) => {
    const same = phases.filter((each) => each.path === path);
    return {path, total_ns: sumOf(same.map((each) => each.total_ns)) / all.length,
      ns: there.map((ranks, at) => sumOf(same.map((each) => each.ns[at] ?? 0)) / ranks)};
  }).sort((a, b) => b.total_ns - a.total_ns);
}

/** Returns what the reader can choose: all ranks, the series of the first rank, and the steps of the others. */
function choicesOf({series, ranks}) {
  const shown = (each) => ({data: each, blocks: new Blocks(each)});
  const own = series.map((each) => ({...shown(each), name: each.label}));
  const withSteps = ranks.filter((each) => each.series);
  if (withSteps.length < 2 || own.length === 0) return own;
  const [first, ...others] = withSteps;
  return [seriesOfAll(withSteps),
    ...own.map((each) => ({...each, rank: first, name: `rank ${first.rank}: ${each.name}`})),
    ...others.map((each) => ({...shown(each.series), rank: each, name: `rank ${each.rank}`}))];
}
