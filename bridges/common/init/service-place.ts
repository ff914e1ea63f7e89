import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Where `init` looks for the service. */
export interface ServicePlace {
  /** The address of core. */
  readonly core: string;
  /** The address for bridges; undefined if it is not known which address belongs to this core. */
  readonly baseUrl: string | undefined;
  /** The file with the operator's token; undefined if the token is a variable. */
  readonly tokenFile: string | undefined;
}

/** The default addresses of `npm start`. */
const DEFAULT_CORE = "127.0.0.1:50051";
const DEFAULT_BASE_URL = "http://127.0.0.1:8080";

/**
 * Returns where to look for the service, according to the environment variables. Without variables, returns the
 * addresses that the last `npm start` in the checkout `root` has stored in its data folder.
 */
export function placeOfService(root: string, environment: NodeJS.Dict<string>): ServicePlace {
  const { CORE_TOKEN: token, CORE_TOKEN_FILE: file, CORE_ADDRESS: address, DATA_DIR: data } = environment;
  const ofStart = resolve(root, data || ".data", "settings.json");
  const tokenFile = token ? undefined : file ? resolve(file) : ofStart;
  const kept = addressesIn(tokenFile ?? ofStart) ?? { core: DEFAULT_CORE, edge: DEFAULT_BASE_URL };
  const core = address || kept.core;
  return { core, baseUrl: core === kept.core ? kept.edge : undefined, tokenFile };
}

/** Returns the addresses that `npm start` has stored in a file; undefined if the file contains none. */
function addressesIn(file: string): { readonly core: string; readonly edge: string } | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const { addresses } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly addresses?: { readonly core?: unknown; readonly edge?: unknown };
    };
    const { core, edge } = addresses ?? {};
    return typeof core === "string" && typeof edge === "string" ? { core, edge } : undefined;
  } catch {
    // The file is not JSON: a token file can also contain only the token.
    return undefined;
  }
}
