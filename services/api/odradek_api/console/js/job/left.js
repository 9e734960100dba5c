/** What was left out: skipped URLs by reason, and links that were never accepted. */

import { el } from "../elements.js";
import { empty } from "../parts.js";
import { link } from "../routing.js";
import { count } from "../words.js";
import { meaning } from "../reasons.js";
import { table } from "../tables.js";
import { ReasonList, urlsOf } from "./reason_list.js";

export function left({ root, id, watching, query, signal }) {
  const list = new ReasonList({
    outcome: "skipped",
    href: (reason) => link(["jobs", id, "skipped"], { reason }),
    chosen: query.reason,
    nothing: empty("Nothing skipped", "Every accepted URL was, or will be, asked for."),
    detail: (reason) => [urlsOf({ id, state: "skipped", reason, signal })],
  });
  const refused = el("div");
  root.append(el("div", { class: "split" }, list.element), el("section", { class: "panel below" }, el("h2", {}, "Links never accepted"),
    el("p", { class: "soft small" }, "They are counted where they are found, and not kept one by one. ", el("b", {}, "Explain"), " tells of any URL why it would be refused."),
    explainForm(id), refused));
  let known = "";
  watching.on(({ ledger }) => {
    const reasons = ledger?.reasons ?? {};
    list.show(reasons.skipped ?? {});
    const now = JSON.stringify(reasons.refused ?? {});
    if (now !== known) refused.replaceChildren(refusedTable(reasons.refused ?? {}));
    known = now;
  }, signal);
}

function refusedTable(refused) {
  const found = Object.entries(refused).sort((one, other) => other[1] - one[1]);
  if (found.length === 0) return el("p", { class: "soft" }, "None so far.");
  return table("Links never accepted, by reason", [
    { name: "Reason", cell: ([reason]) => el("span", { class: "mono" }, reason) },
    { name: "What it means", cell: ([reason]) => meaning(reason) },
    { name: "Links", kind: "number", cell: ([, number]) => count(number) },
  ], found);
}

/** Leads to the page of any URL. */
export function explainForm(job) {
  const url = el("input", { type: "url", required: true, placeholder: "https://…", "aria-label": "Explain this URL" });
  return el("form", {
    class: "row explain",
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = link(["url"], { job, url: url.value.trim() });
    },
  }, url, el("button", {}, "Explain"));
}
