// Tables that sort and filter, and the links of one page at a time. All is readable without it.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const MOST = 500; // rows of a large table that are laid out unless all are asked for

  function enhance(table) {
    const body = table.tBodies[0];
    const tools = document.querySelector(`[data-filters="${table.id}"]`).closest(".tools");
    const input = tools.querySelector("input");
    const count = tools.querySelector("output");
    const all = tools.querySelector("button");
    let rows = Array.from(body.rows);
    let most = rows.length > 2 * MOST ? MOST : Infinity;
    const texts = new Map();

    function text(row) {
      if (!texts.has(row)) {
        const words = Array.from(row.cells, (cell) => cell.textContent);
        texts.set(row, words.join(" ").toLowerCase());
      }
      return texts.get(row);
    }

    function show() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const row of rows) {
        row.hidden = !words.every((word) => text(row).includes(word));
        if (!row.hidden) found += 1;
        row.classList.toggle("beyond", !row.hidden && found > most);
      }
      all.hidden = found <= most;
      count.textContent = words.length ? `${found} of ${rows.length} rows` : "";
      if (found > most) count.textContent = `the first ${most} of ${found} rows`;
    }

    function sort(column, header) {
      const descending = header.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const sign = descending ? -1 : 1;
      const keyed = rows.map((row) => {
        const key = row.cells[column].textContent.trim();
        return { row, key, number: key === "" ? NaN : Number(key) };
      });
      keyed.sort((a, b) => {
        if (a.key === "" || b.key === "") return (a.key === "") - (b.key === ""); // empty: last
        if (!Number.isNaN(a.number - b.number)) return sign * (a.number - b.number);
        return sign * collator.compare(a.key, b.key);
      });
      rows = keyed.map(({ row }) => row);
      show();
      body.append(...rows);
    }

    Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      header.replaceChildren(button);
      button.addEventListener("click", () => sort(column, header));
    });
    let waiting = 0;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(show, most === MOST ? 200 : 0);
    });
    all.addEventListener("click", () => {
      most = Infinity;
      show();
      input.focus();
    });
    tools.hidden = false;
    show();
  }

  document.querySelectorAll("table[data-sortable]").forEach(enhance);

  // What is wider than the screen says so.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const region = target.closest(".scroll");
      region.nextElementSibling.hidden = region.scrollWidth <= region.clientWidth + 1;
    }
  });
  for (const region of document.querySelectorAll(".scroll")) {
    const sign = document.createElement("p");
    sign.className = "aside sideways";
    sign.textContent = "← scrolls sideways →";
    sign.hidden = true;
    region.after(sign);
    watch.observe(region);
    watch.observe(region.firstElementChild);
  }

  const drawing = document.getElementById("topology");
  if (!drawing) return;
  const caption = document.querySelector(".caption");
  const nodes = new Map();
  for (const node of drawing.querySelectorAll(".node")) nodes.set(node.dataset.rank, node);

  function show(node) {
    caption.textContent = node.getAttribute("aria-label");
    caption.hidden = false;
    const rank = node.dataset.rank;
    for (const line of drawing.querySelectorAll(".lines [data-from]")) {
      line.classList.toggle("shown", line.dataset.from === rank || line.dataset.to === rank);
    }
    drawing.classList.add("pointed");
  }

  function hide() {
    drawing.classList.remove("pointed");
    for (const line of drawing.querySelectorAll(".shown")) line.classList.remove("shown");
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
