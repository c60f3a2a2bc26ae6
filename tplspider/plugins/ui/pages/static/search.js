// One search: as it goes, by its events, and then its text, its pages and its links.

import { STATES, address, ask, counted, element, facts, isOpen, say, short } from "./shown.js";

const AGAIN = 3000; // milliseconds, where the server does not answer
const MOST_ROWS = 2000;
const at = (id) => document.getElementById(id);
const id = location.pathname.split("/")[2];
let run = null, rows = new Map(), members = [], text = null, reading = null, timer = 0;

function begin() {
  at("cancel").addEventListener("click", () => attempt(() => ask(`/api/searches/${id}/cancel`, {})));
  at("again").addEventListener("click", () => attempt(again));
  at("copy").addEventListener("click", () => attempt(copy));
  at("markdown").addEventListener("click", () => {
    at("markdown").setAttribute("aria-pressed", String(!isMarkdown()));
    showText();
  });
  // A browser has few connections to one server: hidden pages close theirs.
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  follow();
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    say("fault", error.message);
  }
}

function leave() {
  clearTimeout(timer);
  reading?.abort();
  reading = null;
}

/** Read the search, and its events until it is over; then see whether the server is still there. */
async function follow() {
  leave();
  const { signal } = (reading = new AbortController());
  try {
    if (run && !isOpen(run)) await ask("/api/searches?limit=0", undefined, { signal });
    else await load(signal);
    say("fault", "");
    if (run && isOpen(run)) {
      await read(signal);
      await load(signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    say("fault", error.message);
    if (error.status === 401 || error.status === 404) return;
  }
  timer = setTimeout(follow, AGAIN);
}

async function load(signal) {
  const was = run;
  run = await (await ask(`/api/searches/${id}`, undefined, { signal })).json();
  ({ text, members } = run);
  rows = new Map();
  at("tries").tBodies[0].replaceChildren();
  for (const link of run.summary?.explored ?? []) addRow(link);
  if (was && !isOpen(run)) say("told", `${STATES[run.state]}. ${run.headline}`);
  showRun();
  showMembers();
  showText();
}

async function read(signal) {
  const answer = await ask(`/api/searches/${id}/events`, undefined, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) take(JSON.parse(line));
    showRun();
    showMembers();
  }
}

function take(event) {
  if (event.event === "opened") run.state = "searching";
  else if (event.event === "started") Object.assign(run, { key_url: event.url, title: event.title, links: event.links });
  else if (event.event === "link") {
    run.tried = Math.max(run.tried, event.rank);
    addRow(event);
    const found = event.members.map((rank) => rows.get(rank)?.link).filter(Boolean);
    if (found.length > members.length) say("told", `${counted(found.length, "page")} of ${run.n} found.`);
    members = found.map(({ rank, url, title, anchor_text }) => ({ rank, url, title: title || anchor_text }));
  }
}

function addRow(link) {
  if (rows.size >= MOST_ROWS && link.outcome !== "page") return;
  const row = makeRow(link);
  if (rows.has(link.rank)) rows.get(link.rank).row.replaceWith(row);
  else at("tries").tBodies[0].append(row);
  rows.set(link.rank, { link, row });
}

function makeRow(link) {
  const name = short(link.title) || short(link.anchor_text);
  const came = { page: "a page", duplicate: "a page that is known already", none: "no page" }[link.outcome] ?? link.outcome;
  const why = link.words && link.outcome !== "duplicate" ? `${came}: ${link.words}` : came;
  return element("tr", {},
    element("td", { class: "number", "data-label": "Link" }, String(link.rank)),
    element("td", { "data-label": "Page" }, name && element("bdi", {}, name), name && element("br"), address(link.url)),
    element("td", { "data-label": "Result" }, element("bdi", {}, short(why, 200))),
    element("td", { class: "number", "data-label": "Similarity" }, typeof link.similarity === "number" ? link.similarity.toFixed(2) : ""),
    element("td", { class: "in", "data-label": "Found" }),
  );
}

const sentence = (words) => words && `${words[0].toUpperCase()}${words.slice(1)}${/[.!?…]$/.test(words) ? "" : "."}`;

function showRun() {
  const open = isOpen(run);
  say("title", short(run.title, 200) || short(run.url, 200));
  document.title = `${STATES[run.state]}: ${short(run.title, 80) || short(run.url, 80)}`;
  at("address").replaceChildren(address(run.key_url || run.url));
  say("state", STATES[run.state]);
  at("state").className = `state ${run.state}`;
  const going = run.links ? `${members.length} of ${counted(run.n, "page")} found. The text comes when the search is over.` : "";
  say("headline", open ? going : [run.headline, facts(run)].filter(Boolean).join(" – "));
  say("note", open ? "" : sentence(short(run.note, 2000)));
  say("advice", open || !run.advice ? "" : `What to try: ${short(run.advice, 2000)}`);
  at("progress").hidden = !open;
  at("progress").max = run.n;
  at("progress").value = members.length;
  at("cancel").hidden = !open;
  at("again").hidden = open;
  at("report").hidden = !run.report;
  if (run.report) at("report").href = run.report;
  say("tried", `${run.tried.toLocaleString("en")} of ${counted(run.links, "link")} on the page, in the order "${run.strategy}".`);
  at("links-part").hidden = !run.links;
  at("tries").hidden = !rows.size;
  showDownloads();
}

const isMarkdown = () => at("markdown").getAttribute("aria-pressed") === "true";

function showText() {
  at("text-part").hidden = !text;
  if (!text) return;
  say("evidence", text.evidence ? "" : "No other page gave evidence of the template: this may be all of the page.");
  at("text").textContent = (isMarkdown() ? text.markdown : text.text) || "The page has no text.";
  at("markdown").hidden = at("md").hidden = !text.markdown;
  for (const [name, path] of [["txt", "text.txt"], ["md", "text.md"], ["jl", "texts.jl"]]) at(name).href = `/searches/${id}/${path}`;
}

async function copy() {
  if (!navigator.clipboard) throw new Error("Your browser copies only what is served on this machine: use the downloads.");
  await navigator.clipboard.writeText(isMarkdown() ? text.markdown : text.text);
  say("copy", "Copied");
  say("told", "The text is copied.");
  setTimeout(() => say("copy", "Copy"), 2000);
}

function showMembers() {
  const ranks = new Set(members.map((member) => member.rank));
  at("pages-part").hidden = !members.length;
  at("members").replaceChildren(...members.map((member) => element("li", { "data-rank": String(member.rank) },
    element("bdi", {}, short(member.title) || short(member.url)), element("br"), address(member.url),
  )));
  for (const [rank, { row }] of rows) {
    row.classList.toggle("member", ranks.has(rank));
    row.querySelector(".in").textContent = ranks.has(rank) ? "yes" : "";
  }
}

function showDownloads() {
  at("downloads").hidden = !run.has_answer;
  if (!run.has_answer || at("downloads").children.length) return;
  const candidates = run.members.length && run.strategy !== "kinds" ? ["candidates.csv", "candidates.jl", "candidates.json"] : [];
  for (const name of [...candidates, "summary.json", ...(run.report ? ["report.html"] : [])])
    at("downloads").append(" ", element("a", { href: `/searches/${id}/${name}`, download: name }, name));
}

async function again() {
  const answer = await ask("/api/searches", { addresses: run.url, n: run.n, strategy: run.strategy });
  location.href = `/searches/${(await answer.json()).searches[0].id}`;
}

begin();
