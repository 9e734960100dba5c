/** The records of a job, page by page, and all of them as a file. */

import { el, icon, outward } from "../elements.js";
import { clamped, empty } from "../parts.js";
import { PagedList, table } from "../tables.js";
import { get } from "../gateway.js";
import { doing } from "../dialogs.js";
import { link, path } from "../routing.js";
import { download } from "../downloads.js";

const PER_PAGE = 50;
const FORMATS = [["jsonl", "JSON lines"], ["csv", "CSV"], ["parquet", "Parquet"]];
// What the last run that asked for their pages has made of them.
const CHANGES = [["", "All of them"], ["new", "New"], ["changed", "Changed"], ["unchanged", "Unchanged"], ["gone", "Gone"]];
const MOST_COLUMNS = 6;
const LONGEST = 160;
// What is this short stands on one line.
const SHORT = 24;

export function items({ root, id, query, signal }) {
  const type = el("input", {
    type: "search", placeholder: "Type of the items", "aria-label": "Only items of this type", value: query.type ?? "",
    onchange: () => turn(),
  });
  const change = el("select", { "aria-label": "Only what has become of items", onchange: () => turn() },
    CHANGES.map(([value, words]) => el("option", { value, selected: value === (query.change ?? "") }, words)));
  const turn = () => {
    location.hash = link(["jobs", id, "items"], { type: type.value.trim(), change: change.value });
  };
  const buttons = FORMATS.map(([format, words]) => {
    const button = el("button", {
      "aria-label": `Export as ${words}`,
      onclick: () => doing(button, () => download(path`/v1/jobs/${id}/export`, { format, type: query.type, change: query.change }, `${id}.${format}`)),
    }, icon("download"), words);
    return button;
  });
  const list = new PagedList({
    what: "items",
    signal,
    read: (cursor) => get(path`/v1/jobs/${id}/items`, { query: { type: query.type, change: query.change, cursor, limit: PER_PAGE }, signal }),
    show: ({ data }) => (data.length === 0 ? nothing(query) : itemTable(data)),
  });
  root.append(el("div", { class: "toolbar" }, type, change, el("span", { class: "grow" }), el("span", { class: "soft small" }, query.type || query.change ? "Export these as" : "Export everything as"), ...buttons), list.element);
  list.load();
}

function nothing({ type, change }) {
  return type || change
    ? empty("No such item", `The job has no ${[change, "item"].filter(Boolean).join(" ")}${type ? ` of the type ${type}` : ""} on this page.`)
    : empty("No items yet", "Each record that a rule extracts appears here a moment after its page was parsed. A job without rules keeps one record for every page.");
}

/** The fields that these items have, as columns; the whole item when its row is opened. */
function itemTable(data) {
  const names = [...new Set(data.flatMap((each) => Object.keys(each.data ?? {})))];
  const shown = names.slice(0, MOST_COLUMNS);
  const columns = [
    { name: "", cell: (item) => opening(item) },
    ...shown.map((name) => ({ name, cell: (item) => value(item.data?.[name]) })),
    { name: "Type", cell: (item) => el("span", { class: "mono soft short" }, item.type) },
    { name: "Page", cell: (item) => address(item.url) },
  ];
  const made = table("Items", columns, data);
  made.classList.add("items");
  return made;
}

function opening(item) {
  const button = el("button", {
    class: "quiet", "aria-expanded": "false", "aria-label": "Show the whole item",
    onclick: () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      button.textContent = open ? "Show" : "Hide";
      const row = button.closest("tr");
      if (open) row.nextElementSibling.remove();
      else row.after(el("tr", { class: "whole" }, el("td", { colspan: row.children.length }, el("pre", {}, JSON.stringify(item, null, 2)))));
    },
  }, "Show");
  return button;
}

function value(found) {
  if (found === null || found === undefined) return el("span", { class: "soft" }, "–");
  if (/^https?:\/\/\S+$/i.test(found)) return address(found);
  const isList = Array.isArray(found) && found.every((each) => typeof each !== "object");
  const text = isList ? found.join(", ") : typeof found === "object" ? JSON.stringify(found) : String(found);
  if (text.length <= SHORT) return el("span", { class: "short" }, text);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}

function address(url) {
  return clamped(outward(url), url);
}
