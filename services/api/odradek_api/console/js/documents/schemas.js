/** JSON schemas in words. Pure. */

const LIMITS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"];

/** "list of Seed", "string or null", "fetched | failed". */
export function kindOf(schema) {
  const either = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(String).join(" | ");
  if (either !== undefined) return [...new Set(either.map(kindOf))].join(" or ");
  if (schema.type === "array") return `list of ${kindOf(schema.items ?? {})}`;
  const values = schema.additionalProperties;
  if (schema.type === "object" && typeof values === "object") return `map of ${kindOf(values)}`;
  return schema.type ?? "anything";
}

/** What a value must keep to and what it is when it is not given: "minimum 1, default 100". */
export function limitsOf(schema) {
  const limits = [schema, ...(schema.anyOf ?? [])].flatMap((each) =>
    LIMITS.filter((name) => each[name] !== undefined).map((name) => `${name} ${each[name]}`));
  const given = schema.default === undefined || schema.default === null ? [] : [`default ${JSON.stringify(schema.default)}`];
  return [...limits, ...given].join(", ");
}

/** Names of the models a schema leads to, each once. */
export function modelsOf(schema) {
  if (schema.$ref !== undefined) return [nameOf(schema.$ref)];
  const within = [schema.anyOf, schema.oneOf, schema.allOf, schema.items, schema.additionalProperties].flat();
  return [...new Set(within.filter((each) => typeof each === "object" && each !== null).flatMap(modelsOf))];
}

/** [{tag, routes: [{method, path, operation}]}] of an OpenAPI document, in its order. */
export function routesByTag(paths) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? "others";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({ method: method.toUpperCase(), path, operation });
    }
  }
  return [...groups].map(([tag, routes]) => ({ tag, routes }));
}

function nameOf(reference) {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
