/** Files, streamed to the disk by the browser itself: a link has no headers, so it is given a ticket that opens it once. */

import { el } from "./elements.js";
import { post } from "./gateway.js";

/** Downloads an export; `address` is its path, `query` what is wanted of it. */
export async function download(address, query, name) {
  const { href } = await post(`${address}-link`, { query });
  const anchor = el("a", { href: `.${href}`, download: name, hidden: true });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
}
