/** Values as YAML that people would write, and that YAML 1.1 readers read as the same values. Pure. */

import { visible } from "../visible.js";

const PLAIN = /^[A-Za-z_][\w./@+-]*( [\w./@+-]+)*$/;
const OTHERWISE = /^(true|false|null|yes|no|on|off|y|n|nan|inf)$/i;
const LONGEST_LINE = 44;

/** A document; ends with a line break. */
export function yaml(value) {
  const lines = isFull(value) ? block(value) : [inline(value)];
  return `${lines.join("\n")}\n`;
}

function block(value) {
  if (Array.isArray(value)) {
    return value.flatMap((each) => indented(each, "- ", "  "));
  }
  return Object.entries(value).flatMap(([name, each]) => entry(name, each));
}

function entry(name, value) {
  const short = inline(value);
  if (short !== null && (!isFull(value) || name.length + short.length < LONGEST_LINE)) return [`${scalar(name)}: ${short}`];
  return [`${scalar(name)}:`, ...block(value).map((line) => `  ${line}`)];
}

function indented(value, first, rest) {
  const short = isMap(value) && isFull(value) ? null : inline(value);
  const lines = short !== null ? [short] : block(value);
  return lines.map((line, at) => (at === 0 ? first : rest) + line);
}

/** On one line: what is no collection, an empty one, a list of few words, a small map without maps. */
function inline(value) {
  if (Array.isArray(value)) {
    return value.every((each) => !isCollection(each)) && value.length <= 6 ? `[${value.map(scalar).join(", ")}]` : null;
  }
  if (!isMap(value)) return scalar(value);
  const entries = Object.entries(value);
  if (entries.some(([, each]) => isCollection(each)) || entries.length > 5) return null;
  return entries.length === 0 ? "{}" : `{${entries.map(([name, each]) => `${scalar(name)}: ${scalar(each)}`).join(", ")}}`;
}

function scalar(value) {
  // 1e-7 is a word in YAML 1.1; with a point it is a number.
  if (typeof value === "number") return String(value).replace(/^(-?\d+)e/, "$1.0e");
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !OTHERWISE.test(value) ? value : visible(JSON.stringify(value));
}

function isMap(value) {
  return isCollection(value) && !Array.isArray(value);
}

function isCollection(value) {
  return typeof value === "object" && value !== null;
}

function isFull(value) {
  return isCollection(value) && Object.keys(value).length > 0;
}
