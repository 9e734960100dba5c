/**
 * Builds the page. Text only ever lands in text nodes, so what was crawled can never become markup; the page's policy
 * (trusted types) holds the console to that.
 */

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

/** An HTML element; strings among the children become text. */
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Set an element's text only when it differs, so that a reader is not told again. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A crawled address: shown as it is, and a link only when it leads to the web. */
export function outward(url) {
  const safe = /^https?:\/\//i.test(url);
  return safe
    ? el("a", { href: url, class: "url", target: "_blank", rel: "noopener noreferrer" }, url)
    : el("span", { class: "url" }, url);
}

const PATHS = {
  jobs: "M3 4h14M3 10h14M3 16h9",
  logs: "M9 3a6 6 0 1 1 0 12A6 6 0 0 1 9 3M13.5 13.5 18 18",
  hosts: "M10 2a8 8 0 1 1 0 16 8 8 0 0 1 0-16M2 10h16M10 2c5 5 5 11 0 16M10 2c-5 5-5 11 0 16",
  letters: "M2 5h16v11H2zM2 5l8 6 8-6",
  plus: "M10 3v14M3 10h14",
  pause: "M6 4v12M14 4v12",
  resume: "M6 3l10 7-10 7z",
  cancel: "M4 4l12 12M16 4L4 16",
  retry: "M16 6a7 7 0 1 0 1 6M17 2v5h-5",
  download: "M10 3v10M5 9l5 5 5-5M3 17h14",
  moon: "M16 12A7 7 0 0 1 8 3a7 7 0 1 0 8 9",
  key: "M7 9a4 4 0 1 1 0 2M11 10h7M15 10v4",
  document: "M5 2h7l4 4v12H5zM12 2v4h4",
};

/** A small line drawing beside words; never the only carrier of a meaning. */
export function icon(name) {
  const line = svg("path", { d: PATHS[name] });
  return svg(
    "svg",
    {
      viewBox: "0 0 20 20", "aria-hidden": "true", fill: "none", stroke: "currentColor",
      "stroke-width": "1.6", "stroke-linecap": "round", "stroke-linejoin": "round",
    },
    line,
  );
}

/** A <details> whose content is made when it is opened for the first time. */
export function opening(summary, make) {
  const details = el("details", {}, summary);
  details.addEventListener("toggle", () => details.append(make()), { once: true });
  return details;
}

/** Rows (or any children) that stay the same elements while their values change, so that focus is never lost. */
export class KeyedRows {
  #parent;
  #make;
  #rows = new Map();

  /** `make(item)` gives {element, update(item)}. */
  constructor(parent, make) {
    this.#parent = parent;
    this.#make = make;
  }

  show(items, keyOf) {
    const keys = new Set(items.map(keyOf));
    for (const [key, row] of this.#rows) {
      if (!keys.has(key)) {
        row.element.remove();
        this.#rows.delete(key);
      }
    }
    items.forEach((item, place) => {
      const key = keyOf(item);
      let row = this.#rows.get(key);
      if (row === undefined) {
        row = this.#make(item);
        this.#rows.set(key, row);
      }
      row.update?.(item);
      if (this.#parent.children[place] !== row.element) {
        this.#parent.insertBefore(row.element, this.#parent.children[place] ?? null);
      }
    });
  }
}
