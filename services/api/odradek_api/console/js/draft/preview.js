/** What the rules would find on one page: fetched once, read again whenever a rule changes. */

import { el, icon } from "../elements.js";
import { broken, loading } from "../parts.js";
import { post } from "../gateway.js";
import { bytes, count, counted, milliseconds } from "../words.js";

const SETTLED_MS = 700;
const MOST_SHOWN = 20;

export class Preview {
  #asked = new AbortController();
  #tried = false;

  /** `draft()` gives the specification as it stands. */
  constructor(draft, signal) {
    this.draft = draft;
    this.signal = signal;
    this.url = el("input", { type: "url", placeholder: "The first seed, or any page like it", "aria-label": "Page to try the rules on" });
    this.button = el("button", { type: "button", onclick: () => this.look() }, icon("logs"), "Try the rules");
    this.place = el("div", { class: "preview-place", role: "status" });
    this.element = el("section", { class: "panel stack" },
      el("h2", {}, "What the rules find"),
      el("p", { class: "soft small" }, "One page is fetched, as the job would, and kept for some minutes: changing a rule does not ask the site again. Nothing is stored."),
      el("div", { class: "row nowrap" }, this.url, this.button), this.place);
    signal.addEventListener("abort", () => {
      clearTimeout(this.waiting);
      this.#asked.abort();
    });
  }

  /** After a change of the form: again, once the person pauses. */
  changed() {
    if (!this.#tried) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.look({ quietly: true }), SETTLED_MS);
  }

  async look({ quietly = false } = {}) {
    const job = this.draft();
    const url = this.url.value.trim() || (job.seeds ?? [])[0];
    if (!url) {
      this.place.replaceChildren(el("p", { class: "soft" }, "Give a page here, or a seed above."));
      return;
    }
    this.#tried = true;
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    if (!quietly) this.place.replaceChildren(loading("the page"));
    this.button.disabled = true;
    try {
      const found = await post("/v1/preview", { body: { url, job }, signal });
      if (!signal.aborted) this.place.replaceChildren(...shown(found));
    } catch (error) {
      if (!signal.aborted) this.place.replaceChildren(broken(error));
    } finally {
      if (!signal.aborted) this.button.disabled = false;
    }
  }
}

function shown({ page, inspection, withheld }) {
  const about = [page.status, page.content_type, bytes(page.size_bytes), page.duration_ms === null ? null : milliseconds(page.duration_ms), page.kept ? "kept from before" : null];
  const links = inspection?.links ?? { found: 0, duplicates: 0, refused: {} };
  const refused = Object.values(links.refused).reduce((sum, each) => sum + each, 0);
  return [
    el("p", { class: "small" }, about.filter(Boolean).join(" · ")),
    withheld.length > 0 && el("p", { class: "banner" }, `Not used here: ${withheld.join(", ")}.`),
    inspection === null && el("p", { class: "broken" }, page.problem ?? "It gave no page."),
    ...(inspection?.rules ?? []).map(ruleFound),
    inspection !== null && el("p", { class: "soft small" }, `${counted(links.found, "link")} would be followed, ${count(refused)} refused, ${count(links.duplicates)} seen twice.`),
  ].filter(Boolean);
}

function ruleFound(rule) {
  const records = rule.records.slice(0, MOST_SHOWN);
  const why = Object.entries(rule.why_empty);
  return el("section", { class: "found" },
    el("h3", { class: "row" }, el("span", { class: "mono" }, rule.type), el("span", { class: "soft" }, counted(rule.found, "record")), el("span", { class: "soft small" }, rule.engine)),
    rule.silent && el("p", { class: "soft" }, rule.silent),
    why.length > 0 && el("ul", { class: "why" }, why.map(([reason, number]) => el("li", {}, `${reason} (${count(number)})`))),
    records.map((record) => el("div", { class: record.malformed.length > 0 ? "record bad-record" : "record" },
      record.malformed.map((problem) => el("p", { class: "bad small" }, problem)),
      el("dl", { class: "fields" }, Object.entries(record.data).map(([name, value]) =>
        el("div", {}, el("dt", { class: "mono soft" }, name), el("dd", { class: "mono" }, value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value))))))),
    rule.found > records.length && el("p", { class: "soft small" }, `and ${count(rule.found - records.length)} more`));
}
