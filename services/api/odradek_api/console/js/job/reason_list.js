/** Reasons at one side, the URLs of the chosen one at the other. */

import { el, outward, say } from "../elements.js";
import { clamped } from "../parts.js";
import { get } from "../gateway.js";
import { PagedList, table } from "../tables.js";
import { link, path } from "../routing.js";
import { count } from "../words.js";
import { meaning } from "../reasons.js";

const PER_PAGE = 100;

export class ReasonList {
  #shown = null;

  /** `detail(reason, number)` gives the elements beside the list; `nothing` is shown when there is no reason. */
  constructor({ outcome, href, chosen, nothing, detail }) {
    Object.assign(this, { outcome, href, chosen, nothing, detail });
    this.reasons = el("nav", { class: "reasons", "aria-label": "Reasons" });
    this.place = el("div", { class: "stack" });
    this.element = el("div", { class: "contents" });
  }

  show(counts) {
    const found = Object.entries(counts).filter(([, number]) => number > 0).sort((one, other) => other[1] - one[1]);
    const key = JSON.stringify(found);
    if (key === this.known) return;
    this.known = key;
    if (found.length === 0) {
      this.#shown = null;
      this.element.replaceChildren(this.nothing);
      return;
    }
    const reason = counts[this.chosen] > 0 ? this.chosen : found[0][0];
    this.#list(found, reason);
    this.#open(reason, counts[reason]);
    if (this.place.parentNode !== this.element) this.element.replaceChildren(this.reasons, this.place);
  }

  #list(found, chosen) {
    const focused = this.reasons.contains(document.activeElement) ? document.activeElement.dataset.reason : null;
    this.reasons.replaceChildren(...found.map(([reason, number]) =>
      el("a", { href: this.href(reason), data: { reason }, "aria-current": reason === chosen ? "true" : null },
        el("span", { class: "mono" }, reason), el("span", { class: "number" }, count(number)))));
    if (focused !== null) this.reasons.querySelector(`[data-reason="${CSS.escape(focused)}"]`)?.focus();
  }

  /** The chosen reason is drawn once; afterwards only its number changes, so that nothing jumps under the reader. */
  #open(reason, number) {
    if (this.#shown !== reason) {
      this.#shown = reason;
      this.number = el("span", { class: "soft" });
      this.place.replaceChildren(
        el("div", {}, el("h2", { class: "row" }, el("span", { class: "mono" }, reason), this.number), el("p", { class: "soft" }, meaning(reason))),
        ...this.detail(reason, number),
      );
    }
    say(this.number, count(number));
  }
}

/** A paged table of a job's URLs in one state and of one reason. */
export function urlsOf({ id, state, reason, signal }) {
  const list = new PagedList({
    what: `URLs ${state}`,
    signal,
    read: (cursor) => get(path`/v1/jobs/${id}/urls`, { query: { state, reason, cursor, limit: PER_PAGE }, signal }),
    show: ({ data }) => (data.length === 0 ? el("p", { class: "soft" }, "None on this page.") : urlTable(id, data)),
  });
  list.load();
  return list.element;
}

function urlTable(id, urls) {
  const made = table("URLs", [
    { name: "URL", cell: (each) => clamped(el("a", { class: "url", href: link(["url"], { job: id, url: each.url }) }, each.url), each.url) },
    { name: "Status", kind: "number", cell: (each) => each.status ?? "–" },
    { name: "Tries", kind: "number", cell: (each) => count((each.try ?? 0) + 1) },
    { name: "Depth", kind: "number", cell: (each) => count(each.depth) },
    { name: "Found on", cell: (each) => (each.via ? clamped(outward(each.via), each.via) : el("span", { class: "soft" }, "a seed")) },
  ], urls);
  made.classList.add("urls");
  return made;
}
