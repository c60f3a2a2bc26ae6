// The form, and the list of searches, which is polled while the page is visible.

import { ask, badge, counted, element, facts, isOpen, say, short } from "./shown.js";

const PAGE = 30;
const MOST_OPEN = 100, MOST_SHOWN = 1000;
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/; // as the server counts lines
const SOON = 1000, LATER = 4000; // milliseconds
const at = (id) => document.getElementById(id);
let shown = PAGE, before = 0, oldest = 0, timer = 0, turn = 0; // searches older than number before

function begin() {
  const given = new URLSearchParams(location.search).get("url");
  if (given) {
    at("addresses").value = given;
    say("told", "The address is filled in: nothing is searched before you press the button.");
    at("addresses").focus(); // not the button: a key that was meant for another page starts nothing
  }
  const here = JSON.stringify(`${location.origin}/?url=`);
  at("bookmarklet").href = `javascript:void open(${here}+encodeURIComponent(location.href),"_blank","noopener")`;
  at("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  at("addresses").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
  });
  at("addresses").addEventListener("input", fit);
  at("more").addEventListener("click", () => {
    if (shown < MOST_SHOWN) shown = Math.min(shown + 100, MOST_SHOWN);
    else [before, shown] = [oldest, 100]; // a page has so many rows at most
    look();
  });
  at("newest").addEventListener("click", () => { [before, shown] = [0, PAGE]; look(); });
  at("cancel-all").addEventListener("click", () => act("/api/searches/cancel"));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  fit();
  look();
}

function fit() {
  at("addresses").rows = Math.min(Math.max(at("addresses").value.split("\n", 13).length, 2), 12);
}

async function submit() {
  const addresses = at("addresses").value;
  if (!addresses.trim()) {
    say("fault", "Give the address of a page.");
    at("addresses").focus();
    return;
  }
  at("search").disabled = true;
  say("fault", "");
  at("refused").hidden = true;
  try {
    const answer = await ask("/api/searches", { addresses, n: at("n").valueAsNumber || at("n").value, strategy: at("strategy").value });
    const told = await answer.json();
    if (told.searches.length === 1 && !told.refused.length) {
      location.href = `/searches/${told.searches[0].id}`;
      return;
    }
    say("told", `${counted(told.searches.length, "search")} added to the list.`);
    // Lines that cannot be searched stay, to be corrected.
    const lines = addresses.split(LINE_ENDS);
    at("addresses").value = told.refused.map((line) => lines[line.line - 1]?.trim()).join("\n");
    told.refused.forEach((line, place) => { line.line = place + 1; });
    showRefused(told);
    fit();
  } catch (error) {
    say("fault", error.message);
    if (error.told?.refused?.length > 1) showRefused(error.told);
  } finally {
    at("search").disabled = false;
  }
  look();
}

function showRefused(told) {
  at("refused").hidden = !told.refused.length;
  at("refused").open = told.refused.length < 10;
  at("refused").querySelector("summary").textContent = `${counted(told.refused.length, "line")} cannot be searched`;
  at("refused").querySelector("ul").replaceChildren(
    ...told.refused.slice(0, MOST_SHOWN).map((line) => element("li", {}, `Line ${line.line}: ${short(line.reason, 300)}`)),
    ...(told.refused.length > MOST_SHOWN ? [element("li", {}, "…")] : []),
  );
}

async function act(path) {
  try {
    await ask(path, {});
    say("fault", "");
  } catch (error) {
    say("fault", error.message);
  }
  look();
}

async function list(state, most, olderThan = 0) {
  return (await ask(`/api/searches?state=${state}&limit=${most}&before=${olderThan}`)).json();
}

async function look() {
  clearTimeout(timer);
  const mine = ++turn;
  let pause = LATER;
  try {
    // In this order none is missed that ends meanwhile.
    const open = await list("open", MOST_OPEN), listed = await list("closed", shown, before);
    if (mine !== turn) return;
    show(listed, open.searches);
    if (listed.running || listed.waiting) pause = SOON;
    if (at("fault").dataset.lost) say("fault", "");
    delete at("fault").dataset.lost;
  } catch (error) {
    if (mine !== turn) return;
    say("fault", error.message);
    at("fault").dataset.lost = "1";
  }
  if (!document.hidden) timer = setTimeout(look, pause);
}

function show(listed, open) {
  at("now").hidden = !listed.running && !listed.waiting;
  at("counts").textContent = [
    listed.running ? `${counted(listed.running, "search")} in progress` : "",
    listed.waiting ? `${listed.waiting.toLocaleString("en")} waiting` : "",
  ].filter(Boolean).join(", ");
  const known = new Set(listed.searches.map((run) => run.id));
  fill(at("running"), open.filter(({ id }) => !known.has(id) && known.add(id)));
  fill(at("runs"), listed.searches);
  at("none").hidden = listed.searches.length > 0;
  at("downloads").hidden = !listed.searches.length;
  oldest = listed.searches.at(-1)?.number ?? 0;
  at("more").hidden = listed.searches.length < shown;
  at("newest").hidden = !before;
  at("more-tools").hidden = at("more").hidden && at("newest").hidden;
}

/** Rows that have not changed stay: their buttons keep the focus. */
function fill(list, runs) {
  const known = new Map([...list.children].map((row) => [row.dataset.id, row]));
  runs.forEach((run, place) => {
    const row = known.get(run.id) ?? element("li", { "data-id": run.id });
    known.delete(run.id);
    if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null);
    const parts = { what: what(run), side: side(run) };
    for (const [name, [key, make]] of Object.entries(parts)) {
      const old = row.querySelector(`:scope > .${name}`);
      if (old?.dataset.key === key) continue;
      const made = make();
      made.dataset.key = key;
      if (old) old.replaceWith(made);
      else row.append(made);
    }
  });
  for (const row of known.values()) row.remove();
}

function what(run) {
  const said = isOpen(run) ? progress(run) : run.headline;
  const note = run.state === "complete" ? "" : run.note;
  const make = () => element("div", { class: "what" },
    element("a", { href: `/searches/${run.id}` }, element("bdi", {}, short(run.title) || short(run.url, 100))),
    run.title && element("span", { class: "address" }, element("bdi", {}, short(run.url, 120))),
    element("div", { class: "said" }, said),
    note && element("div", { class: "soft" }, short(note, 300)),
  );
  return [JSON.stringify([run.title, run.url, said, note]), make];
}

function progress(run) {
  if (run.state === "waiting") return "";
  return `${run.members.length} of ${run.n} found, ${run.tried} of ${counted(run.links, "link")} tried`;
}

function side(run) {
  const make = () => element("div", { class: "side" },
    badge(run.state),
    element("span", { class: "soft" }, facts(run)),
    element("time", { datetime: new Date(1000 * run.created).toISOString() }, when(run.created)),
    run.report && element("a", { href: run.report, "aria-label": `Report on ${short(run.title || run.url, 80)}` }, "Report"),
    isOpen(run) && element("button", { type: "button", "aria-label": `Cancel the search from ${short(run.url, 80)}`, onclick: () => act(`/api/searches/${run.id}/cancel`) }, "Cancel"),
  );
  return [JSON.stringify([run.state, run.report, facts(run), when(run.created)]), make];
}

function when(seconds) {
  const then = new Date(1000 * seconds);
  const today = new Date().toDateString() === then.toDateString();
  return then.toLocaleString([], today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

begin();
