// The filter box above the tables of figures.
"use strict";

(() => {
  const section = document.getElementById("results") ?? document.getElementById("comparison");
  const form = section.querySelector("form");
  const box = form.querySelector("[name=filter]");
  const status = form.querySelector("[role=status]");
  const rows = [...section.querySelectorAll("tr[data-key]")];
  // The last table has every figure once; the first has several in a row, or leaves some out.
  const figures = [...rows.at(-1)?.closest("table").querySelectorAll("tr[data-key]") ?? []];

  form.addEventListener("submit", (event) => event.preventDefault());
  box.addEventListener("input", () => {
    const words = box.value.trim().toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.dataset.key.includes(word));
    const shown = figures.filter((row) => !row.hidden).length;
    status.textContent = box.value.trim() ? `${shown} of ${figures.length} figures` : "";
  });
})();
