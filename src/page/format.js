// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
"use strict";

// Number formats for people, as in Takt's table.

/** Rounds to a number of decimals; ties to even. */
function toDecimals(value, decimals) {
  const scaled = value * 10 ** decimals;
  const isTie = scaled - Math.floor(scaled) === 0.5;
  return (isTie ? 2 * Math.round(scaled / 2) / 10 ** decimals : value).toFixed(decimals);
}

function threeDigits(value) {
  return toDecimals(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, " ");
}

function withPrefix(value, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let at = 0;
  while (value >= 999.5 && at + 1 < prefixes.length) {
    value /= 1000;
    ++at;
  }
  return `${threeDigits(value)} ${prefixes[at]}${unit}`;
}

/** Formats a time: "45.3 ns", "12.3 ms", "72.0 h". */
function timeText(ns) {
  const units = [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"], [60e9, "min"], [3600e9, "h"]];
  let at = 0;
  while (ns / units[at][0] >= 999.5 && at + 1 < units.length) ++at;
  const value = ns / units[at][0];
  if (at === 0 && value === Math.floor(value)) return `${value} ns`;
  return `${threeDigits(value)} ${units[at][1]}`;
}

/** "12 345"; "1.23 M" from a million on. */
function countText(count) {
  return count < 1e6 ? grouped(count) : withPrefix(count, "");
}

/** "12.3 %" for a share. */
function percentText(share) {
  const percent = 100 * share;
  return `${percent !== 0 && percent < 0.05 ? Number(percent.toPrecision(2)) : toDecimals(percent, 1)} %`;
}

/** Formats a change: "+1.2 %". */
function changeText(share) {
  const size = toDecimals(Math.abs(100 * share), 1);
  return `${share < 0 && Number(size) > 0 ? "−" : "+"}${size} %`;
}

/** Formats a number that the program logged. */
function numberText(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

function stepsText(first, last) {
  return first === last ? `step ${grouped(first)}` : `steps ${grouped(first)} to ${grouped(last)}`;
}

/** Returns the last names of a path. */
function ending(full, names = 2) {
  return full.split("/").slice(-names).join("/");
}
