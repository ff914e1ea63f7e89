const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The workspace id that `text` names in any letter case, or undefined when it is no uuid. */
export function parseWorkspaceId(text: string): string | undefined {
  return UUID_FORM.test(text) ? text.toLowerCase() : undefined;
}
