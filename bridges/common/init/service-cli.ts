import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** The command `chat-bridge` of this checkout, with an operator's token. */
export interface ServiceCli {
  /** The address of core, for the user. */
  readonly core: string;
  /** Resolves to the values of a new workspace. Rejects with the reason. */
  createWorkspace(name: string): Promise<{ readonly id: string; readonly secret: string }>;
}

const DEFAULT_CORE = "127.0.0.1:50051";

/**
 * Resolves to the command if this checkout contains it, a token is available, and core accepts the token. Otherwise,
 * resolves to undefined.
 *
 * @param root the folder of the checkout
 */
export async function findServiceCli(
  root: string,
  environment: NodeJS.Dict<string>,
  tell: (line: string) => void,
): Promise<ServiceCli | undefined> {
  const [command, built] = [join(root, "cli/chat-bridge.mjs"), join(root, "dist/cli/main.js")];
  const kept = join(root, ".data/settings.json");
  const isGiven = Boolean(environment["CORE_TOKEN"] || environment["CORE_TOKEN_FILE"]);
  if (!existsSync(command) || !existsSync(built) || !(isGiven || existsSync(kept))) return undefined;
  const env = isGiven ? environment : { ...environment, CORE_TOKEN_FILE: kept };
  const run = async (args: readonly string[]): Promise<unknown> => {
    const child = spawn(process.execPath, [command, ...args, "--json"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const exited = once(child, "close") as Promise<[number | null]>;
    const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
    if (code !== 0) throw new Error(errors.trim() || `chat-bridge exited with code ${code}`);
    return JSON.parse(out) as unknown;
  };
  try {
    await run(["workspace", "list", "--limit", "1"]);
  } catch (error) {
    // The service of `npm start` may be stopped, which is normal.
    if (isGiven) tell(`cannot create a workspace: ${(error as Error).message}`);
    return undefined;
  }
  return {
    core: environment["CORE_ADDRESS"] || DEFAULT_CORE,
    async createWorkspace(name) {
      const made = (await run(["workspace", "create", name, "--show-secret"])) as {
        readonly workspace: { readonly id: string };
        readonly signingSecret: string;
      };
      return { id: made.workspace.id, secret: made.signingSecret };
    },
  };
}
