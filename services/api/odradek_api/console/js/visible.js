/** JSON in which every character is seen. Pure. */

// Controls and line separators, which YAML does not take as they are; and what has no width or turns the direction of
// writing, so that a command which is copied is the command that was read.
const UNSEEN = /[\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\ufeff\ufff9-\uffff]/g;

/** The same JSON with such characters as \uXXXX. */
export function visible(json) {
  return json.replace(UNSEEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
