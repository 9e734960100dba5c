/** The ledger: both sums written out, the independent count beside it, and whether all of it agrees. */

import { el, icon, say } from "../elements.js";
import { doing } from "../dialogs.js";
import { get } from "../gateway.js";
import { path } from "../routing.js";
import { count } from "../words.js";
import { OUTCOMES, OUTCOME_NAMES } from "../reasons.js";

const STATES = ["pending", ...OUTCOMES];

export function ledger({ root, id, watching, signal }) {
  const place = el("div", { class: "stack" });
  const again = el("button", {
    onclick: () => doing(again, async () => {
      fresh = await get(path`/v1/jobs/${id}/audit`, { query: { recount: true }, signal });
      show(fresh);
    }),
  }, icon("retry"), "Count every URL again");
  let fresh = null;
  const verdict = el("div", { class: "verdict", role: "status" });
  const show = (ledger_) => {
    showVerdict(verdict, ledger_);
    place.replaceChildren(firstSum(ledger_), secondSum(ledger_), recounted(ledger_));
  };
  root.append(
    el("div", { class: "row" }, verdict, el("span", { class: "grow" }), again),
    el("p", { class: "soft" }, "Every URL that was ever accepted is in exactly one place. Two counts are made apart from each other: one as things happen, one by going through every URL."),
    place,
  );
  let known = "";
  watching.on((now) => {
    if (now.ledger === null || JSON.stringify(now.ledger) === known) return;
    known = JSON.stringify(now.ledger);
    show(now.ledger);
  }, signal);
}

function showVerdict(place, { balanced, pending }) {
  place.dataset.balanced = balanced;
  say(place, balanced ? "Balanced: every URL is accounted for" : pending > 0
    ? "On its way: the second count is older than the first" : "Not balanced: count every URL again");
}

/** a = b + c + … with a name under every number. */
function sum(title, total, parts) {
  const term = ([name, number, outcome]) => el("div", { class: "term", data: { outcome: outcome ?? "" } }, el("b", { class: "number" }, count(number)), el("span", {}, name));
  const sign = (text) => el("div", { class: "sign", "aria-hidden": "true" }, text);
  const adds = parts.reduce((all, [, number]) => all + number, 0) === total[1];
  return el("section", { class: "panel" },
    el("h2", {}, title),
    el("div", { class: "sum" }, term(total), sign(adds ? "=" : "≠"), parts.flatMap((part, at) => (at === 0 ? [term(part)] : [sign("+"), term(part)]))));
}

function firstSum(ledger_) {
  return sum("Where every accepted URL is", ["Accepted", ledger_.accepted], STATES.map((name) => [OUTCOME_NAMES[name], ledger_[name], name]));
}

function secondSum(ledger_) {
  return sum("What every link found became", ["Links found", ledger_.links_found], [
    ["Accepted", ledger_.accepted], ["Duplicates", ledger_.duplicates], ["Refused", ledger_.refused],
  ]);
}

function recounted(ledger_) {
  // Of a job on its way the second count is of an earlier moment: differences say nothing yet.
  const isOlder = !ledger_.balanced && ledger_.pending > 0;
  const rows = ["accepted", ...STATES].map((name) => {
    const [one, other] = [ledger_[name], ledger_.recount[name]];
    const differs = isOlder ? el("span", { class: "soft" }, "not yet") : el("span", { class: "bad" }, `${other > one ? "+" : ""}${count(other - one)}`);
    return el("tr", {}, el("th", { scope: "row" }, OUTCOME_NAMES[name] ?? "Accepted"), el("td", { class: "number" }, count(one)),
      el("td", { class: "number" }, count(other)), el("td", {}, one === other ? "agrees" : differs));
  });
  return el("section", { class: "panel" },
    el("h2", {}, "Counted twice"),
    el("p", { class: "soft small" }, "The second count is made when a job is complete, and whenever you ask for it; until then it is older than the first."),
    el("table", {}, el("thead", {}, el("tr", {}, ["", "As it happened", "Going through every URL", ""].map((name, at) => el(name === "" ? "td" : "th", { scope: name === "" ? null : "col", class: at === 1 || at === 2 ? "number" : "" }, name)))), el("tbody", {}, rows)),
    ledger_.late > 0 && el("p", { class: "soft small" }, `${count(ledger_.late)} late outcomes changed nothing: their URLs had one already, or the job was over.`));
}
