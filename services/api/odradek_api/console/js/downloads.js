/** Files. Without a key the browser streams them itself; with one it goes through fetch, since a link has no headers. */

import { el } from "./elements.js";
import { request } from "./gateway.js";
import { storedKey } from "./keyring.js";

const FORGET_AFTER_MS = 60_000;

export async function download(address, name) {
  if (storedKey() === null) {
    const answers = await request("GET", "/v1/jobs", { query: { limit: 1 } }).then(() => storedKey() === null);
    if (answers) return follow(`.${address}`, name);
  }
  const blob = await request("GET", address, { answer: (response) => response.blob() });
  const url = URL.createObjectURL(blob);
  follow(url, name);
  setTimeout(() => URL.revokeObjectURL(url), FORGET_AFTER_MS);
  return undefined;
}

function follow(href, name) {
  const anchor = el("a", { href, download: name, hidden: true });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
}
