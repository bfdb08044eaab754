// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Elements and axes.

/** Returns an HTML element; strings among the children are shown as text. */
function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The same for SVG. */
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function button(text, label, action) {
  const element = html("button", {type: "button", "aria-label": label, title: label}, text);
  element.addEventListener("click", action);
  return element;
}

/** Returns a legend entry: the symbol of class `mark`, and its meaning. */
function keyItem(mark, text) {
  return html("span", {class: "item"}, html("span", {class: `key ${mark}`}), text);
}

function quietItem(text) {
  return html("span", {class: "item quiet"}, text);
}

/** Makes Enter and the space bar act like a click. */
function onPress(element, action) {
  element.addEventListener("click", action);
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    action();
  });
}

const measuring = document.createElement("canvas").getContext("2d");

/** Returns the width of a text in pixels. */
function textWidth(text, font = "12px") {
  measuring.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return measuring.measureText(text).width;
}

/** Shortens a text to the width with an ellipsis at its end; empty if nothing fits. */
function fitText(text, width, font) {
  if (textWidth(text, font) <= width) return text;
  const characters = Array.from(text);
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${characters.slice(0, middle).join("")}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${characters.slice(0, low).join("")}…`;
}

/** Returns the first of `texts` that fits, or else the last one shortened to whole words; empty if nothing fits. */
function fitWords(texts, width, font) {
  const fits = (text) => textWidth(text, font) <= width;
  const found = texts.find(fits);
  if (found !== undefined) return found;
  const words = texts.at(-1).match(/[^\p{L}\p{N}]*[\p{L}\p{N}]+/gu) ?? [];
  for (let count = words.length - 1; count > 0; --count) {
    const text = `${words.slice(0, count).join("")}…`;
    if (fits(text)) return text;
  }
  return "";
}

/** Returns the width of a column for these labels, at the left of a chart of this width. */
function labelWidth(labels, width) {
  const most = width < kNarrow ? 0.42 * width : 230;
  return Math.min(Math.max(...labels.map((each) => textWidth(each, "600 12.5px"))) + 18, most);
}

/** Returns about `count` round numbers from `low` to `high`. */
function ticks(low, high, count, whole = false) {
  const span = high - low;
  if (!(span > 0) || count < 1) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; ++at) found.push(at * step);
  return found;
}

/** Returns powers of ten, with more values in between for short ranges. */
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    for (const each of decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5]) {
      const value = each * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

/** Maps [from, to] to pixels. */
function linear(from, to, first, last) {
  const slope = to === from ? 0 : (last - first) / (to - from);
  return (value) => first + (value - from) * slope;
}

function logarithmic(from, to, first, last) {
  const map = linear(Math.log(from), Math.log(to), first, last);
  return (value) => map(Math.log(value));
}

function sumOf(values) {
  return values.reduce((sum, each) => sum + each, 0);
}

/** Returns the first index from 0 to `count` for which the monotonic `isReached` holds. */
function firstPlace(count, isReached) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
