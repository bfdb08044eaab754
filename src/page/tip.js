// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The tooltip at the pointer.

const tip = {
  element: document.getElementById("tip"),

  /** Shows lines of [name, value]; a name alone is a heading. */
  show(lines, x, y) {
    this.element.replaceChildren(...lines.map(([name, value, mark]) => {
      const line = html("p", {class: value === undefined ? "head" : mark ? "marked" : ""}, html("span", {}, name));
      if (value !== undefined) line.append(html("b", {}, value));
      return line;
    }));
    this.element.hidden = false;
    const {width, height} = this.element.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    this.element.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    this.element.style.top = `${Math.max(4, Math.min(y + 16, innerHeight - height - 4))}px`;
  },

  hide() {
    this.element.hidden = true;
  },
};

/** Shows a tooltip with the result of `linesAt` for the pointer's position; hides it if there is none. */
function explain(element, linesAt) {
  element.addEventListener("pointermove", (event) => {
    const box = element.getBoundingClientRect();
    const lines = linesAt(event.clientX - box.left, event.clientY - box.top, event);
    if (lines) tip.show(lines, event.clientX, event.clientY);
    else tip.hide();
  });
  element.addEventListener("pointerleave", () => tip.hide());
}
