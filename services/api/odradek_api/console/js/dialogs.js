/** Questions and notices: a dialog that is a real <dialog>, and words in the corner that a screen reader hears. */

import { el } from "./elements.js";

const NOTICE_MS = 7000;

/** A short word in the corner. */
export function notice(text, { bad = false } = {}) {
  const shown = el("div", { class: bad ? "notice bad" : "notice" }, text);
  document.getElementById("notices").append(shown);
  setTimeout(() => shown.remove(), NOTICE_MS);
}

/**
 * Runs what a button does: busy meanwhile, and a refusal is said instead of lost. A disabled button loses the focus: it
 * gets it back, or what stands in its place then.
 */
export async function doing(button, work) {
  const [focused, place] = [document.activeElement === button, button.parentElement];
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") notice(error.message, { bad: true });
    return undefined;
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
    const isLost = document.activeElement === null || document.activeElement === document.body || document.activeElement === button;
    if (focused && isLost) (button.isConnected ? button : place?.querySelector("button"))?.focus();
  }
}

/** Asks before something that cannot be taken back; resolves to true or false. */
export function confirmed(title, explanation, action) {
  const form = el(
    "form", { method: "dialog" },
    el("h2", { id: "asked" }, title),
    el("p", { class: "soft" }, explanation),
    el(
      "div", { class: "row end" },
      el("button", { value: "no", autofocus: true }, "Go back"),
      el("button", { value: "yes", class: "danger" }, action),
    ),
  );
  return opened(el("dialog", { "aria-labelledby": "asked" }, form)).then((answer) => answer === "yes");
}

/** Shows a dialog; resolves to its return value when it is closed. */
export function opened(dialog) {
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}
