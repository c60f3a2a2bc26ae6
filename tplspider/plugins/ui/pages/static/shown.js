// What both pages use: requests to our server, and elements that are made of texts alone.

export const STATES = {
  waiting: "waiting", searching: "searching", complete: "complete", partial: "partial",
  none: "no other page found", failed: "failed", stopped: "stopped",
};

export const isOpen = (run) => run.state === "waiting" || run.state === "searching";

export class Refused extends Error {
  constructor(status, why, told = {}) {
    super(why);
    this.status = status;
    this.told = told; // all of the answer
  }
}

/** Ask the server. A *body* makes it a POST. What goes wrong is a Refused, in one line. */
export async function ask(path, body, options = {}) {
  let answer;
  try {
    answer = await fetch(path, body === undefined ? options : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...options,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer: is scrapy ui still running?");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  const why = told.error || `the server answered with status ${answer.status}`;
  throw new Refused(answer.status, `${why[0].toUpperCase()}${why.slice(1)}.`, told);
}

/** An element. Texts are texts, whatever is in them: nothing here is ever read as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== "") made.setAttribute(key, value);
  made.append(...children.filter(Boolean));
  return made;
}

// Control characters, and those that turn the direction of a text.
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

export function short(text, most = 160) {
  const clean = String(text).slice(0, 20 * most).replace(HARMFUL, " ").replace(/\s+/g, " ").trim();
  return clean.length <= most ? clean : `${clean.slice(0, most - 1)}…`;
}

/** An address, cut in its middle; a link where one may lead there. */
export function address(url, most = 100) {
  const clean = String(url).replace(HARMFUL, "");
  const half = Math.floor(most / 2);
  const shown = clean.length <= most ? clean : `${clean.slice(0, half)}…${clean.slice(half + 1 - most)}`;
  const words = element("bdi", {}, shown);
  const parsed = url.length <= 2083 && URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return element("span", { class: "address" }, words);
  return element("a", { class: "address", href: url, rel: "noopener noreferrer nofollow", target: "_blank" }, words);
}

export function badge(state) {
  return element("span", { class: `state ${state}` }, STATES[state] ?? state);
}

export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : noun.endsWith("search") ? "es" : "s"}`;
}

/** What a search took and gave: its duration, the length of its text. */
export function facts(run) {
  const seconds = run.started && run.ended ? run.ended - run.started : 0;
  const took = seconds < 90 ? `${Math.max(seconds, 0.1).toFixed(seconds < 10 ? 1 : 0)} s` : `${Math.round(seconds / 60)} min`;
  return [run.length ? counted(run.length, "character") : "", seconds ? took : ""].filter(Boolean).join(", ");
}

/** Change a text only if it is another one: a live region would tell it again. */
export function say(id, text) {
  const place = document.getElementById(id);
  if (place.textContent !== text) place.textContent = text;
}
