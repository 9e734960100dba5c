/** An address that leads nowhere. */

import { el } from "../elements.js";
import { empty, heading } from "../parts.js";

export function lostView({ root }) {
  root.append(
    heading("Nothing here"),
    empty("This address leads nowhere", "The link may be old, or cut off.", el("a", { class: "button", href: "#/" }, "All jobs")),
  );
}
