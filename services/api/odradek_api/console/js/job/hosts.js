/** The hosts this job asks: how it goes there, and what the fleet does about it. */

import { el, icon } from "../elements.js";
import { empty, shownIn } from "../parts.js";
import { get } from "../gateway.js";
import { path } from "../routing.js";
import { doing } from "../dialogs.js";
import { hostTable } from "../host_table.js";
import { count } from "../words.js";
import { every } from "../streams.js";
import { FINAL } from "../reasons.js";
import { HostPaces } from "../host_paces.js";

const AGAIN_EVERY_MS = 5000;

export function jobHosts({ root, id, watching, signal }) {
  const place = el("div");
  const paces = new HostPaces();
  const again = el("button", { onclick: () => doing(again, read) }, icon("retry"), "Read again");
  root.append(el("div", { class: "row" }, el("p", { class: "soft grow" }, "By tries in the crawl log; pace and back-off are those of the whole fleet."), again), place);
  const made = async () => {
    const { data } = await get(path`/v1/jobs/${id}/hosts`, { signal });
    if (data.length === 0) return empty("No host yet", "Hosts appear here with the first fetch.");
    return hostTable(
      data.map(({ key, host, ...tries }) => ({ ...(host ?? { key, robots: {} }), ...tries })),
      { paces, job: id, changed: read, own: [
        { name: "Tries", kind: "number", cell: (each) => count(each.tries) },
        { name: "Failed", kind: "number", cell: (each) => el("span", { class: each.failed_tries > 0 ? "bad" : "" }, count(each.failed_tries)) },
      ] },
    );
  };
  const read = () => shownIn(place, "the hosts", made, signal, { quietly: true });
  let last = false;
  every(AGAIN_EVERY_MS, signal, async () => {
    const before = last;
    last = FINAL.has(watching.job.state);
    if (!(before && last) && !place.contains(document.activeElement)) await read();
  });
}
