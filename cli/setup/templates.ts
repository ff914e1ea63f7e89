import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE } from "./paths";

/** A replacement in a template. */
export type Change = readonly [from: string, to: string];

/**
 * Returns a template from `deploy/` with changes. Throws if the template does not contain a text that a change
 * replaces.
 */
export function filled(template: string, changes: readonly Change[]): string {
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${template} does not contain ${JSON.stringify(from)}`);
      return text.replaceAll(from, () => to);
    },
    readFileSync(join(PACKAGE, "deploy", template), "utf8"),
  );
}
