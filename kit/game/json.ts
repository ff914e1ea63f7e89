/** A value that JSON can express. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** Maximum number of levels of a value. A deeper value usually contains itself. */
const LEVELS_MAX = 100;

/**
 * Copies a value that JSON can express. Properties that are undefined are left out. Objects of the copy have no prototype, so
 * `state[channel]` is undefined for a new channel, even if its id is `constructor`.
 *
 * @param path the name of the value in an error, e.g. `state`
 * @throws TypeError for a value that JSON would lose or change, e.g. a Map, a Date or NaN
 */
export function copyJson(value: unknown, path: string, levels = LEVELS_MAX): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "object" && levels > 0) {
    if (Array.isArray(value)) return value.map((item, i) => copyJson(item, `${path}[${i}]`, levels - 1));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return copyFields(value, path, levels);
  }
  throw new TypeError(
    `${path} is ${nameOf(value, levels)}, which JSON cannot express: use plain objects, arrays and texts`,
  );
}

function copyFields(value: object, path: string, levels: number): Json {
  const copy: Record<string, Json> = Object.create(null) as Record<string, Json>;
  for (const [key, field] of Object.entries(value)) {
    if (field !== undefined) copy[key] = copyJson(field, `${path}.${key}`, levels - 1);
  }
  return copy;
}

function nameOf(value: unknown, levels: number): string {
  if (typeof value === "object" && value !== null) {
    return levels > 0
      ? `a ${(value.constructor as { name?: string } | undefined)?.name ?? "class"}`
      : "nested too deeply";
  }
  return typeof value === "number" ? String(value) : `of type ${typeof value}`;
}
