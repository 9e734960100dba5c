/** What stands in the form as a job specification: only what a person changed, so that defaults stay defaults. Pure. */

/** One a line; empty lines are nothing. */
export function lines(text) {
  return text.split("\n").map((each) => each.trim()).filter((each) => each !== "");
}

/** The specification that these values of the form mean; `more` is JSON that is laid over it. */
export function specificationOf(form) {
  const spec = {};
  if (form.name.trim() !== "") spec.name = form.name.trim();
  spec.seeds = lines(form.seeds);
  put(spec, "scope", {
    allowed_domains: orNothing(lines(form.domains)),
    include: orNothing(lines(form.include)),
    exclude: orNothing(lines(form.exclude)),
    max_pages: wholeNumber(form.maxPages),
    max_depth: wholeNumber(form.maxDepth),
    max_pages_per_host: wholeNumber(form.maxPagesPerHost),
    follow_links: form.followLinks ? undefined : false,
    sitemaps: form.sitemaps ? undefined : false,
  });
  put(spec, "politeness", {
    delay: form.delay.trim() === "" ? undefined : form.delay.trim(),
    concurrency_per_host: wholeNumber(form.concurrency),
    respect_robots: form.robots ? undefined : false,
  });
  const rules = form.rules.map(ruleOf);
  if (rules.length > 0) spec.extract = rules;
  return merged(spec, form.more);
}

/** One rule as the specification has it. */
export function ruleOf(rule) {
  const made = { type: rule.type.trim() };
  if (rule.match.trim() !== "") made.match = rule.match.trim();
  if (rule.builtin !== "") return { ...made, builtin: rule.builtin };
  if (rule.each.trim() !== "") made.each = rule.each.trim();
  const key = rule.fields.filter((each) => each.key && each.name.trim() !== "").map((each) => each.name.trim());
  if (key.length > 0) made.key = key;
  made.fields = Object.fromEntries(rule.fields.filter((each) => each.name.trim() !== "").map((each) => [each.name.trim(), fieldOf(each)]));
  return made;
}

function fieldOf(field) {
  const made = { [field.kind]: field.selector.trim() };
  if (field.attr.trim() !== "") made.attr = field.attr.trim();
  if (field.regex.trim() !== "") made.regex = field.regex.trim();
  if (field.type !== "text") made.type = field.type;
  if (field.required) made.required = true;
  if (field.many) made.many = true;
  return made;
}

export function emptyField(name = "", selector = "") {
  return { name, kind: "css", selector, attr: "", regex: "", type: "text", required: false, many: false, key: false };
}

export function emptyRule() {
  return { type: "", builtin: "", match: "", each: "", fields: [emptyField()] };
}

/** Laid over each other as a JSON merge patch does it (RFC 7396). */
export function merged(base, over) {
  if (!isMap(over)) return base;
  const made = { ...base };
  for (const [name, value] of Object.entries(over)) {
    if (value === null) delete made[name];
    else made[name] = isMap(value) ? merged(isMap(made[name]) ? made[name] : {}, value) : value;
  }
  return made;
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function put(spec, name, values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  if (given.length > 0) spec[name] = Object.fromEntries(given);
}

function orNothing(list) {
  return list.length === 0 ? undefined : list;
}

function wholeNumber(text) {
  const trimmed = String(text).trim();
  if (trimmed === "") return undefined;
  return /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
}
