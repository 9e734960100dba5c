/** How fresh a job's items are, host by host, and which were not seen for longest. */

import { el, icon, outward } from "../elements.js";
import { clamped, shownIn, when } from "../parts.js";
import { table } from "../tables.js";
import { get } from "../gateway.js";
import { doing } from "../dialogs.js";
import { path } from "../routing.js";
import { ago, count, percent } from "../words.js";
import { freshShare } from "./run_words.js";

const SPANS = [["1h", "an hour"], ["8h", "8 hours"], ["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"]];
const USUAL = "24h";
const MOST_HOSTS = 50;

/** Going through all items costs the store something, so it is asked when a run has ended, and when a person wants it. */
export class Freshness {
  constructor(id, signal) {
    this.id = id;
    this.signal = signal;
    this.place = el("div", { class: "stack" });
    this.span = el("select", { "aria-label": "Fresh is what was seen within", onchange: () => this.load() },
      SPANS.map(([value, words]) => el("option", { value, selected: value === USUAL }, words)));
    const again = el("button", { onclick: () => doing(again, () => this.load()) }, icon("retry"), "Read again");
    this.element = el("section", { class: "panel stack" },
      el("div", { class: "toolbar" }, el("h2", { class: "grow" }, "How fresh the items are"), el("span", { class: "soft small" }, "seen within"), this.span, again),
      this.place);
  }

  load() {
    const [within, words] = SPANS.find(([value]) => value === this.span.value);
    return shownIn(this.place, "the items", async () => {
      const found = await get(path`/v1/jobs/${this.id}/freshness`, { query: { within }, signal: this.signal });
      return el("div", { class: "stack" }, el("p", {}, freshShare(found, words)), found.items > 0 && [hosts(found.hosts), oldest(found.oldest)]);
    }, this.signal, { quietly: true });
  }
}

function hosts(found) {
  const more = found.length - MOST_HOSTS;
  return [table("Hosts, those with the oldest items first", [
    { name: "Host", cell: (each) => each.host },
    { name: "Items", kind: "number", cell: (each) => count(each.items) },
    { name: "Fresh", kind: "number", cell: (each) => count(each.fresh) },
    { name: "Share", kind: "number", cell: (each) => el("span", { class: each.share < 1 ? "bad" : "" }, percent(each.share)) },
    { name: "Oldest seen", cell: (each) => seen(each.oldest_seen) },
  ], found.slice(0, MOST_HOSTS)), more > 0 && el("p", { class: "soft small" }, `And ${count(more)} hosts with younger items.`)];
}

function oldest(found) {
  return table("Items that were not seen for longest", [
    { name: "Not seen for longest", cell: (each) => clamped(outward(each.url), each.url) },
    { name: "Last seen", cell: (each) => seen(each.last_seen) },
  ], found);
}

function seen(text) {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? "–" : when(atMs, ago(atMs, Date.now()));
}
