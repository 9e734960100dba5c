/** The REST API's document: every route, what it takes and gives. From the gateway alone, as everything here. */

import { el, icon, opening } from "../elements.js";
import { heading, shownIn } from "../parts.js";
import { get } from "../gateway.js";
import { table } from "../tables.js";
import { copying } from "../copying.js";
import { curl } from "../curl.js";
import { storedKey } from "../keyring.js";
import { kindOf, limitsOf, modelsOf, routesByTag } from "../documents/schemas.js";

const ORDER = ["jobs", "results", "frontier", "activity", "logs", "dead letters", "health"];

export function documentsView({ root, signal }) {
  const place = el("div");
  root.append(heading("API documents", {
    about: "Every route of this gateway, with what it takes and gives",
    actions: [el("a", { class: "button", href: "./openapi.json", download: "openapi.json" }, icon("download"), "openapi.json")],
  }), place);
  shownIn(place, "the API's document", async () => {
    const found = await get("/openapi.json", { signal });
    const models = found.components?.schemas ?? {};
    return el("div", { class: "stack" }, paragraphs(found.info.description), inOrder(routesByTag(found.paths)).map((each) => group(each, models)));
  }, signal);
}

/** First what a newcomer needs. */
function inOrder(groups) {
  const place = ({ tag }) => (ORDER.includes(tag) ? ORDER.indexOf(tag) : ORDER.length);
  return groups.sort((one, other) => place(one) - place(other));
}

function group({ tag, routes }, models) {
  return el("section", { class: "stack tight" }, el("h2", {}, `${tag.slice(0, 1).toUpperCase()}${tag.slice(1)}`),
    el("ul", { class: "letters" }, routes.map(({ method, path, operation }) => el("li", {}, opening(
      el("summary", {}, el("span", { class: "flag mono method", data: { method } }, method),
        el("span", { class: "what" }, el("span", { class: "url" }, path), el("span", { class: "soft small said" }, worded(firstSentence(operation))))),
      () => route(method, path, operation, models))))));
}

function route(method, path, operation, models) {
  const parameters = operation.parameters ?? [];
  const [kind, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const address = `${location.origin}${path}`;
  const text = curl({ method, address, kind, body: content === undefined ? undefined : (content.example ?? {}), withKey: storedKey() !== null });
  return el("div", { class: "whole stack" },
    paragraphs(restOf(operation)),
    parameters.length > 0 && table(`Parameters of ${method} ${path}`, PARAMETERS, parameters),
    content !== undefined && el("section", { class: "stack tight" }, el("h3", {}, "Body"),
      el("p", { class: "soft small" }, Object.keys(operation.requestBody.content).join(", ")), schemaShown(content.schema, models)),
    el("section", { class: "stack tight" },
      el("div", { class: "row" }, el("h3", { class: "grow" }, "As a command"), copying("Copy", () => text)),
      el("pre", { class: "code", tabindex: "0", "aria-label": `${method} ${path} as a curl command` }, text)),
    el("section", { class: "stack tight" }, el("h3", {}, "Answers"),
      el("dl", { class: "fields" }, Object.entries(operation.responses ?? {}).map(([status, answer]) => el("div", {},
        el("dt", { class: "mono soft" }, status),
        el("dd", {}, answer.description, Object.values(answer.content ?? {}).map((each) => schemaShown(each.schema ?? {}, models))))))));
}

const PARAMETERS = [
  { name: "Parameter", cell: (each) => el("b", { class: "mono" }, each.name, each.required ? " (required)" : "") },
  { name: "In", cell: (each) => each.in },
  { name: "Is", cell: (each) => kindWithLimits(each.schema ?? {}) },
  { name: "Meaning", cell: (each) => each.description ?? "" },
];

/** Its kind, and the models it leads to: each made when it is opened, since models may lead back to themselves. */
function schemaShown(schema, models) {
  return el("div", {}, el("p", { class: "small" }, kindWithLimits(schema)),
    modelsOf(schema).filter((name) => models[name] !== undefined).map((name) =>
      opening(el("summary", { class: "mono small" }, name), () => modelShown(models[name], models))));
}

function modelShown(model, models) {
  const required = new Set(model.required ?? []);
  const fields = Object.entries(model.properties ?? {});
  return el("div", { class: "model stack tight" }, paragraphs(model.description),
    fields.length === 0 ? el("p", { class: "small" }, kindWithLimits(model)) : el("dl", { class: "fields" }, fields.map(([name, schema]) => el("div", {},
      el("dt", { class: "mono" }, name, required.has(name) ? " (required)" : ""),
      el("dd", {}, schema.description ?? "", schemaShown(schema, models))))));
}

function kindWithLimits(schema) {
  return el("span", {}, el("span", { class: "mono" }, kindOf(schema)), el("span", { class: "soft small" }, ` ${limitsOf(schema)}`));
}

function paragraphs(text) {
  return (text ?? "").split(/\n\s*\n/).filter((each) => each.trim() !== "").map((each) => el("p", { class: "soft" }, worded(each.trim())));
}

/** What stands in `backticks` as code. */
function worded(text) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? el("code", {}, part) : part));
}

function firstSentence({ description = "", summary = "" }) {
  return description.split(/\n\s*\n/)[0].trim() || summary;
}

function restOf({ description = "" }) {
  return description.split(/\n\s*\n/).slice(1).join("\n\n");
}
