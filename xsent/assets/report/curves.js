// Curves by step: a chart per term or figure. What is drawn is described in curves.py.
"use strict";

(() => {
  const { runs, axes: logged, charts } = xsent.data("curves");
  const section = document.getElementById("curves");
  const form = section.querySelector("form");
  const MARKS = 5; // of a run along a line
  const drawn = [];
  const state = { log: false, hidden: new Set() };

  class Chart {
    constructor(chart) {
      this.title = chart.title;
      this.variants = chart.variants;
      this.variant = 0;
      this.parts = [...new Set(chart.variants.flatMap((one) => one.lines.map((line) => line.part)))];
      this.legend = xsent.element("ul", { class: "legend" });
      const caption = xsent.element("figcaption", {}, chart.title);
      this.figure = xsent.element("figure", { "data-chart": chart.title }, caption, this.legend);
      if (chart.variants.length > 1) caption.append(" ", this.chooser());
      const box = xsent.element("div");
      this.figure.append(box);
      section.querySelector(".charts").append(this.figure);
      this.frame = xsent.frame(box, { height: 260, label: `curves of ${chart.title} by step` }, (...size) => this.draw(...size));
      xsent.probe(this.frame.svg, {
        nearest: (x, y) => this.nearest(x, y),
        step: (current, right, down) => this.step(current, right, down),
        say: (found) => this.say(found),
        mark: (found) => this.mark(found),
      });
    }

    chooser() {
      const select = xsent.element("select", { "aria-label": `item of ${this.title}`, autocomplete: "off" });
      for (const [at, one] of this.variants.entries()) select.append(xsent.element("option", { value: at }, one.name));
      select.addEventListener("change", () => {
        this.variant = Number(select.value);
        this.frame.again();
      });
      return select;
    }

    look(line) {
      const part = this.parts.indexOf(line.part);
      // Of one run the parts have colours of their own; among runs colour and marker are the run's, the dash the part's.
      const several = runs.length > 1;
      const marker = several ? xsent.marker(line.run) : null;
      return { colour: xsent.colour(several ? line.run : part), dash: xsent.dash(part), marker };
    }

    name(line) {
      return [runs.length > 1 ? runs[line.run] : "", this.parts.length > 1 || runs.length === 1 ? line.part : ""].filter(Boolean).join(", ");
    }

    draw(svg, width, height) {
      const lines = this.variants[this.variant].lines.filter((line) => !state.hidden.has(line.run));
      this.legend.replaceChildren(...lines.map((line) => xsent.element("li", {}, xsent.sample(this.look(line)), this.name(line))));
      const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
      const steps = lines.flatMap((line) => logged[line.axis].steps);
      this.lines = [];
      if (!values.length) {
        svg.append(xsent.shape("text", { x: 8, y: 30 }, "no finite value"));
        return;
      }
      const bounds = (list) => list.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, -Infinity]);
      const [low, high] = bounds(values);
      const log = state.log && low > 0;
      const y = xsent.scale([low, high], [height - 42, 14], { log });
      const widest = Math.max(...y.ticks(5).map((value) => xsent.number(value).length));
      const x = xsent.scale(bounds(steps), [14 + widest * 7, width - 10]);
      xsent.axes(svg, { x, y, xLabel: log ? "step (values logarithmic)" : "step" });
      for (const line of lines) {
        const { steps: at } = logged[line.axis];
        const points = line.values.map((value, row) => (value === null ? null : { x: x(at[row]), y: y(value), row }));
        const { colour, dash, marker } = this.look(line);
        svg.append(xsent.shape("path", { class: "line", d: path(points), stroke: colour, "stroke-dasharray": dash }));
        const found = points.filter(Boolean);
        if (found.length === 1 || marker) {
          // Not where those of the other runs are, should the lines lie on one another.
          for (const { x: across, y: down } of spread(found, MARKS, line.run / runs.length)) {
            const transform = `translate(${across.toFixed(1)} ${down.toFixed(1)}) scale(.8)`;
            svg.append(xsent.shape("path", { d: marker ?? xsent.marker(0), fill: colour, transform }));
          }
        }
        if (found.length) this.lines.push({ line, points: found });
      }
      this.ring = xsent.shape("circle", { class: "ring", r: 5, visibility: "hidden" });
      svg.append(this.ring);
    }

    nearest(x, y) {
      let [best, found] = [Infinity, null];
      for (const [at, { points }] of this.lines.entries()) {
        for (const [row, point] of points.entries()) {
          const distance = (point.x - x) ** 2 + (point.y - y) ** 2 / 4; // beside a line more than above it
          if (distance < best) [best, found] = [distance, { at, row }];
        }
      }
      return best < 60 ** 2 ? found : null;
    }

    step(current, right, down) {
      if (!this.lines.length) return null;
      if (current === null || current.at >= this.lines.length) return { at: 0, row: this.lines[0].points.length - 1 };
      const at = (current.at + down + this.lines.length) % this.lines.length;
      const { points } = this.lines[at];
      if (!down) return { at, row: Math.max(0, Math.min(points.length - 1, current.row + right)) };
      const { x } = this.lines[current.at].points[current.row];
      const distances = points.map((point) => Math.abs(point.x - x));
      return { at, row: distances.indexOf(Math.min(...distances)) };
    }

    say({ at, row }) {
      const { line, points } = this.lines[at];
      const point = points[row];
      const { steps, epochs } = logged[line.axis];
      return {
        lines: [
          { text: this.name(line), what: true },
          { text: xsent.number(line.values[point.row], 6) },
          { text: `step ${xsent.number(steps[point.row])}, epoch ${epochs[point.row]}`, what: true },
        ],
        x: point.x,
        y: point.y,
      };
    }

    mark(found) {
      if (!this.ring) return;
      this.ring.setAttribute("visibility", found ? "visible" : "hidden");
      if (!found) return;
      const point = this.lines[found.at].points[found.row];
      this.ring.setAttribute("cx", point.x);
      this.ring.setAttribute("cy", point.y);
    }
  }

  /** Straight lines between the points; a value that is no number leaves a gap. */
  function path(points) {
    return points.map((point, at) => point && `${at && points[at - 1] ? "L" : "M"}${point.x.toFixed(1)},${point.y.toFixed(1)}`).filter(Boolean).join("");
  }

  /** At most `count` of the points, evenly from all; `shift` between 0 and 1 moves them along. */
  function spread(points, count, shift) {
    const most = Math.min(count, points.length);
    return Array.from({ length: most }, (_, number) => points[Math.floor(((number + shift) * points.length) / most)]);
  }

  for (const chart of charts) drawn.push(new Chart(chart));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    state.log = form.querySelector("[name=log]").checked;
    state.hidden = new Set([...form.querySelectorAll("[name=run]:not(:checked)")].map((box) => Number(box.value)));
    for (const chart of drawn) chart.frame.again();
  });
})();
