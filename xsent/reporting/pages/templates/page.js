// Behaviour of all pages: charts draw when they come into view and tell their marks; tables and lists are filtered.
"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const DIGITS = { maximumSignificantDigits: 6 };
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const node = (name, properties) => Object.assign(document.createElement(name), properties);
// Data blocks are gzip in Base64. One is the chart library, whose digest is in the content security policy.
const unpacked = {};
const unpack = (name) => (unpacked[name] ??= (async () => {
  const packed = Uint8Array.from(atob(document.getElementById(`block-${name}`).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
})());
const library = () => (unpacked[""] ??= unpack("vega").then((text) => document.head.append(node("script", { text }))));
// By figure: {} while it is being drawn, then { div, over, picked, tip, view }; and its choices, as `name=value`.
const live = new Map();
const choices = (figure) => all("form", figure.closest("section"))
  .flatMap((form) => [...new FormData(form)].map((choice) => choice.join("=")));
async function draw(figure) {
  live.get(figure)?.view?.finalize();
  live.set(figure, {});
  const div = figure.querySelector(".chart");
  const [{ specs, charts, shared }] = await Promise.all([unpack(div.dataset.block).then(JSON.parse), library()]);
  const { spec: name, columns, positive } = charts[div.dataset.chart];
  const resolve = (list) => (typeof list === "string" ? resolve(shared[list])
    : list.rows ? list.rows.map((row) => shared[list.list][row]) : list);
  const rows = [];
  for (const [key, list] of Object.entries(columns)) resolve(list).forEach((cell, at) => (rows[at] ??= {})[key] = cell);
  const chosen = choices(figure);
  const spec = specs[positive && chosen.includes("log=on") ? `${name}_log` : name];
  const params = [...(spec.params ?? []), { name: "chosen", value: chosen }];
  const { view } = await vegaEmbed(div, { ...spec, params, datasets: { ...spec.datasets, rows } },
    { ast: true, actions: false, renderer: "svg", tooltip: false });
  div.insertAdjacentHTML("beforeend", '<svg class="over"></svg>');
  live.set(figure, { div, over: div.lastChild, tip: spec.usermeta, view });
}

/** Hide a figure with a data attribute that is not chosen; tell the chart of any other what is. */
function update(figure) {
  const [chosen, { view } = {}] = [choices(figure), live.get(figure)];
  figure.hidden = Object.entries(figure.dataset).some((choice) => !chosen.includes(choice.join("=")));
  if (!figure.hidden) return view?.signal("chosen", chosen).runAsync();
  view?.finalize();
  if (live.delete(figure)) figure.querySelector(".chart").replaceChildren();
}

/** Marks with a key, in pixels of the chart's element. */
function marks(view) {
  const [left, top] = [view.origin()[0] + view.padding().left, view.origin()[1] + view.padding().top];
  const inside = (x, y) => x > left - 2 && y > top - 2 && x < left + view.width() + 2 && y < top + view.height() + 2;
  const walk = (mark, x, y) => mark.items.flatMap((item) => {
    const [px, py] = [x + (item.x ?? 0), y + (item.y ?? 0)];
    if (mark.marktype === "group") return item.items.flatMap((inner) => walk(inner, px, py));
    const isMark = /symbol|line|rect/.test(mark.marktype) && item.datum?.key != null && item.defined !== false;
    return isMark && inside(px, py) ? [{ ...item.datum, x: px + (item.width ?? 0) / 2, y: py }] : [];
  });
  return walk(view.scenegraph().root, left, top);
}

/** Ring a mark and its partner in all charts of the section, and show its text. */
function pick(figure, mark) {
  const tooltip = document.querySelector(".tooltip");
  tooltip.hidden = !mark;
  for (const [other, chart] of live) if (chart.view && other.closest("section") === figure.closest("section")) {
    chart.picked = other === figure ? mark : null;
    const rings = mark ? marks(chart.view).filter(({ key }) => key === mark.key || key === mark.partner) : [];
    const circles = rings.map(({ key, x, y }) => `<circle cx="${x}" cy="${y}" r="${key === mark.key ? 8 : 5}"/>`);
    chart.over.innerHTML = `<path d="M${rings.map(({ x, y }) => `${x},${y}`).join("L") || "0 0"}"/>${circles.join("")}`;
  }
  if (!mark) return;
  tooltip.replaceChildren(...live.get(figure).tip.lines.map(({ text, lang, small }) => node("p", {
    className: small ? "what" : "sentence", dir: "auto", lang: mark[lang] ?? "",
    textContent: text.replace(/\{(\w+)\}/g, (_, key) => mark[key].toLocaleString("en", DIGITS)),
  })));
  figure.append(tooltip);
  const { div } = live.get(figure);
  const offset = mark.y > div.clientHeight / 2 ? -14 - tooltip.offsetHeight : 14;
  tooltip.style.left = `${Math.max(0, Math.min(mark.x + 14, div.clientWidth - tooltip.offsetWidth))}px`;
  tooltip.style.top = `${div.offsetTop + mark.y + offset}px`;
}

/** Pick the mark nearest to the pointer. */
function point(figure, { clientX, clientY }) {
  const { div, tip, view } = live.get(figure) ?? {};
  const { left, top } = div?.getBoundingClientRect() ?? {};
  const distance = ({ x, y }) => Math.hypot(x + left - clientX, y + top - clientY);
  const near = view ? marks(view).filter((mark) => distance(mark) < tip.reach) : [];
  pick(figure, near.sort((a, b) => distance(a) - distance(b))[0]);
}

/** Arrow keys: along a line and between lines, or from point to point by position. */
function step(figure, right, down) {
  const { picked, view } = live.get(figure) ?? {};
  const list = view ? marks(view) : [];
  const lines = [...new Set(list.map(({ line }) => line))].sort((a, b) => a - b);
  const line = lines.at((lines.indexOf(picked?.line ?? lines[0]) + (lines.length > 1 ? down : 0)) % lines.length);
  const axis = lines.length === 1 && down ? "y" : "x";
  const order = list.filter((mark) => mark.line === line).sort((a, b) => a[axis] - b[axis] || a.key - b.key);
  const [x, y] = [picked?.x ?? 0, picked?.y];
  const at = order.findIndex((mark) => mark.key === picked?.key && mark.x === x && mark.y === y);
  const across = order.reduce((best, mark) => (Math.abs(mark.x - x) < Math.abs(best.x - x) ? mark : best), order[0]);
  pick(figure, at < 0 ? across : order[Math.max(0, Math.min(order.length - 1, at + right + down))]);
}
const observer = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting)
  .map((entry) => entry.target.closest("figure")).filter((figure) => !live.has(figure)).forEach(draw));
for (const chart of all(".chart")) {
  const figure = chart.closest("figure");
  const listen = (names, action) => names.forEach((name) => chart.addEventListener(name, action));
  listen(["pointermove", "click"], (event) => event.buttons || point(figure, event));
  listen(["wheel", "pointerdown", "pointerleave", "blur"], () => pick(figure, null));
  listen(["focus"], () => chart.matches(":focus-visible") && step(figure, 0, 0));
  listen(["keydown"], (event) => (event.key === "Escape" ? pick(figure, null)
    : KEYS[event.key] && step(figure, ...KEYS[event.key], event.preventDefault())));
  observer.observe(chart);
}
all("figure").forEach(update);
document.addEventListener("change", ({ target }) => all("figure").forEach(
  target.name === "log" ? (figure) => live.has(figure) && draw(figure) : update));
// Tables and lists: the rows with all words and choices, in the chosen order, a page at a time.
for (const form of all("form[role=search]")) {
  const section = form.closest("section");
  const [status, previous, next] = ["[role=status]", ".previous", ".next"].map((name) => section.querySelector(name));
  const rows = all("[data-text], .pairs li", section);
  const texts = rows.map((row) => row.dataset.text ?? all("p", row).map((p) => p.textContent.toLowerCase()).join("\n"));
  const size = Number(form.dataset.rows ?? rows.length);
  const show = (page) => {
    const { words, order = "", ...chosen } = Object.fromEntries(new FormData(form));
    const matches = rows.filter((row, at) => words.toLowerCase().split(/\s+/).every((word) => texts[at].includes(word))
      && Object.entries(chosen).every(([name, value]) => !value || row.dataset[name].split(" ").includes(value)));
    const [key, sign] = order.split(" ");
    if (key) matches.sort((a, b) => sign * (a.dataset[key] - b.dataset[key]) || a.dataset.line - b.dataset.line);
    const shown = new Set(matches.slice(page * size, (page + 1) * size));
    for (const row of rows) row.hidden = !shown.has(row);
    status.textContent = `${matches.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    if (!key) return;
    shown.forEach((row) => row.parentElement.append(row));
    const last = Math.max(0, Math.ceil(matches.length / size) - 1);
    status.textContent += ` pairs, page ${page + 1} of ${last + 1}`;
    Object.assign(previous, { disabled: page === 0, onclick: () => show(page - 1) });
    Object.assign(next, { disabled: page === last, onclick: () => show(page + 1) });
  };
  form.onchange = form.oninput = ({ type, target }) => (type === "input") === (target.name === "words") && show(0);
  show(0);
}
// The threshold of scored pairs: a text on what it keeps, the class of each pair, and with the event chart and list.
for (const range of all("[name=threshold]")) range.oninput = () => {
  const [threshold, text] = JSON.parse(range.dataset.choices)[range.value];
  range.form.querySelector("output").value = text;
  for (const { dataset } of all(".pairs li")) dataset.verdict = dataset.score > threshold ? "equivalent" : "divergent";
  document.querySelector("form[data-rows]").dispatchEvent(new Event("change", { bubbles: true }));
};
