/** Rules as a form: what a record is, and its fields. Calls `changed()` at every keystroke. */

import { el, icon } from "../elements.js";
import { check, field } from "../parts.js";
import { emptyField, emptyRule } from "./draft.js";

const TYPES = ["text", "integer", "decimal", "boolean", "url", "datetime", "html"];
const KINDS = [["css", "CSS"], ["xpath", "XPath"], ["json", "JMESPath"]];
const BUILTINS = [["", "Own fields"], ["structured_data", "Structured data (JSON-LD, microdata, OpenGraph)"], ["article", "Article (main text)"]];

export class RulesEditor {
  constructor(changed) {
    this.changed = changed;
    this.rules = [];
    this.place = el("div", { class: "stack" });
    this.element = el("div", { class: "stack" }, this.place, el("div", {}, el("button", { type: "button", onclick: () => this.add() }, icon("plus"), "Add a rule")));
    this.#draw();
  }

  add() {
    this.rules.push({ ...emptyRule(), type: this.rules.length === 0 ? "product" : `record_${this.rules.length + 1}` });
    this.#draw();
    this.changed();
    this.place.lastElementChild.querySelector("input").focus();
  }

  #draw() {
    this.place.replaceChildren(...(this.rules.length === 0
      ? [el("p", { class: "soft" }, "Without rules every page gives one record with its URL, title, description, language and more.")]
      : this.rules.map((rule, at) => this.#rule(rule, at))));
  }

  #rule(rule, at) {
    const fields = el("div", { class: "rule-fields" });
    const drawFields = () => {
      fields.hidden = rule.builtin !== "";
      fields.replaceChildren(
        ...rule.fields.map((each, place) => this.#field(rule, each, place, drawFields)),
        el("div", {}, el("button", {
          type: "button", class: "quiet",
          onclick: () => {
            rule.fields.push(emptyField());
            drawFields();
            fields.querySelectorAll("[data-field-name]")[rule.fields.length - 1].focus();
          },
        }, icon("plus"), "Add a field")),
      );
      this.changed();
    };
    const each = this.#text(rule, "each", { placeholder: "article.product" });
    const eachField = field("One record for each", each, { hint: "A CSS selector; empty: one for the page", name: `extract.${at}.each` });
    const builtin = this.#choice(rule, "builtin", BUILTINS, () => {
      eachField.hidden = rule.builtin !== "";
      drawFields();
    });
    const made = el("fieldset", { class: "rule" },
      el("legend", {}, `Rule ${at + 1}`),
      el("div", { class: "grid-form" },
        field("Type of the records", this.#text(rule, "type", { required: true }), { name: `extract.${at}.type` }),
        field("Taken from", builtin),
        eachField,
        field("Only on URLs that match", this.#text(rule, "match", { placeholder: "/catalogue/" }), { hint: "A regular expression, optional", name: `extract.${at}.match` })),
      fields,
      el("div", { class: "row end" }, el("button", {
        type: "button", class: "quiet",
        onclick: () => {
          this.rules.splice(at, 1);
          this.#draw();
          this.changed();
        },
      }, `Take rule ${at + 1} away`)));
    drawFields();
    return made;
  }

  #field(rule, each, place, redraw) {
    const name = this.#text(each, "name", { placeholder: "price", "data-field-name": true });
    return el("div", { class: "rule-field", role: "group", "aria-label": `Field ${place + 1}` },
      field("Field", name),
      field("Found with", this.#choice(each, "kind", KINDS)),
      field("Selector", this.#text(each, "selector", { placeholder: ".price", class: "mono" })),
      field("Attribute", this.#text(each, "attr", { placeholder: "its text" })),
      field("Becomes", this.#choice(each, "type", TYPES.map((type) => [type, type]))),
      field("Part of it", this.#text(each, "regex", { placeholder: "(\\d+)" })),
      el("div", { class: "row checks" },
        check("Required", this.#mark(each, "required")), check("All matches", this.#mark(each, "many")), check("Identifies the record", this.#mark(each, "key")),
        el("span", { class: "grow" }),
        el("button", {
          type: "button", class: "quiet", "aria-label": `Take field ${place + 1} away`,
          onclick: () => {
            rule.fields.splice(place, 1);
            redraw();
          },
        }, "Take away")));
  }

  #text(holder, name, properties = {}) {
    const input = el("input", { ...properties, value: holder[name], autocapitalize: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      holder[name] = input.value;
      this.changed();
    });
    return input;
  }

  #mark(holder, name) {
    const input = el("input", { type: "checkbox", checked: holder[name] });
    input.addEventListener("change", () => {
      holder[name] = input.checked;
      this.changed();
    });
    return input;
  }

  #choice(holder, name, options, then = () => {}) {
    const select = el("select", {}, options.map(([value, words]) => el("option", { value }, words)));
    select.value = holder[name];
    select.addEventListener("change", () => {
      holder[name] = select.value;
      then();
      this.changed();
    });
    return select;
  }
}
