/** What was asked for, secrets blotted out; and the same as a file for the next job. */

import { el } from "../elements.js";
import { shownIn } from "../parts.js";
import { get } from "../gateway.js";
import { copying } from "../copying.js";
import { path } from "../routing.js";
import { yaml } from "../draft/yaml.js";

export function specification({ root, id, signal }) {
  const place = el("div");
  root.append(place);
  shownIn(place, "the specification", async () => {
    const text = yaml(await get(path`/v1/jobs/${id}/specification`, { signal }));
    return el("section", { class: "panel stack" },
      el("div", { class: "row" }, el("p", { class: "soft grow" }, "Where it differs from the defaults. Secrets are blotted out."), copying("Copy", () => text)),
      el("pre", { class: "code", tabindex: "0", "aria-label": "Specification as YAML" }, text));
  }, signal);
}
