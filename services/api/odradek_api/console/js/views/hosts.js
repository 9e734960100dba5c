/** All hosts the fleet knows, by name. */

import { el } from "../elements.js";
import { empty, heading } from "../parts.js";
import { get } from "../gateway.js";
import { PagedList } from "../tables.js";
import { HostPaces } from "../host_paces.js";
import { hostTable } from "../host_table.js";
import { link } from "../routing.js";
import { every } from "../streams.js";

const PER_PAGE = 50;
const AGAIN_EVERY_MS = 5000;

export function hostsView({ root, query, signal }) {
  let wanted = query.q ?? "";
  const paces = new HostPaces();
  const search = el("input", {
    type: "search", placeholder: "Part of a host's name", "aria-label": "Find a host by part of its name", value: wanted,
    oninput: () => {
      clearTimeout(search.typing);
      search.typing = setTimeout(() => location.replace(link(["hosts"], { q: search.value.trim() })), 250);
    },
  });
  signal.addEventListener("abort", () => clearTimeout(search.typing));
  const list = new PagedList({
    what: "hosts",
    signal,
    read: (cursor) => get("/v1/hosts", { query: { q: wanted, cursor, limit: PER_PAGE }, signal }),
    show: ({ data }) => (data.length === 0 ? nothing(wanted) : hostTable(data, { paces, changed: () => list.load({ quietly: true }) })),
  });
  root.append(
    heading("Hosts", { about: "One pace for each, over all jobs and fetchers" }),
    el("div", { class: "toolbar" }, search),
    list.element,
  );
  list.load();
  every(AGAIN_EVERY_MS, signal, async () => {
    if (!list.element.contains(document.activeElement) && list.element.querySelector("table") !== null) await list.load({ quietly: true });
  });
  return {
    moved: ({ query: next }) => {
      wanted = next.q ?? "";
      if (document.activeElement !== search) search.value = wanted;
      list.load({ anew: true, quietly: true });
    },
  };
}

function nothing(wanted) {
  return wanted === ""
    ? empty("No host yet", "Every host that a job touches appears here, with its pace, its errors and what its robots.txt says.")
    : empty("No such host", `No host's name contains ${wanted}.`, el("a", { class: "button", href: "#/hosts" }, "Show all"));
}
