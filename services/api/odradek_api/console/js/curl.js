/** Commands for a shell. Pure. */

import { visible } from "./visible.js";

/** A curl command; `body` is a value for JSON, a string for another `kind`, or undefined. */
export function curl({ method, address, body, kind = "application/json", withKey = false }) {
  const text = typeof body === "string" ? body : visible(JSON.stringify(body, null, 2) ?? "");
  const parts = [
    `curl -X ${method} ${/^[\w:/.-]+$/.test(address) ? address : quoted(address)}`,
    withKey ? '-H "x-api-key: $ODRADEK_API_KEY"' : null,
    body === undefined ? null : `-H ${quoted(`content-type: ${kind}`)}`,
    body === undefined ? null : `--data-binary ${quoted(text)}`,
  ];
  return `${parts.filter((each) => each !== null).join(" \\\n  ")}\n`;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
