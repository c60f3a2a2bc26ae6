// How a search looks in the popup. Texts of websites are put in as text, and links are of the web.
import { webAddress } from "./browser.js";

const LONGEST = 200; // characters of a title or an address that are shown
const STATES = {
  waiting: "Waiting for its turn",
  running: "Searching",
  over: "Over",
  cancelled: "Cancelled",
  ended: "Ended too early",
  failed: "The search failed",
  lost: "How it went on is not known",
};

const BAD = ["failed", "ended"];

const at = (id) => document.getElementById(id);

/** Show a search as it is now, or none. */
export function showSearch(search) {
  at("found").hidden = !search;
  if (!search) return;
  const { known, isOpen } = search;
  const isBad = BAD.includes(known.state);
  say("state", isOpen ? progress(known) : known.headline || STATES[known.state]);
  at("state").classList.toggle("trouble", isBad);
  say("note", isOpen ? "" : note(known));
  at("progress").hidden = !isOpen;
  showMembers(known.members);
  at("report").hidden = isOpen || !known.report;
  at("cancel").hidden = !isOpen;
}

/** One line about what is wrong, or none. */
export function showTrouble(line) {
  say("trouble", line);
}

/** One line about what went well, or none. */
export function showTold(line) {
  say("told", line);
}

/** Put a text into its place. What has not changed is left alone, or it would be read out again. */
function say(id, text) {
  const place = at(id);
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

function progress({ state, members, links, tried, n }) {
  if (!links) return STATES[state];
  return `${STATES[state]}: ${members.length} of ${n} pages, ${tried} of ${links} links tried`;
}

function note({ state, headline, note: words, advice }) {
  const told = headline && BAD.includes(state) ? [STATES[state], words] : [words];
  const why = told.filter(Boolean).join(": ");
  return short([why, advice].filter(Boolean).join(why.endsWith(".") ? " " : ". "), 3 * LONGEST);
}

/** The pages of the CS as links. The same ones are left alone: somebody may be about to follow one. */
function showMembers(members) {
  const key = JSON.stringify(members.map(({ url, title }) => [url, title]));
  if (at("members").dataset.shown === key) return;
  at("members").dataset.shown = key;
  at("members").replaceChildren(...members.map(entry));
  at("members").hidden = !members.length;
}

function entry({ url, title }) {
  const item = document.createElement("li");
  const address = webAddress(url);
  const name = document.createElement(address ? "a" : "span");
  const words = short(title).trim();
  name.textContent = words || short(url);
  item.append(name);
  if (address) {
    name.href = address.href;
    name.target = "_blank";
    name.rel = "noopener noreferrer nofollow";
  }
  if (words) {
    const below = document.createElement("span");
    below.className = "soft";
    below.textContent = short(url);
    item.append(below);
  }
  return item;
}

/** A text of a website, cut, without characters that turn the text around them. */
function short(text, longest = LONGEST) {
  const plain = String(text ?? "").slice(0, 4 * longest).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
  const characters = [...plain];
  return characters.length > longest ? `${characters.slice(0, longest).join("")}…` : plain;
}
