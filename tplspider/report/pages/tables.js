// Tables that sort and filter, and the links of one page at a time. All is readable without it.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function sortBy(table, column, header) {
    const body = table.tBodies[0];
    const descending = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const keyed = Array.from(body.rows, (row) => {
      const text = row.cells[column].textContent.trim();
      const number = text === "" ? NaN : Number(text);
      return { row, text, number };
    });
    const sign = descending ? -1 : 1;
    keyed.sort((a, b) => {
      if (a.text === "" || b.text === "") return (a.text === "") - (b.text === ""); // empty: last
      if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return sign * (a.number - b.number);
      return sign * collator.compare(a.text, b.text);
    });
    const sorted = document.createDocumentFragment();
    for (const { row } of keyed) sorted.append(row);
    body.append(sorted);
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      header.replaceChildren(button);
      button.addEventListener("click", () => sortBy(table, column, header));
    });
  }

  for (const input of document.querySelectorAll("input[data-filters]")) {
    const table = document.getElementById(input.dataset.filters);
    const count = input.parentElement.querySelector("output");
    const rows = Array.from(table.tBodies[0].rows);
    let texts = null;
    const apply = () => {
      texts ??= rows.map((row) =>
        Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase());
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
        if (!row.hidden) shown += 1;
      });
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    };
    let waiting = 0;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, rows.length > 1000 ? 200 : 0);
    });
    input.closest(".tools").hidden = false;
  }

  const drawing = document.getElementById("topology");
  if (!drawing) return;
  const caption = document.querySelector(".caption");
  const layer = drawing.querySelector(".shown-lines");
  const nodes = new Map();
  for (const node of drawing.querySelectorAll(".node")) nodes.set(node.dataset.rank, node);

  function middle(node) {
    const circle = node.querySelector("circle:not(.ring)");
    if (circle) return [circle.cx.baseVal.value, circle.cy.baseVal.value];
    const box = node.querySelector("rect");
    return [box.x.baseVal.value + box.width.baseVal.value / 2,
            box.y.baseVal.value + box.height.baseVal.value / 2];
  }

  const linked = new Map();
  function links(node) {
    if (!linked.has(node)) {
      const ranks = new Set();
      for (const range of (node.dataset.links || "").split(" ").filter(Boolean)) {
        const [first, last] = range.split("-").map(Number);
        for (let rank = first; rank <= (last ?? first); rank += 1) ranks.add(String(rank));
      }
      linked.set(node, ranks);
    }
    return linked.get(node);
  }

  function show(node) {
    for (const end of nodes.values()) end.classList.remove("linked");
    caption.textContent = node.getAttribute("aria-label");
    caption.hidden = false;
    const rank = node.dataset.rank;
    for (const line of drawing.querySelectorAll(".lines [data-from]")) {
      line.classList.toggle("shown", line.dataset.from === rank || line.dataset.to === rank);
    }
    drawing.classList.add("pointed");
    if (!node.dataset.links && !drawing.classList.contains("large")) return;
    const [x, y] = middle(node);
    const lines = document.createDocumentFragment();
    for (const [other, end] of nodes) {
      const forth = links(node).has(other);
      const back = links(end).has(rank);
      if (end === node || (!forth && !back)) continue;
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const kind = forth && back ? "mutual" : forth ? "one-way" : "one-way back";
      line.setAttribute("class", `line ${kind}`);
      line.setAttribute("d", `M${x} ${y}L${middle(end).join(" ")}`);
      lines.append(line);
      end.classList.add("linked");
    }
    layer.replaceChildren(lines);
  }

  function hide() {
    drawing.classList.remove("pointed");
    layer.replaceChildren();
    for (const line of drawing.querySelectorAll(".shown")) line.classList.remove("shown");
    for (const end of nodes.values()) end.classList.remove("linked");
    const focused = nodes.get(document.activeElement?.dataset?.rank);
    if (focused) show(focused);
    else caption.hidden = true;
  }

  for (const node of nodes.values()) {
    node.addEventListener("pointerenter", () => show(node));
    node.addEventListener("focus", () => show(node));
    node.addEventListener("pointerleave", hide);
    node.addEventListener("blur", () => setTimeout(hide));
  }
})();
