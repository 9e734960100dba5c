/** Values as YAML that people would write. Pure. */

const PLAIN = /^[A-Za-z_][\w./@+-]*( [\w./@+-]+)*$/;
const OTHERWISE = /^(true|false|null|yes|no|on|off|y|n|nan|inf)$/i;
const LONGEST_LINE = 44;

/** A document; ends with a line break. */
export function yaml(value) {
  const lines = block(value);
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
  if (short !== null && name.length + short.length < LONGEST_LINE) return [`${scalar(name)}: ${short}`];
  return [`${scalar(name)}:`, ...block(value).map((line) => `  ${line}`)];
}

function indented(value, first, rest) {
  const short = Array.isArray(value) || !isMap(value) ? inline(value) : null;
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
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !OTHERWISE.test(value) ? value : JSON.stringify(value);
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCollection(value) {
  return typeof value === "object" && value !== null;
}
