// Scored pairs: which are shown, in what order, a page at a time. What they hold is described in divergence_page.py.
"use strict";

const { threshold, tags, rows, parts } = JSON.parse(document.querySelector("script.data").textContent);
const SIGNS = { equivalent: "=", divergent: "≠" };
const ORDERS = {
  rising: (a, b) => a.score - b.score || a.line - b.line,
  falling: (a, b) => b.score - a.score || a.line - b.line,
  line: (a, b) => a.line - b.line,
};

const pairs = JSON.parse(document.querySelector("script.list").textContent).map(
  ([line, score, sides, marked, more, own]) => ({
    line, score, sides, marked, more,
    verdict: score > threshold ? "equivalent" : "divergent",
    parts: own.map((number) => parts[number]),
    text: sides.join("\n").toLowerCase(),
  }),
);

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A sentence; neighbouring words that are marked share a mark. */
function sentence(pair, side) {
  // `dir` and `lang`: scripts from right to left, and the glyphs that a language's readers expect.
  const made = element("p", { class: "sentence", dir: "auto", lang: tags[side] });
  const marked = new Set(pair.marked[side]);
  let run = [];
  const flush = (isMarked) => {
    if (run.length) made.append(isMarked ? element("mark", {}, run.join(" ")) : run.join(" "), " ");
    run = [];
  };
  const words = pair.sides[side].split(" ");
  for (const [at, word] of words.entries()) {
    if (at && marked.has(at) !== marked.has(at - 1)) flush(marked.has(at - 1));
    run.push(word);
  }
  flush(marked.has(words.length - 1));
  if (pair.more[side]) made.append(element("span", { class: "more" }, `… and ${pair.more[side]} more words`));
  return made;
}

function item(pair) {
  const about = element(
    "div", { class: "about" },
    element("span", { class: "score" }, pair.score.toFixed(3)),
    element("span", { class: `verdict ${pair.verdict}` }, `${SIGNS[pair.verdict]} ${pair.verdict}`),
    element("span", { class: "line" }, `line ${pair.line.toLocaleString("en")}`),
  );
  return element("li", {}, about, sentence(pair, 0), sentence(pair, 1));
}

/** What is chosen, and the page of it that is on the screen. */
class List {
  constructor() {
    this.form = document.querySelector(".controls");
    this.box = document.querySelector(".pairs");
    this.status = document.querySelector(".status");
    // Where the page holds all pairs there is nothing to choose a part of.
    this.form.querySelector(".part").hidden = pairs.every((pair) => pair.parts.length === parts.length);
    // The search box says "change" too, when it is left: by then a page may have been turned.
    this.form.addEventListener("change", (event) => event.target.name === "search" || this.choose());
    this.form.querySelector("[name=search]").addEventListener("input", () => this.choose());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    for (const [name, step] of [["previous", -1], ["next", 1]]) {
      for (const button of document.querySelectorAll(`.${name}`)) button.addEventListener("click", () => this.turn(step));
    }
    this.choose();
  }

  choose() {
    const { verdict, part, order, search } = Object.fromEntries(new FormData(this.form));
    const wanted = search.trim().toLowerCase();
    this.chosen = pairs
      .filter((pair) => !verdict || pair.verdict === verdict)
      .filter((pair) => !part || pair.parts.includes(part))
      .filter((pair) => pair.text.includes(wanted))
      .sort(ORDERS[order]);
    this.page = 0;
    this.show();
  }

  turn(step) {
    this.page += step;
    this.show();
    document.querySelector("nav").scrollIntoView();
  }

  show() {
    const pages = Math.max(1, Math.ceil(this.chosen.length / rows));
    const shown = this.chosen.slice(this.page * rows, (this.page + 1) * rows);
    this.box.replaceChildren(...shown.map(item));
    if (!shown.length) this.box.append(element("li", { class: "none" }, "No pair fits."));
    const count = this.chosen.length.toLocaleString("en");
    this.status.textContent = `${count} ${this.chosen.length === 1 ? "pair" : "pairs"}, page ${this.page + 1} of ${pages}`;
    for (const button of document.querySelectorAll(".previous")) button.disabled = this.page === 0;
    for (const button of document.querySelectorAll(".next")) button.disabled = this.page >= pages - 1;
  }
}

new List();
