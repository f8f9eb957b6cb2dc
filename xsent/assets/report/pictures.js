// Sentences in the plane: panels of points that know of one another. What is drawn is described in pictures.py.
"use strict";

(() => {
  const REACH = 18; // pixels between the pointer and the mark it finds
  const MARGIN = 12; // pixels around the points
  const { languages, tags, runs } = xsent.data("pictures");
  const section = document.getElementById("pictures");
  const form = section.querySelector("form");
  const state = { method: "", spaces: new Set(), hidden: new Set() };
  // The same sentence in another run may stand in another row.
  for (const run of runs) run.rowOf = new Map(run.sentences.map((text, row) => [`${run.languages[row]} ${text}`, row]));

  class Panel {
    constructor(run, space) {
      Object.assign(this, { run, space });
      const title = runs.length > 1 ? `${run.name}: ${space}` : space;
      this.note = xsent.element("p", { class: "note" });
      const box = xsent.element("div");
      this.figure = xsent.element("figure", { "data-space": space, "data-run": run.name }, xsent.element("figcaption", {}, title), box, this.note);
      section.querySelector(".panels").append(this.figure);
      const height = (width) => Math.min(width, 460);
      this.frame = xsent.frame(box, { height, label: `sentences in the plane, ${title}` }, (...size) => this.draw(...size));
      this.probe = xsent.probe(this.frame.svg, {
        nearest: (x, y) => this.nearest(x, y),
        step: (row, right, down) => this.step(row, right, down),
        say: (row) => this.say(row),
        mark: (row) => ringEverywhere(row === null ? null : `${run.languages[row]} ${run.sentences[row]}`),
      });
    }

    draw(svg, width, height) {
      const found = this.run.methods[state.method]?.[this.space];
      const points = found?.points ?? [];
      this.note.textContent = found?.note ?? "";
      this.places = [];
      svg.append(xsent.shape("rect", { width, height, fill: "none", class: "axis" }));
      if (points.length) {
        const [low, high] = [0, 1].map((axis) => points.map((point) => point[axis])).reduce(
          (both, list) => [[...both[0], Math.min(...list)], [...both[1], Math.max(...list)]], [[], []]);
        // Both axes to one scale: the distances are what is to be seen.
        const unit = Math.min(...[width, height].map((size, axis) => (size - 2 * MARGIN) / (high[axis] - low[axis] || 1)));
        this.places = points.map(([x, y]) => [
          width / 2 + (x - (low[0] + high[0]) / 2) * unit,
          height / 2 - (y - (low[1] + high[1]) / 2) * unit,
        ]);
      }
      for (const row of this.shown()) {
        const language = this.run.languages[row];
        const [x, y] = this.places[row];
        svg.append(
          xsent.shape("path", {
            d: xsent.marker(language), fill: xsent.colour(language), "fill-opacity": 0.8, stroke: xsent.colour(language), "data-language": languages[language],
            "data-row": row, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(.8)`,
          }),
        );
      }
      this.ring = xsent.shape("circle", { class: "ring", r: 8, visibility: "hidden" });
      svg.append(this.ring);
    }

    shown() {
      return this.places.map((_, row) => row).filter((row) => !state.hidden.has(this.run.languages[row]));
    }

    nearest(x, y) {
      let [best, found] = [REACH ** 2, null];
      for (const row of this.shown()) {
        const distance = (this.places[row][0] - x) ** 2 + (this.places[row][1] - y) ** 2;
        if (distance <= best) [best, found] = [distance, row]; // of marks on one place the topmost
      }
      return found;
    }

    /** The next mark to the right or left, or below or above, whatever its other coordinate is. */
    step(row, right, down) {
      const axis = down ? 1 : 0;
      const order = this.shown().sort((a, b) => this.places[a][axis] - this.places[b][axis] || a - b);
      if (!order.length) return null;
      const at = order.indexOf(row);
      if (at < 0) return order[0];
      return order[Math.max(0, Math.min(order.length - 1, at + right + down))];
    }

    say(row) {
      const language = this.run.languages[row];
      const [x, y] = this.places[row];
      return {
        lines: [
          { text: `${languages[language]}, ${this.space}`, what: true },
          { text: this.run.sentences[row], lang: tags[language] || null },
        ],
        x,
        y,
      };
    }

    mark(sentence) {
      const row = this.run.rowOf.get(sentence);
      const visible = row !== undefined && this.places[row] && !state.hidden.has(this.run.languages[row]);
      this.ring.setAttribute("visibility", visible ? "visible" : "hidden");
      if (visible) this.ring.setAttribute("transform", `translate(${this.places[row][0]} ${this.places[row][1]})`);
    }
  }

  const panels = [];
  const ringEverywhere = (sentence) => panels.forEach((panel) => panel.mark(sentence));

  function read() {
    const chosen = new FormData(form);
    state.method = chosen.get("method");
    state.spaces = new Set(chosen.getAll("space"));
    state.hidden = new Set([...form.querySelectorAll("[name=language]:not(:checked)")].map((box) => Number(box.value)));
  }

  function show() {
    read();
    for (const panel of panels) {
      panel.figure.hidden = !state.spaces.has(panel.space);
      panel.probe.clear();
      panel.frame.again();
    }
  }

  const boxes = form.querySelector(".languages");
  for (const [number, language] of languages.entries()) {
    const box = xsent.element("input", { type: "checkbox", name: "language", value: number, autocomplete: "off", checked: true });
    const look = { colour: xsent.colour(number), marker: xsent.marker(number) };
    boxes.append(xsent.element("label", {}, box, xsent.sample(look), language));
  }
  read();
  for (const run of runs) {
    const spaces = new Set(Object.values(run.methods).flatMap((found) => Object.keys(found)));
    for (const space of spaces) panels.push(new Panel(run, space));
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", show);
})();
