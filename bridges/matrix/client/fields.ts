/** The fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns the elements of a list that are strings. */
export function textsOf(list: unknown): readonly string[] {
  return listOf(list).filter((each) => typeof each === "string");
}

/** Returns the fields of an object; none for other values. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Whether a JSON value is an object, but not an array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the elements of a list; none for other values. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
