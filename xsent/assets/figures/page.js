// The figures of a study: panels of points, a sentence behind each. What is drawn is described in page.py.
"use strict";

const REACH = 16; // CSS pixels between the pointer and the point it finds
const MARGIN = 14; // CSS pixels around the points of an unzoomed panel
const SPRITE = 14; // CSS pixels of the square around a mark
const SIZE = 0.9; // of a mark in a panel, that in the legend being 1
const LARGEST = 32767; // coordinates run from -LARGEST to LARGEST

/** A block of the page: base64 of gzip of the points (int16, little-endian) and, behind them, JSON. */
async function unpack(text, points) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  return {
    points: new Int16Array(bytes, 0, 2 * points),
    sentences: JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4 * points))),
  };
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function sprite(look, ratio) {
  const canvas = element("canvas", { width: SPRITE * ratio, height: SPRITE * ratio });
  const context = canvas.getContext("2d");
  const scale = SIZE * ratio;
  context.setTransform(scale, 0, 0, scale, canvas.width / 2, canvas.height / 2);
  context.globalAlpha = look.filled ? 0.75 : 0.85; // a cross lies on the disc of its translation
  context.fillStyle = context.strokeStyle = look.colour;
  context.lineWidth = 1;
  if (look.filled) context.fill(new Path2D(look.path));
  else context.stroke(new Path2D(look.path));
  return canvas;
}

/** One panel: two canvases on each other, the points below and what is picked above. */
class Panel {
  constructor(title, page) {
    this.page = page;
    this.back = element("canvas", { role: "img", "aria-label": `points of ${title}` });
    this.front = element("canvas", { "aria-hidden": "true" });
    this.plot = element("div", { class: "plot" }, this.back, this.front);
    this.note = element("p", { class: "note" });
    const caption = element("figcaption", {}, element("span", {}, title));
    for (const [sign, label, factor] of [["+", "zoom in", 1.6], ["−", "zoom out", 1 / 1.6], ["⟲", "show all", 0]]) {
      const button = element("button", { type: "button", "aria-label": `${title}: ${label}`, title: label }, sign);
      button.addEventListener("click", () => this.zoomBy(factor));
      caption.append(button);
    }
    this.figure = element("figure", {}, caption, this.plot, this.note);
    this.whole();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.plot);
  }

  whole() {
    this.zoom = 1;
    this.centre = [0, 0]; // coordinates in the middle of the panel
  }

  show(data, start, note, empty) {
    Object.assign(this, { data, start, empty });
    this.note.textContent = note;
    this.plot.classList.toggle("empty", empty);
    this.whole();
    this.draw();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.plot.clientWidth;
    this.height = this.plot.clientHeight;
    this.ratio = ratio;
    for (const canvas of [this.back, this.front]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
    }
    this.sprites = this.page.study.series.map((look) => sprite(look, ratio));
    this.draw();
  }

  get unit() {
    return ((Math.min(this.width, this.height) / 2 - MARGIN) / LARGEST) * this.zoom;
  }

  /** CSS pixels of row `row` of series `series`. */
  place(series, row) {
    const at = 2 * (this.start + series * this.page.pair.count + row);
    const { points } = this.data;
    return [
      this.width / 2 + (points[at] - this.centre[0]) * this.unit,
      this.height / 2 - (points[at + 1] - this.centre[1]) * this.unit,
    ];
  }

  draw() {
    if (!this.data || !this.width) return;
    const context = this.back.getContext("2d");
    context.clearRect(0, 0, this.back.width, this.back.height);
    for (const series of this.page.shown(this)) {
      for (let row = 0; row < this.page.pair.count; row++) {
        const [x, y] = this.place(series, row);
        if (x < -SPRITE || y < -SPRITE || x > this.width + SPRITE || y > this.height + SPRITE) continue;
        const corner = [x - SPRITE / 2, y - SPRITE / 2].map((length) => Math.round(length * this.ratio));
        context.drawImage(this.sprites[series], ...corner);
      }
    }
    this.plot.classList.toggle("zoomed", this.zoom > 1);
    this.ring();
  }

  /** Rings around the picked sentence and its translation, and a line between them. */
  ring() {
    const context = this.front.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const picked = this.page.picked;
    if (!picked || !this.data || this.empty) return;
    const other = picked.series ^ 1;
    const ends = [picked.series, other].map((series) => this.place(series, picked.row));
    context.strokeStyle = "#000";
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(...ends[0]);
    context.lineTo(...ends[1]);
    context.stroke();
    context.setLineDash([]);
    for (const [number, [x, y]] of ends.entries()) {
      for (const [colour, width] of [["#fff", 5], ["#000", 2]]) {
        context.strokeStyle = colour;
        context.lineWidth = width;
        context.beginPath();
        context.arc(x, y, number ? 6 : 9, 0, 2 * Math.PI); // the larger ring is what was picked
        context.stroke();
      }
    }
  }

  /** The point nearest to the pointer, if one is near. */
  nearest(x, y) {
    let [best, found] = [REACH * REACH, null];
    for (const series of this.page.shown(this)) {
      for (let row = 0; row < this.page.pair.count; row++) {
        const [px, py] = this.place(series, row);
        const distance = (px - x) ** 2 + (py - y) ** 2;
        if (distance < best) [best, found] = [distance, { series, row }];
      }
    }
    return found;
  }

  /** Zoom, keeping in its place what lies under `at`, else what is picked; a factor of 0 shows all. */
  zoomBy(factor, at) {
    const picked = this.page.picked;
    at ??= picked && !this.empty ? this.place(picked.series, picked.row) : [this.width / 2, this.height / 2];
    const before = this.unit;
    if (factor) this.zoom = Math.min(60, Math.max(1, this.zoom * factor));
    if (!factor || this.zoom === 1) this.whole();
    else {
      this.centre[0] += (at[0] - this.width / 2) * (1 / before - 1 / this.unit);
      this.centre[1] -= (at[1] - this.height / 2) * (1 / before - 1 / this.unit);
    }
    this.draw();
  }

  listen() {
    const position = (event) => {
      const box = this.plot.getBoundingClientRect();
      return [event.clientX - box.left - this.plot.clientLeft, event.clientY - box.top - this.plot.clientTop];
    };
    const pick = (event) => this.page.pick(this, this.data ? this.nearest(...position(event)) : null, event);
    let held = null; // where the pointer was when last seen dragging
    let moved = 0;
    this.plot.addEventListener("pointerdown", (event) => {
      moved = 0;
      if (this.zoom > 1) {
        held = position(event);
        this.plot.setPointerCapture(event.pointerId);
      }
    });
    this.plot.addEventListener("pointermove", (event) => {
      if (!held) {
        if (event.pointerType === "mouse") pick(event);
        return;
      }
      const now = position(event);
      this.centre[0] -= (now[0] - held[0]) / this.unit;
      this.centre[1] += (now[1] - held[1]) / this.unit;
      moved += Math.hypot(now[0] - held[0], now[1] - held[1]);
      if (moved >= 5) this.page.pick(this, null);
      held = now;
      this.draw();
    });
    for (const end of ["pointerup", "pointercancel"]) this.plot.addEventListener(end, () => (held = null));
    this.plot.addEventListener("click", (event) => moved < 5 && pick(event));
    this.plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.page.pick(this, null));
    const wheel = (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 200), position(event));
    };
    this.plot.addEventListener("wheel", wheel, { passive: false });
  }
}

/** The whole of it: what is chosen, the panels, and the tooltip. */
class Page {
  constructor(root) {
    this.root = root;
    this.study = JSON.parse(root.querySelector("script.study").textContent);
    this.hidden = new Set();
    this.picked = null; // series and row
    this.pair = null; // what the panels show of study.pairs, and its block
    this.block = null;
    this.blocks = new Map(); // unpacked, by number of the pair
    this.panels = this.study.panels.map((title) => new Panel(title, this));
    const plots = root.querySelector(".panels");
    plots.style.setProperty("--wide", Math.min(4, this.panels.length));
    plots.style.setProperty("--medium", Math.min(2, this.panels.length));
    plots.append(...this.panels.map((panel) => panel.figure));
    this.select = root.querySelector("select");
    this.select.append(...this.study.pairs.map((pair, at) => element("option", { value: at }, pair.languages.join("-"))));
    this.tooltip = root.querySelector(".tooltip");
    this.status = root.querySelector(".status");
    this.legend();
    root.querySelector(".controls").addEventListener("change", () => this.choose());
    document.addEventListener("scroll", () => this.pick(null, null), { passive: true });
    document.addEventListener("pointerdown", (event) => event.target.closest(".plot, figcaption") || this.pick(null, null));
    this.choose();
  }

  /** Numbers of the series to be drawn in a panel. */
  shown(panel) {
    return panel.empty ? [] : [...this.study.series.keys()].filter((number) => !this.hidden.has(number));
  }

  async choose() {
    const number = Number(this.select.value);
    const method = Number(this.root.querySelector("input:checked").value);
    this.pick(null, null);
    const { panels, series, methods } = this.study;
    const pair = this.study.pairs[number];
    const count = pair.count * series.length; // points of one panel
    if (!this.blocks.has(number)) {
      this.status.textContent = "unpacking …";
      const text = this.root.querySelector(`script[data-pair="${number}"]`).textContent;
      try {
        this.blocks.set(number, await unpack(text, count * panels.length * methods.length));
      } catch (error) {
        this.status.textContent = `This browser cannot unpack the figures (${error.message}); it needs one of 2023 or later.`;
        return;
      }
    }
    if (number !== Number(this.select.value)) return; // another pair was chosen meanwhile
    this.pair = pair;
    this.block = this.blocks.get(number);
    this.status.textContent = `${methods[method]} of ${pair.count.toLocaleString("en")} pairs, ${pair.languages.join("-")}`;
    this.name();
    for (const [at, panel] of this.panels.entries()) {
      const { note, empty } = pair.notes[method][at];
      panel.show(this.block, (method * panels.length + at) * count, note, empty);
    }
  }

  // ---- the legend, which also chooses what is shown

  legend() {
    const box = this.root.querySelector(".series");
    this.buttons = this.study.series.map((look, number) => {
      const paint = look.filled ? `fill="${look.colour}"` : `fill="none" stroke="${look.colour}" stroke-width="1.6"`;
      const button = element("button", { type: "button", "aria-pressed": "true" });
      button.innerHTML = `<svg width="20" height="20" viewBox="-6 -6 12 12" aria-hidden="true"><path d="${look.path}" ${paint}/></svg>`;
      button.append(element("span", {}));
      button.addEventListener("click", () => this.toggle(number));
      return button;
    });
    box.append(...this.buttons);
  }

  name() {
    for (const [number, look] of this.study.series.entries()) {
      this.buttons[number].lastChild.textContent = `${look.space}, ${this.pair.languages[look.side]}`;
    }
  }

  toggle(number) {
    if (!this.hidden.delete(number)) this.hidden.add(number);
    this.buttons[number].setAttribute("aria-pressed", String(!this.hidden.has(number)));
    this.pick(null, null);
    for (const panel of this.panels) panel.draw();
  }

  // ---- the sentence behind a point

  pick(panel, found, event) {
    if (!found && !this.picked) return;
    this.picked = found;
    this.tooltip.hidden = !found;
    for (const one of this.panels) one.ring();
    if (!found) return;
    const { space, side } = this.study.series[found.series];
    const lines = [side, 1 - side].flatMap((which, at) => {
      const what = `${at ? "translation" : space}, ${this.pair.languages[which]}`;
      // `dir` and `lang`: scripts from right to left, and the glyphs that a language's readers expect.
      const text = element("p", { dir: "auto", lang: this.pair.tags[which], class: "sentence" });
      text.textContent = this.block.sentences[which][found.row];
      return [element("p", { class: "what" }, what), text];
    });
    this.tooltip.replaceChildren(...lines);
    const { offsetWidth: width, offsetHeight: height } = this.tooltip;
    const left = Math.min(Math.max(8, event.clientX + 18), document.documentElement.clientWidth - width - 8);
    const below = event.clientY + 18;
    const top = below + height + 8 > window.innerHeight ? event.clientY - height - 18 : below;
    this.tooltip.style.left = `${Math.max(8, left)}px`;
    this.tooltip.style.top = `${Math.max(8, top)}px`;
  }
}

for (const root of document.querySelectorAll(".xsent-figures")) new Page(root);
