import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The version and the commit that the programs in dist were built from. */
export const BUILD = JSON.parse(readFileSync(join(__dirname, "../../dist/build.json"), "utf8")) as Readonly<
  Record<"version" | "commit", string>
>;
