/** Every attempt at every URL: searched, counted, narrowed down; and each view of it has an address. */

import { el, icon } from "../elements.js";
import { broken, empty, heading } from "../parts.js";
import { PagedList } from "../tables.js";
import { get } from "../gateway.js";
import { eventList } from "../events.js";
import { facetLists, histogram } from "../facets.js";
import { link } from "../routing.js";
import { counted } from "../words.js";

const PER_PAGE = 100;
const FILTERS = ["q", "job", "host", "status", "outcome", "reason", "action", "fingerprint", "since", "until"];
const SINCE = [["", "Any time"], ["15m", "Last 15 minutes"], ["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"]];

export function logsView({ root, query, signal }) {
  const view = new Logs(root, query, signal);
  return { moved: ({ query: next }) => view.ask(next) };
}

class Logs {
  constructor(root, query, signal) {
    this.signal = signal;
    this.total = el("span", { role: "status" });
    this.search = el("input", { type: "search", name: "q", placeholder: "Words of the message, or Lucene: http.response.status_code:>=500", "aria-label": "Search the log" });
    this.since = el("select", { "aria-label": "Since when", onchange: () => this.#go({ since: this.since.value, until: null }) },
      SINCE.map(([value, words]) => el("option", { value }, words)));
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Filters in force" });
    this.bars = el("div", { class: "histogram-place" });
    this.facets = el("div", { class: "facets" });
    this.list = new PagedList({
      what: "events", signal, words: ["Newer", "Older"],
      read: (cursor) => get("/v1/logs", { query: { ...this.query, cursor, limit: PER_PAGE }, signal }),
      show: (page) => this.#page(page),
    });
    const form = el("form", {
      class: "toolbar", role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        this.#go({ q: this.search.value.trim() });
      },
    }, this.search, this.since, el("button", { class: "primary" }, "Search"),
    el("button", { type: "button", onclick: () => this.ask(this.query) }, icon("retry"), "Again"));
    root.append(heading("Logs", { about: this.total }), form, this.chips, this.bars,
      el("div", { class: "logs" }, el("details", { class: "facet-frame", open: innerWidth > 820 }, el("summary", {}, "Narrow down"), this.facets), this.list.element));
    this.ask(query);
  }

  /** Shows what these filters find. */
  ask(query) {
    this.query = Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
    this.search.value = this.query.q ?? "";
    this.since.value = SINCE.some(([value]) => value === this.query.since) ? this.query.since : "";
    this.#chip();
    this.list.load({ anew: true });
    this.#count();
  }

  #go(changes) {
    const next = link(["logs"], { ...this.query, ...changes });
    if (next === location.hash) this.ask(this.query);
    else location.hash = next;
  }

  #chip() {
    const shown = Object.entries(this.query).filter(([name]) => name !== "q");
    this.chips.hidden = shown.length === 0;
    this.chips.replaceChildren(...shown.map(([name, value]) =>
      el("button", { class: "chip on", type: "button", "aria-label": `Take away ${name} ${value}`, onclick: () => this.#go({ [name]: null }) },
        el("span", { class: "soft" }, name), ` ${value}`, icon("cancel"))));
  }

  #page({ data, total }) {
    this.total.textContent = counted(total ?? data.length, "event");
    if (data.length > 0) return eventList(data);
    return Object.keys(this.query).length === 0
      ? empty("No events yet", "Each attempt at a URL leaves one here a second or two later: fetched, redirected, skipped or failed, and why.")
      : empty("Nothing found", "No event has all of this. Take a filter away, or look further back.", el("a", { class: "button", href: "#/logs" }, "Show everything"));
  }

  /** Counts come after the events: they cost the search engine more. */
  async #count() {
    const asked = this.query;
    this.facets.setAttribute("aria-busy", "true");
    try {
      const found = await get("/v1/logs/facets", { query: asked, signal: this.signal });
      if (asked !== this.query) return;
      const go = (changes) => this.#go(changes);
      this.facets.replaceChildren(...facetLists(found, asked, go));
      this.bars.replaceChildren(histogram(found, go));
    } catch (error) {
      if (this.signal.aborted || asked !== this.query) return;
      this.facets.replaceChildren(error.status === 400 ? el("p", { class: "soft small" }, "Nothing to count.") : broken(error));
      this.bars.replaceChildren();
    } finally {
      this.facets.removeAttribute("aria-busy");
    }
  }
}
