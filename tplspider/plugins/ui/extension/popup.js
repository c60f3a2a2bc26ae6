// The popup: the address of this page goes to scrapy ui, and its text and the pages found are shown.
import * as browser from "./browser.js";
import { PORT } from "./defaults.js";
import { FollowedSearch } from "./search.js";
import { Server, Trouble } from "./server.js";
import { showSearch, showTold, showTrouble } from "./view.js";

const PAUSE = 1000; // milliseconds, before a stream that broke off is read again
const at = (id) => document.getElementById(id);

let address = null; // of the page that is looked at
let allowed = false; // whether the browser lets us reach the server
let server = null;
let shown = null; // the search that is shown
let following = new AbortController();

/** Do what a person asked for. What goes wrong is one line. */
async function attempt(action) {
  showTrouble("");
  showTold("");
  try {
    await action();
  } catch (error) {
    const isKnown = error instanceof Trouble;
    showTrouble(isKnown ? error.message : `Something went wrong: ${error.message}`);
    if (!isKnown) throw error; // for the console, too
    if (error.isConnection) at("settings").open = true;
  }
}

/** Before a request: right after a click, the browser may ask the person for the permission. */
async function connect() {
  allowed ||= await browser.askToReachServer();
  if (!allowed) throw new Trouble("denied", "Your browser was not allowed to reach 127.0.0.1, where scrapy ui is: try again, and allow it.");
  if (!server.token) throw new Trouble("token", "Paste the token below: scrapy ui prints where it is.");
}

function show(search) {
  shown = search;
  showSearch(search);
  at("start").disabled = !address || Boolean(search?.isOpen);
}

/** Show a search until it is over, or until another one is shown. */
async function follow(id) {
  following.abort();
  following = new AbortController();
  const { signal } = following;
  try {
    while (await watch(id, signal)) await new Promise((done) => setTimeout(done, PAUSE));
  } catch (error) {
    if (signal.aborted) return;
    shown?.lose();
    show(shown);
    throw error;
  }
}

/** Show a search for as long as its stream lasts; returns whether it goes on after that. */
async function watch(id, signal) {
  const search = new FollowedSearch(await server.search(id));
  if (signal.aborted) return false;
  show(search);
  if (!search.isOpen) return false;
  try {
    for await (const event of server.events(id, signal)) {
      search.take(event);
      show(search);
    }
  } catch (error) {
    if (signal.aborted || error instanceof Trouble) throw error;
  }
  // The stream does not tell the text, and it may have broken off.
  const known = new FollowedSearch(await server.search(id));
  if (!signal.aborted) show(known);
  return !signal.aborted && known.isOpen;
}

/** The running or last search from this page, if the server has it still. */
async function showLast() {
  const id = address && (await browser.keptSearch(address));
  if (!id || !allowed || !server.token) return;
  try {
    await follow(id);
  } catch (error) {
    if (error.kind !== "gone") throw error;
    await browser.keepSearch(address, null);
    show(null);
  }
}

async function start() {
  await connect();
  const [n, strategy] = [at("n").valueAsNumber, at("strategy").value];
  at("start").disabled = true; // against a second click
  try {
    const id = await server.start(address, n, strategy);
    await browser.keepSettings({ n, strategy });
    await browser.keepSearch(address, id);
    await follow(id);
  } finally {
    at("start").disabled = Boolean(shown?.isOpen);
  }
}

async function save() {
  const [port, token] = [at("port").valueAsNumber, at("token").value.trim()];
  following.abort(); // it may be of another server
  show(null);
  server = new Server(port, token);
  // Both at once: the question of the browser may close the popup. The usual port may change with
  // the extension's folder.
  await Promise.all([connect(), browser.keepSettings({ port: port === PORT ? null : port, token })]);
  await server.check();
  at("settings").open = false;
  showTold("Saved: scrapy ui answers, and knows the token.");
  await showLast();
}

function on(id, kind, action) {
  at(id).addEventListener(kind, (event) => {
    event.preventDefault();
    attempt(action);
  });
}

async function open() {
  const kept = await browser.settings();
  server = new Server(kept.port ?? PORT, kept.token ?? "");
  allowed = await browser.mayReachServer();
  address = await browser.currentAddress();
  at("address").textContent = address ?? "";
  at("port").value = server.port;
  at("token").value = server.token;
  at("n").value = kept.n ?? at("n").value;
  at("strategy").value = kept.strategy ?? at("strategy").value;
  show(null);
  on("search", "submit", start);
  on("connection", "submit", save);
  on("cancel", "click", () => server.cancel(shown.known.id));
  on("copy", "click", () => navigator.clipboard.writeText(shown.known.text.text).then(() => showTold("Copied.")));
  on("details", "click", async () => browser.openTab(await server.entrance(`/searches/${shown.known.id}`)));
  on("report", "click", async () => browser.openTab(await server.entrance(shown.known.report)));
  on("all", "click", async () => browser.openTab(await server.entrance("/")));
  at("settings").open = !server.token;
  at(server.token ? "n" : "token").focus();
  if (!address) throw new Trouble("tab", "This tab does not show a page of the web (http or https).");
  if (!allowed) throw new Trouble("denied", "At the first search, your browser asks for access to 127.0.0.1: allow it, and press the button again.");
  await showLast();
}

attempt(open);
