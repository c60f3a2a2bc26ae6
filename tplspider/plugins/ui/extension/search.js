// A search as it goes: followed by the events of the server.

const OPEN = ["waiting", "searching"];

export class FollowedSearch {
  #pages = new Map(); // those that links led to, by their ranks

  constructor(known) {
    this.known = known;
  }

  get isOpen() {
    return OPEN.includes(this.known.state);
  }

  /** Take an event of its stream, which begins with the first one. */
  take(event) {
    if (event.event === "opened") this.known.state = "searching";
    else if (event.event === "started") this.known.links = event.links;
    else if (event.event === "link") this.#takeLink(event);
    else if (event.event === "ended") Object.assign(this.known, event.search);
  }

  /** The server does not answer any more. */
  lose() {
    if (this.isOpen) this.known.state = "lost";
  }

  #takeLink({ rank, url, title, anchor_text, members }) {
    this.#pages.set(rank, { url, title: title || anchor_text });
    this.known.tried = Math.max(this.known.tried, rank);
    this.known.members = members.map((each) => this.#pages.get(each)).filter(Boolean);
  }
}
