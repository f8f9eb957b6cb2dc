// A search over settings: values by trial, importance of parameters, parallel coordinates. Its data: study.py.
"use strict";

(() => {
  const { monitor, isMax, trials, parameters, importance } = xsent.data("study");
  const section = document.getElementById("study");
  const better = (one, other) => (isMax ? one > other : one < other);
  // A state has a shape of its own; the colour repeats it.
  const LOOKS = {
    complete: { said: "finished", colour: xsent.colour(0), marker: xsent.marker(0) },
    pruned: { said: "pruned", colour: xsent.colour(1), marker: xsent.marker(4) },
    fail: { said: "failed", colour: xsent.colour(6), marker: xsent.marker(6) },
    running: { said: "running", colour: xsent.colour(7), marker: xsent.marker(3) },
  };
  const shown = (value) => (value === null ? "null" : typeof value === "number" ? xsent.number(value) : String(value));
  const hasValue = (trial) => trial.value !== null;

  function figure(name) {
    return section.querySelector(`[data-chart="${name}"]`);
  }

  function told(trial) {
    const ending = trial.error ? `${LOOKS[trial.state].said}: ${trial.error}` : LOOKS[trial.state].said;
    return [
      { text: `trial ${trial.number}: ${hasValue(trial) ? xsent.number(trial.value, 6) : "no value"}` },
      { text: ending + (trial.epochs === null ? "" : `, ${trial.epochs} epochs`), what: true },
      ...parameters.map(({ name }, at) => ({ text: `${name} = ${shown(trial.values[at])}`, what: true })),
    ];
  }

  /** Best value so far, at every trial that came to its end. */
  function records() {
    const found = [];
    let best = null;
    for (const trial of trials) {
      if (trial.state === "complete" && (best === null || better(trial.value, best))) best = trial.value;
      if (best !== null) found.push({ number: trial.number, value: best });
    }
    return found;
  }

  function history() {
    const box = xsent.element("div");
    const states = Object.keys(LOOKS).filter((state) => trials.some((trial) => trial.state === state));
    const legend = xsent.element(
      "ul",
      { class: "legend" },
      ...states.map((state) => xsent.element("li", {}, xsent.sample(LOOKS[state]), LOOKS[state].said)),
      xsent.element("li", {}, xsent.sample({ colour: xsent.colour(4), dash: xsent.dash(1) }), "best so far"),
    );
    figure("history").append(legend, box);
    let points = [];
    let ring = null;
    const { svg } = xsent.frame(box, { height: 280, label: `${monitor} by trial` }, (svg, width, height) => {
      const values = trials.filter(hasValue).map((trial) => trial.value);
      const y = xsent.scale(values.length ? [Math.min(...values), Math.max(...values)] : [0, 1], [height - 48, 16]);
      const widest = Math.max(...y.ticks(5).map((value) => xsent.number(value).length));
      const x = xsent.scale([0, Math.max(1, trials.length - 1)], [22 + widest * 7, width - 14]);
      xsent.axes(svg, { x, y, xLabel: "trial", xFormat: (value) => (Number.isInteger(value) ? String(value) : "") });
      const line = records().map(({ number, value }, at) => (at ? `H${x(number)}V${y(value)}` : `M${x(number)},${y(value)}`));
      svg.append(xsent.shape("path", { class: "line best", d: line.join("") || "M0,0", stroke: xsent.colour(4), "stroke-dasharray": xsent.dash(1) }));
      // A trial without a value has its mark on the axis.
      points = trials.map((trial) => ({ trial, x: x(trial.number), y: hasValue(trial) ? y(trial.value) : height - 48 }));
      for (const { trial, x: left, y: top } of points) {
        const { colour, marker } = LOOKS[trial.state];
        svg.append(xsent.shape("path", { class: "mark", "data-trial": trial.number, d: marker, fill: colour, transform: `translate(${left} ${top})` }));
      }
      ring = xsent.shape("circle", { class: "ring", r: 8, visibility: "hidden" });
      svg.append(ring);
    });
    xsent.probe(svg, {
      nearest: (px, py) => points.reduce((best, one) => (best === null || distance(one, px, py) < distance(best, px, py) ? one : best), null),
      step: (current, right, down) => stepped(points, current, right || down),
      say: (found) => ({ lines: told(found.trial), x: found.x, y: found.y }),
      mark: (found) => {
        ring.setAttribute("visibility", found === null ? "hidden" : "visible");
        if (found === null) return;
        ring.setAttribute("cx", found.x);
        ring.setAttribute("cy", found.y);
      },
    });
  }

  const distance = (one, x, y) => Math.hypot(one.x - x, one.y - y);

  function stepped(list, current, by) {
    if (!list.length) return null;
    const at = list.findIndex((one) => current !== null && one.trial === current.trial);
    return list[at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by))];
  }

  function shares() {
    const box = xsent.element("div");
    figure("importance").append(box);
    const ROW = 44;
    xsent.frame(box, { height: importance.length * ROW + 6, label: "importance of parameters" }, (svg, width) => {
      const x = xsent.scale([0, 1], [2, width - 60]);
      importance.forEach(([name, share], at) => {
        svg.append(
          xsent.shape("text", { x: 2, y: at * ROW + 14 }, name),
          xsent.shape("rect", { class: "share", x: 2, y: at * ROW + 20, height: 14, width: Math.max(1, x(share) - 2), fill: xsent.colour(0) }),
          xsent.shape("text", { x: Math.max(3, x(share)) + 6, y: at * ROW + 32 }, `${(100 * share).toFixed(1)} %`),
        );
      });
    });
  }

  /** Places of an axis: numbers by size, choices at equal distances. `of` is what `place` reads of a trial. */
  function placed(parameter, at, range) {
    if (parameter.choices.length) {
      const gap = (range[1] - range[0]) / (parameter.choices.length + 1);
      const place = (number) => range[0] + gap * (1 + number);
      return { of: (trial) => parameter.places[trials.indexOf(trial)], place, ticks: parameter.choices.map((choice, number) => [choice, place(number)]) };
    }
    const values = trials.map((trial) => trial.values[at]);
    const place = xsent.scale([Math.min(...values), Math.max(...values)], range, { log: parameter.log });
    return { of: (trial) => trial.values[at], place, ticks: place.domain.map((value) => [xsent.number(value, 3), place(value)]) };
  }

  function parallel() {
    const box = xsent.element("div");
    figure("parallel").append(box);
    const measured = trials.filter(hasValue);
    // Of equals the one that came to its end, then the first.
    const isPruned = (trial) => Number(trial.state !== "complete");
    const order = (one, other) => (one.value === other.value ? isPruned(one) - isPruned(other) || one.number - other.number : better(one.value, other.value) ? -1 : 1);
    const best = [...measured].sort(order);
    let lines = [];
    // Axes lie across, one below the other, so that their names have room on a phone.
    const ROW = 74;
    const { svg } = xsent.frame(box, { height: (parameters.length + 1) * ROW + 8, label: "parallel coordinates" }, (svg, width) => {
      const range = [16, width - 16];
      const values = measured.map((trial) => trial.value);
      const outcome = xsent.scale(values.length ? [Math.min(...values), Math.max(...values)] : [0, 1], range);
      const axes = [
        ...parameters.map((parameter, at) => ({ name: parameter.name + (parameter.log ? " (logarithmic)" : ""), ...placed(parameter, at, range) })),
        { name: monitor, of: (trial) => trial.value, place: outcome, ticks: outcome.domain.map((value) => [xsent.number(value), outcome(value)]) },
      ];
      const drawn = [...best].reverse(); // the best lies on top
      lines = drawn.map((trial) => ({ trial, points: axes.map(({ place, of }, at) => [place(of(trial)), at * ROW + 28]) }));
      for (const line of lines) {
        const rank = best.length < 2 ? 0 : best.indexOf(line.trial) / (best.length - 1);
        const { colour } = LOOKS[line.trial.state];
        line.path = xsent.shape("path", {
          class: "line trial", "data-trial": line.trial.number, d: `M${line.points.map((point) => point.join(",")).join("L")}`,
          stroke: colour, "stroke-dasharray": line.trial.state === "pruned" ? xsent.dash(1) : "",
        });
        line.width = 3 - 2.2 * rank;
        line.path.style.strokeWidth = line.width;
        line.path.style.opacity = 0.95 - 0.5 * rank;
        svg.append(line.path);
      }
      axes.forEach(({ name, ticks }, at) => {
        const top = at * ROW + 28;
        svg.append(xsent.shape("line", { class: "axis", x1: range[0], x2: range[1], y1: top, y2: top }));
        // The name stays readable where lines cross it.
        const halo = { "paint-order": "stroke", stroke: "var(--paper)", "stroke-width": 4 };
        svg.append(xsent.shape("text", { x: range[0] - 14, y: top - 10, ...halo }, name));
        ticks.forEach(([text, left], number) => {
          const anchor = number === 0 && left < 60 ? "start" : left > width - 60 ? "end" : "middle";
          svg.append(
            xsent.shape("line", { class: "axis", x1: left, x2: left, y1: top - 4, y2: top + 4 }),
            xsent.shape("text", { x: left, y: top + 18, "text-anchor": anchor }, text),
          );
        });
      });
    });
    xsent.probe(svg, {
      nearest: (x, y) => lines.reduce((found, one) => (found === null || away(one, x, y) < away(found, x, y) ? one : found), null),
      // By keyboard from the best to the worst.
      step: (current, right, down) => stepped([...lines].reverse(), current, right || down),
      say: (found) => ({ lines: told(found.trial), x: found.points.at(-1)[0], y: found.points.at(-1)[1] }),
      mark: (found) => {
        for (const one of lines) {
          const isIt = found !== null && one.trial === found.trial;
          one.path.style.strokeWidth = isIt ? 5 : one.width;
          one.path.style.stroke = isIt ? "var(--ink)" : "";
        }
      },
    });
  }

  /** Pixels from a place to a line, by the segment at its height. */
  function away({ points }, x, y) {
    const at = Math.max(0, Math.min(points.length - 2, points.findIndex((point) => point[1] > y) - 1));
    const [[x1, y1], [x2, y2]] = [points[at], points[at + 1]];
    const part = Math.max(0, Math.min(1, (y - y1) / (y2 - y1)));
    return Math.abs(x1 + part * (x2 - x1) - x);
  }

  history();
  if (importance.length) shares();
  if (trials.some(hasValue) && parameters.length) parallel();
})();
