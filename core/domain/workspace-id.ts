const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the workspace id in lower case, or undefined when `text` is not a UUID. */
export function parseWorkspaceId(text: string): string | undefined {
  return UUID_FORM.test(text) ? text.toLowerCase() : undefined;
}
