/** Talks to the REST API. An answer that is no success becomes a `Refusal` with the sentence the API gave. */

import { storedKey } from "./keyring.js";

/** What the API said no to, in its own words. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The API answered ${status}.`);
    this.status = status;
    this.title = problem.title ?? `${status}`;
    this.errors = problem.errors ?? [];
    this.retryAfterS = problem.retry_after_s ?? null;
  }
}

/** Nobody answers at all. */
export class Away extends Error {
  constructor() {
    super("The API does not answer. It is asked again as soon as it is back.");
    this.status = 0;
    this.title = "No answer";
    this.errors = [];
  }
}

let askForKey = async () => null;

/** Who asks the person for a key; resolves when there is one. */
export function onKeyWanted(ask) {
  askForKey = ask;
}

export function keyHeaders() {
  const key = storedKey();
  return key === null ? {} : { "X-API-Key": key };
}

/** One request; `answer(response)` reads it. Asks for a key where one is wanted, and then goes on. */
export async function request(method, path, { query = {}, body, signal, headers = {}, answer = json } = {}) {
  for (;;) {
    const key = storedKey();
    const response = await sent(method, path + search(query), { body, signal, headers });
    if (response.status === 401) {
      // Another request may have asked meanwhile; then there is a key that was not tried yet.
      if (storedKey() === key) await askForKey(key !== null);
      continue;
    }
    if (!response.ok) throw new Refusal(response.status, await problemOf(response));
    return answer(response);
  }
}

export const get = (path, options) => request("GET", path, options);
export const post = (path, options) => request("POST", path, options);
export const put = (path, options) => request("PUT", path, options);

async function sent(method, path, { body, signal, headers }) {
  const given = { ...keyHeaders(), ...headers };
  if (body !== undefined) given["Content-Type"] ??= "application/json";
  const content = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  try {
    return await fetch(`.${path}`, { method, body: content, signal, headers: given, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Away();
  }
}

function search(query) {
  const wanted = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return wanted.length === 0 ? "" : `?${new URLSearchParams(wanted)}`;
}

async function json(response) {
  return response.status === 204 ? null : response.json();
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}
