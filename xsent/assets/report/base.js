// What the sections of a page draw with. A section's script reads `xsent.data(key)` and draws into `#key`.
"use strict";

const xsent = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = Array.from({ length: 8 }, (_, number) => `var(--c${number})`);
  // Eight colours with five dashes, or with nine markers, repeat late: neither tells alone.
  const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 4"];
  const MARKERS = [
    "M5,0A5,5 0 1 1 -5,0A5,5 0 1 1 5,0Z", // disc
    "M-4.5,-4.5H4.5V4.5H-4.5Z", // square
    "M0,-5.5L5.5,4.5H-5.5Z", // triangle
    "M0,-6L6,0L0,6L-6,0Z", // diamond
    "M0,5.5L5.5,-4.5H-5.5Z", // triangle, down
    "M-2,-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z", // plus
    "M-5.5,-3L-3,-5.5L0,-2.5L3,-5.5L5.5,-3L2.5,0L5.5,3L3,5.5L0,2.5L-3,5.5L-5.5,3L-2.5,0Z", // cross
    "M0,-6.5L1.5,-2L6.2,-2L2.4,0.8L3.8,5.3L0,2.5L-3.8,5.3L-2.4,0.8L-6.2,-2L-1.5,-2Z", // star
    "M-5.5,0L4.5,-5.5V5.5Z", // triangle, to the left
  ];
  const cycle = (list) => (number) => list[number % list.length];

  /** The plain values that the page holds for a section. */
  function data(key) {
    return JSON.parse(document.getElementById(`data-${key}`).textContent);
  }

  function filled(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  /** An HTML element; children are elements, or strings that stay text whatever is in them. */
  function element(name, attributes = {}, ...children) {
    return filled(document.createElement(name), attributes, children);
  }

  /** An SVG element. */
  function shape(name, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, name), attributes, children);
  }

  /** A number as a person reads it: four significant digits, more where `digits` says so. */
  function number(value, digits = 4) {
    if (value === null || !Number.isFinite(value)) return "none";
    if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(digits - 1);
    const whole = 1 + Math.floor(Math.log10(Math.abs(value) || 1)); // digits before the point are never rounded away
    return Number(value.toPrecision(Math.max(digits, whole))).toLocaleString("en", { maximumFractionDigits: 10 });
  }

  /** From values `[low, high]` to pixels `[from, to]`; with `log` by the logarithm. `ticks(n)` gives about n round values. */
  function scale([low, high], [from, to], { log = false } = {}) {
    if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) / 10 || 0.5), high + (Math.abs(high) / 10 || 0.5)];
    const warp = log ? Math.log10 : (value) => value;
    const back = log ? (value) => 10 ** value : (value) => value;
    const [start, span] = [warp(low), warp(high) - warp(low)];
    const place = (value) => from + ((warp(value) - start) / span) * (to - from);
    place.invert = (pixel) => back(start + ((pixel - from) / (to - from)) * span);
    place.domain = [low, high];
    place.range = [from, to];
    place.ticks = (count) => (log ? logTicks(low, high, count) : linearTicks(low, high, count));
    return place;
  }

  function linearTicks(low, high, count) {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(Number((at * step).toPrecision(12)));
    return found;
  }

  function logTicks(low, high, count) {
    const decades = Math.log10(high / low);
    if (decades < 1) return linearTicks(low, high, count).filter((value) => value > 0);
    const factors = decades < 3 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.round(decades / count));
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      if (power % every) continue;
      found.push(...factors.map((factor) => factor * 10 ** power).filter((value) => value >= low && value <= high));
    }
    return found;
  }

  /** Axes with grid lines and labels for two scales; `x` may be null. Returns the group, already in the drawing. */
  function axes(svg, { x = null, y, xLabel = "", yLabel = "", xFormat = number, yFormat = number }) {
    const group = shape("g", { "aria-hidden": "true" });
    const [bottom, top] = y.range;
    const [left, right] = x ? x.range : [0, svg.clientWidth];
    for (const value of y.ticks(Math.max(2, Math.round((bottom - top) / 45)))) {
      group.append(
        shape("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
        shape("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, yFormat(value)),
      );
    }
    for (const value of x ? x.ticks(Math.max(2, Math.round((right - left) / 90))) : []) {
      group.append(
        shape("line", { class: "axis", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4 }),
        shape("text", { x: x(value), y: bottom + 17, "text-anchor": "middle" }, xFormat(value)),
      );
    }
    group.append(shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
    if (xLabel) group.append(shape("text", { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, xLabel));
    if (yLabel) group.append(shape("text", { x: left, y: top - 8, "text-anchor": "start" }, yLabel));
    svg.append(group);
    return group;
  }

  /** An empty drawing in `box` as wide as it; `draw(svg, width, height)` is called again whenever the width changes. */
  function frame(box, { height, label }, draw) {
    const svg = shape("svg", { class: "chart", role: "img", "aria-label": label, tabindex: 0 });
    box.append(svg);
    let width = 0;
    const again = () => {
      width = box.clientWidth;
      const tall = typeof height === "function" ? height(width) : height;
      svg.setAttribute("height", tall);
      svg.replaceChildren();
      if (width) draw(svg, width, tall);
    };
    new ResizeObserver(() => box.clientWidth !== width && again()).observe(box);
    again();
    return { svg, again };
  }

  /** What floats beside the pointed place. Lines are `{ text, what: true for small print, lang: a tag }`. */
  const tooltip = (() => {
    const box = element("div", { class: "tooltip", role: "status", hidden: true });
    document.body.append(box);
    return {
      show(lines, x, y) {
        box.replaceChildren(
          ...lines.map(({ text, what, lang }) => element("p", { class: what ? "what" : "said", lang, dir: "auto" }, text)),
        );
        box.hidden = false;
        const [wide, tall] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
        const left = Math.max(8, Math.min(x + 14, wide - box.offsetWidth - 8));
        const below = y + 14 + box.offsetHeight <= tall;
        const top = below ? y + 14 : Math.max(8, y - 14 - box.offsetHeight);
        box.style.transform = `translate(${Math.round(left + scrollX)}px, ${Math.round(top + scrollY)}px)`;
      },
      hide() {
        box.hidden = true;
      },
    };
  })();

  /**
   * Pointer, finger and arrow keys on a drawing find something, and the tooltip says what it is.
   * `nearest(x, y)` and `step(current or null, right, down)` return what was found, or null; `say(found)` returns
   * `{ lines, x, y }` in pixels of the drawing; `mark(found or null)` shows which it is.
   */
  function probe(svg, { nearest, step, say, mark = () => {} }) {
    let current = null;
    const pick = (found) => {
      current = found;
      mark(found);
      if (found === null) return tooltip.hide();
      const { lines, x, y } = say(found);
      const box = svg.getBoundingClientRect();
      tooltip.show(lines, box.left + x, box.top + y);
    };
    const point = (event) => {
      const box = svg.getBoundingClientRect();
      pick(nearest(event.clientX - box.left, event.clientY - box.top));
    };
    svg.addEventListener("pointermove", (event) => event.pointerType === "mouse" && point(event));
    svg.addEventListener("click", point); // a tap, too
    svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && pick(null));
    svg.addEventListener("blur", () => pick(null));
    svg.addEventListener("focus", () => svg.matches(":focus-visible") && pick(step(null, 0, 0)));
    const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") pick(null);
      if (!ARROWS[event.key]) return;
      event.preventDefault();
      pick(step(current, ...ARROWS[event.key]));
    });
    return { clear: () => pick(null) };
  }

  /** A sample of a line or marker for a legend. */
  function sample({ colour, dash = null, marker = null }) {
    const svg = shape("svg", { "aria-hidden": "true" });
    const middle = dash === null ? 8 : 15;
    if (dash !== null) svg.append(shape("line", { x1: 0, x2: 30, y1: 7, y2: 7, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
    if (marker !== null) svg.append(shape("path", { d: marker, fill: colour, transform: `translate(${middle} 7) scale(.8)` }));
    return svg;
  }

  return {
    data, element, shape, number, scale, axes, frame, tooltip, probe, sample,
    colour: cycle(COLOURS), dash: cycle(DASHES), marker: cycle(MARKERS),
  };
})();
