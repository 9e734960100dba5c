/** A button that copies. */

import { el } from "./elements.js";
import { notice } from "./dialogs.js";

export function copying(words, text) {
  return el("button", {
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text());
        notice("Copied.");
      } catch {
        notice("The browser did not let the console copy; select the text instead.", { bad: true });
      }
    },
  }, words);
}
