import { UUID_FORM } from "../../contract/forms";

/** Returns the workspace id in lower case, or undefined when `text` is not a UUID. */
export function parseWorkspaceId(text: string): string | undefined {
  return UUID_FORM.test(text) ? text.toLowerCase() : undefined;
}
