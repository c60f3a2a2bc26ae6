// What the browser gives: the tab that is looked at, the permission for 127.0.0.1, and storage.
const api = globalThis.browser ?? globalThis.chrome;
const HOST = { origins: ["http://127.0.0.1/*"] };
const MOST_KEPT = 50; // searches that are found again when the popup is opened again

/** The address of the page that is looked at, without its fragment; null if it is not on the web. */
export async function currentAddress() {
  const [tab] = await api.tabs.query({ active: true, currentWindow: true });
  const url = webAddress(tab?.url);
  if (url) url.hash = "";
  return url ? url.href : null;
}

/** An address as a URL, if it is one of the web: nothing else may become a link. */
export function webAddress(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url && /^https?:$/.test(url.protocol) ? url : null;
}

export function openTab(url) {
  return api.tabs.create({ url });
}

/** Whether requests to 127.0.0.1 are allowed: people can take that back, and browsers may wait for it. */
export function mayReachServer() {
  return api.permissions.contains(HOST);
}

/** Ask the person for it. Browsers allow the question only right after a click: call it first. */
export function askToReachServer() {
  return api.permissions.request(HOST);
}

/** The port, the token, and what was chosen last. */
export async function settings() {
  return (await api.storage.local.get("settings")).settings ?? {};
}

export async function keepSettings(changes) {
  await api.storage.local.set({ settings: { ...(await settings()), ...changes } });
}

/** The id of the last search from an address. */
export async function keptSearch(address) {
  return (await keptSearches()).find((kept) => kept.address === address)?.id;
}

/** Remember a search, the last of its address; without an id, forget it. */
export async function keepSearch(address, id) {
  const others = (await keptSearches()).filter((kept) => kept.address !== address);
  const searches = id ? [{ address, id }, ...others].slice(0, MOST_KEPT) : others;
  await api.storage.local.set({ searches });
}

async function keptSearches() {
  return (await api.storage.local.get("searches")).searches ?? [];
}
