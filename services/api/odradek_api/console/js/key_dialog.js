/** Asks for the API key, once for everybody who waits for it. */

import { el } from "./elements.js";
import { field, check } from "./parts.js";
import { opened } from "./dialogs.js";
import { keepKey } from "./keyring.js";

let asking = null;

/** Resolves when the person has given a key; `wrong`: the one before was not accepted. */
export function askForKey(wrong) {
  asking ??= ask(wrong).finally(() => {
    asking = null;
  });
  return asking;
}

async function ask(wrong) {
  const key = el("input", { type: "password", autocomplete: "off", required: true, autofocus: true, spellcheck: "false" });
  const mine = el("input", { type: "checkbox" });
  const form = el(
    "form", { method: "dialog" },
    el("h2", { id: "who" }, "Who is asking?"),
    el(
      "p", { class: "soft" },
      wrong ? "That key is not known here. " : "",
      "This gateway wants an API key. ", el("code", {}, "odradek keys new NAME"), " makes one.",
    ),
    field("API key", key),
    check("Keep it on this device, not only in this tab", mine),
    el("div", { class: "row end" }, el("button", { class: "primary", value: "yes" }, "Continue")),
  );
  for (;;) {
    await opened(el("dialog", { "aria-labelledby": "who" }, form));
    if (key.value.trim() !== "") break;
  }
  keepKey(key.value.trim(), { onThisDevice: mine.checked });
  dispatchEvent(new Event("odradek:key"));
}
