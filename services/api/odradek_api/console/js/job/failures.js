/** Failures grouped by reason, what each means, the URLs behind it, and another try. */

import { el, icon } from "../elements.js";
import { empty } from "../parts.js";
import { doing, notice } from "../dialogs.js";
import { post } from "../gateway.js";
import { link, path } from "../routing.js";
import { counted } from "../words.js";
import { CLOSED } from "../reasons.js";
import { ReasonList, urlsOf } from "./reason_list.js";

export function failures({ root, id, watching, query, signal }) {
  const place = el("div", { class: "split" });
  root.append(place);
  const list = new ReasonList({
    outcome: "failed",
    href: (reason) => link(["jobs", id, "failures"], { reason }),
    chosen: query.reason,
    nothing: empty("No failures", "Every URL that was tried so far gave an answer that counts."),
    detail: (reason, number) => failed(id, watching, reason, number, signal),
  });
  place.append(list.element);
  watching.on(({ ledger }) => list.show(ledger?.reasons.failed ?? {}), signal);
}

function failed(id, watching, reason, number, signal) {
  const again = el("button", {
    class: "primary",
    onclick: () => doing(again, async () => {
      watching.took(await post(path`/v1/jobs/${id}/retry-failed`, { query: { reason }, signal }));
      notice(`${counted(number, "URL")} that failed with ${reason} ${number === 1 ? "is" : "are"} open again.`);
    }),
  }, icon("retry"), `Retry ${reason}`);
  const closed = CLOSED.has(watching.job.state);
  return [
    el("div", { class: "row" }, closed ? el("span", { class: "soft small" }, "The job is over for good: nothing is retried.") : again,
      el("a", { class: "button", href: link(["logs"], { job: id, outcome: "failed", reason }) }, icon("logs"), "Every attempt in the log")),
    urlsOf({ id, state: "failed", reason, signal }),
  ];
}
