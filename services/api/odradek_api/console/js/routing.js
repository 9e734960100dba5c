/** Addresses of the console: everything one sees has one, behind the #, so that it can be sent to somebody. Pure. */

/** {path: ["jobs", "id", "failures"], query: {…}} of a location's hash. */
export function place(hash) {
  const text = hash.replace(/^#\/?/, "");
  const [path, query = ""] = splitOnce(text, "?");
  return {
    path: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** A link: `link(["jobs", id], {reason: "dns"})`; what is empty is left out. */
export function link(path, query = {}) {
  const wanted = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(wanted).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

/** A path of the REST API: `path\`/v1/jobs/${id}\`` with every value encoded. */
export function path(texts, ...values) {
  return texts.reduce((made, text, at) => made + encodeURIComponent(values[at - 1]) + text);
}

function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
