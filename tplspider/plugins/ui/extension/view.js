// How a search looks in the popup. Texts of websites are put in as text, and links are of the web.
import { webAddress } from "./browser.js";

const LONGEST = 200; // characters of a title or an address that are shown
const MOST_TEXT = 50_000; // likewise of the text: all of it is copied
const STATES = {
  waiting: "waiting", searching: "searching", complete: "complete", partial: "partial",
  none: "no other page found", failed: "failed", stopped: "stopped", lost: "unknown",
};

const at = (id) => document.getElementById(id);

/** Show a search as it is now, or none. */
export function showSearch(search) {
  at("found").hidden = !search;
  if (!search) return;
  const { known, isOpen } = search;
  say("state", STATES[known.state]);
  at("state").className = `state ${known.state}`;
  say("headline", isOpen ? progress(known) : known.headline);
  say("note", isOpen || known.state === "complete" ? "" : note(known));
  at("progress").hidden = !isOpen;
  at("text-part").hidden = isOpen || !known.text;
  if (known.text) say("text", known.text.text.slice(0, MOST_TEXT));
  showMembers(known.members);
  at("report").hidden = isOpen || !known.report;
  at("details").hidden = isOpen;
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
  if (id !== "text") place.hidden = !text;
}

function progress({ members, links, tried, n }) {
  return links ? `${members.length} of ${n} pages, ${tried} of ${links} links tried` : "";
}

function note({ note: why, advice }) {
  return short([why, advice].filter(Boolean).join(why.endsWith(".") ? " " : ". "), 3 * LONGEST);
}

/** The pages of the CS as links. The same ones are left alone: the user may be about to follow one. */
function showMembers(members) {
  const key = JSON.stringify(members.map(({ url, title }) => [url, title]));
  if (at("members").dataset.shown === key) return;
  at("members").dataset.shown = key;
  at("members").replaceChildren(...members.map(entry));
  at("pages-part").hidden = !members.length;
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
