// What scrapy ui is asked for. The token itself is never sent: a server first proves that it knows
// the token, and then gets a key made from it, which is of no use once that server has ended.

/** Why there is no answer, in one line for a person; *kind* is its name in the code. */
export class Trouble extends Error {
  constructor(kind, line) {
    super(line);
    this.kind = kind;
  }

  /** Whether the port or the token may be wrong. */
  get isConnection() {
    return ["unreachable", "token", "stranger"].includes(this.kind);
  }
}

export class Server {
  #key = null;

  constructor(port, token) {
    this.port = port;
    this.token = token;
    this.origin = `http://127.0.0.1:${port}`;
  }

  /** Start a search from a page; gives its id. */
  async start(address, n, strategy) {
    const { searches } = await this.#json("POST", "/api/searches", { addresses: address, n, strategy });
    return searches[0].id;
  }

  search(id) {
    return this.#json("GET", this.#place(id));
  }

  /** Ask for something that changes nothing, to see whether port and token are right. */
  async check() {
    await this.#json("GET", "/api/searches");
  }

  async cancel(id) {
    await this.#json("POST", this.#place(id, "cancel"), {});
  }

  /** What happens in a search, as it happens, until it is over. */
  async *events(id, signal) {
    const response = await this.#answer("GET", this.#place(id, "events"), undefined, signal);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) yield JSON.parse(line);
    }
  }

  /** An address that shows a page of the server once: it carries a code in place of the token. */
  async entrance(to) {
    const { address } = await this.#json("POST", "/api/codes", { to });
    if (!String(address).startsWith(`${this.origin}/`)) throw this.#stranger();
    return address;
  }

  #place(id, ...more) {
    return ["/api/searches", encodeURIComponent(id), ...more].join("/");
  }

  async #json(method, path, body) {
    const response = await this.#answer(method, path, body);
    try {
      return await response.json();
    } catch {
      throw this.#stranger();
    }
  }

  async #answer(method, path, body, signal) {
    const isNew = !this.#key;
    this.#key ??= await this.#handshake(signal);
    const headers = { Authorization: `Bearer ${this.#key}` };
    if (body) headers["Content-Type"] = "application/json";
    const response = await this.#fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
    if (response.ok) return response;
    if (response.status === 401) {
      this.#key = null; // the server may have been started again
      if (!isNew) return this.#answer(method, path, body, signal);
      throw this.#stranger();
    }
    const told = await response.json().catch(() => ({}));
    const why = told.error ?? told.refused?.[0]?.reason;
    if (!why) throw this.#stranger();
    throw new Trouble(response.status === 404 ? "gone" : "refused", `scrapy ui says: ${why}`);
  }

  async #fetch(path, options) {
    const usual = { credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" };
    try {
      return await fetch(this.origin + path, { ...usual, ...options });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new Trouble("unreachable", `scrapy ui does not answer on port ${this.port}: start it, or correct the port below.`);
    }
  }

  /** Have the server prove that it knows the token; gives the key to use. */
  async #handshake(signal) {
    const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
    const response = await this.#fetch(`/api/hello?nonce=${nonce}`, { signal });
    const { start, proof } = await response.json().catch(() => ({}));
    if (!response.ok || !/^[0-9a-f]+$/.test(start) || !/^[0-9a-f]{64}$/.test(proof)) throw this.#stranger();
    if (proof !== (await this.#sign(`proof ${this.origin} ${start} ${nonce}`)))
      throw new Trouble("token", `What answers on port ${this.port} does not know this token: scrapy ui prints where it is.`);
    return this.#sign(`key ${this.port} ${start}`);
  }

  async #sign(words) {
    const bytes = (text) => new TextEncoder().encode(text);
    const secret = await crypto.subtle.importKey("raw", bytes(this.token), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return hex(new Uint8Array(await crypto.subtle.sign("HMAC", secret, bytes(words))));
  }

  #stranger() {
    return new Trouble("stranger", `Another program answers on port ${this.port}: correct the port below.`);
  }
}

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
