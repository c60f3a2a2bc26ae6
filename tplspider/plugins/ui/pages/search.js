// One search, as it goes: its events, read line by line until it is over.

import { STATES, address, ask, counted, element, say, short } from "./shown.js";

const AGAIN = 3000; // milliseconds, where the server does not answer
const MOST_ROWS = 2000;
const at = (id) => document.getElementById(id);
const id = location.pathname.split("/")[2];
let run = null, rows = new Map(), members = [], reading = null, timer = 0;

function begin() {
  at("cancel").addEventListener("click", cancel);
  at("again").addEventListener("click", again);
  // A browser has few connections to one server: pages that nobody looks at let theirs go.
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  follow();
}

function leave() {
  clearTimeout(timer);
  reading?.abort();
  reading = null;
}

async function follow() {
  leave();
  if (run && !isOpen()) return look();
  const mine = (reading = new AbortController());
  try {
    run = await (await ask(`/api/searches/${id}`, undefined, { signal: mine.signal })).json();
    rows = new Map();
    members = [];
    at("tries").tBodies[0].replaceChildren();
    say("fault", "");
    showRun();
    await read(mine.signal);
  } catch (error) {
    if (mine.signal.aborted) return;
    say("fault", error.message);
    if (error.status === 401 || error.status === 404) return;
  }
  if (reading === mine) timer = setTimeout(follow, AGAIN);
}

/** It is over: but what leads from here needs the server. */
async function look() {
  const mine = (reading = new AbortController());
  try {
    await ask("/api/searches?limit=0", undefined, { signal: mine.signal });
    if (at("fault").dataset.lost) say("fault", "");
    delete at("fault").dataset.lost;
  } catch (error) {
    if (mine.signal.aborted) return;
    say("fault", error.message);
    at("fault").dataset.lost = "1";
  }
  if (reading === mine) timer = setTimeout(look, AGAIN);
}

const isOpen = () => !run || run.state === "waiting" || run.state === "running";

async function read(signal) {
  const answer = await ask(`/api/searches/${id}/events`, undefined, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (text + value).split("\n");
    text = lines.pop();
    for (const line of lines) if (line) take(JSON.parse(line));
    showRun();
    showMembers();
  }
}

function take(event) {
  if (event.event === "opened") run.state = "running";
  else if (event.event === "started") Object.assign(run, { state: "running", key_url: event.url, title: event.title, links: event.links });
  else if (event.event === "link") takeLink(event);
  else if (event.event === "ended") {
    run = { ...run, ...event.search };
    members = run.members;
    say("told", `${STATES[run.state]}. ${run.headline}`);
    run.report = run.has_answer ? `/searches/${id}/report` : null;
  }
}

function takeLink(event) {
  if (run.state === "waiting") run.state = "running";
  run.tried = Math.max(run.tried, event.rank);
  if (rows.size < MOST_ROWS || event.outcome === "page") {
    const row = makeRow(event);
    rows.get(event.rank)?.row.replaceWith(row);
    if (!rows.has(event.rank)) at("tries").tBodies[0].append(row);
    rows.set(event.rank, { event, row });
  }
  const found = event.members.map((rank) => rows.get(rank)?.event).filter(Boolean);
  if (isOpen() && found.length > members.length) say("told", `${counted(found.length, "page")} of ${run.n} found.`);
  members = found.map(({ rank, url, title, anchor_text }) => ({ rank, url, title: title || anchor_text }));
}

const sentence = (text) => text && `${text[0].toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;

function makeRow(link) {
  const name = short(link.title) || short(link.anchor_text);
  const came = { page: "a page", duplicate: "a page that is known already", none: "no page" }[link.outcome] ?? link.outcome;
  const why = link.words && link.outcome !== "duplicate" ? `${came}: ${link.words}` : came;
  return element("tr", {},
    element("td", { class: "number", "data-label": "Link" }, String(link.rank)),
    element("td", { "data-label": "Page" }, name ? element("bdi", {}, name) : "", name ? element("br") : "", address(link.url)),
    element("td", { "data-label": "Result" }, element("bdi", {}, short(why, 200))),
    element("td", { class: "number", "data-label": "Similarity" }, typeof link.similarity === "number" ? link.similarity.toFixed(2) : ""),
    element("td", { class: "in", "data-label": "In the answer" }),
  );
}

function showRun() {
  const open = isOpen();
  const name = short(run.title, 80) || short(run.url, 80);
  at("headline").textContent = run.headline || (open ? (run.state === "waiting" ? "The search waits for its turn" : "Searching …") : "The search ended early");
  document.title = `${open ? STATES[run.state] : run.headline || STATES[run.state]}: ${name}`;
  at("title").textContent = short(run.title, 200);
  at("break").hidden = !run.title;
  at("address").replaceChildren(address(run.key_url || run.url));
  at("note").textContent = open ? "" : [run.note, run.fault].map((text) => sentence(short(text, 2000))).filter(Boolean).join(" ");
  at("advice").textContent = open || !run.advice ? "" : `What to try: ${short(run.advice, 2000)}`;
  at("state").textContent = STATES[run.state];
  at("state").className = `state ${run.state}`;
  at("cancel").hidden = !open;
  at("again").hidden = open;
  at("report").hidden = !run.report;
  if (run.report) at("report").href = run.report;
  at("tried").textContent = !run.links
    ? "The key page has not come yet."
    : `${run.tried.toLocaleString("en")} of ${counted(run.links, "link")} on the key page, asking for ${counted(run.n, "page")}; strategy ${run.strategy}.`;
  at("links-part").hidden = !open && !run.links;
  at("tries").hidden = !rows.size;
  at("progress").hidden = !open;
  at("answer-heading").textContent = open ? "The answer so far" : "The answer";
  showDownloads();
}

function showMembers() {
  const ranks = new Set(members.map((member) => member.rank));
  const list = at("members"), old = new Set([...list.children].map((item) => item.dataset.rank));
  list.replaceChildren(...members.map((member) => element("li",
    { "data-rank": String(member.rank), class: isOpen() && !old.has(String(member.rank)) ? "new" : "" },
    element("bdi", {}, short(member.title) || short(member.url)), element("br"), address(member.url), " ",
    element("span", { class: "aside" }, `link ${member.rank}`),
  )));
  const missing = run.n - members.length;
  if (isOpen() && missing > 0) list.append(element("li", { class: "empty" }, `${counted(missing, "more page")} to find`));
  at("answer-part").hidden = !isOpen() && !members.length;
  at("progress").max = run.n;
  at("progress").value = members.length;
  for (const [rank, { row }] of rows) {
    const is = ranks.has(rank);
    if (row.classList.contains("member") === is) continue;
    row.classList.toggle("member", is);
    row.querySelector(".in").textContent = is ? "yes" : "";
  }
}

function showDownloads() {
  at("downloads").hidden = !run.report;
  if (!run.report || at("downloads").children.length) return;
  const candidates = run.members.length ? ["candidates.csv", "candidates.jl", "candidates.json"] : [];
  for (const name of [...candidates, "summary.json", "report.html"])
    at("downloads").append(" ", element("a", { href: `/searches/${id}/${name}`, download: true }, name));
}

async function cancel() {
  at("cancel").disabled = true;
  try {
    await ask(`/api/searches/${id}/cancel`, {});
  } catch (error) {
    say("fault", error.message);
  }
  at("cancel").disabled = false;
}

async function again() {
  try {
    const answer = await ask("/api/searches", { addresses: run.url, n: run.n, strategy: run.strategy });
    location.href = `/searches/${(await answer.json()).searches[0].id}`;
  } catch (error) {
    say("fault", error.message);
  }
}

begin();
