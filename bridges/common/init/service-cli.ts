import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { placeOfService } from "./service-place";

/** The command `chat-bridge` of this checkout, with an operator's token. */
export interface ServiceCli {
  /** The address of core, to show to the user. */
  readonly core: string;
  /** The address at which bridges reach this service; undefined if it is not known. */
  readonly baseUrl: string | undefined;
  /** Creates a workspace, and resolves to its values. Rejects with the reason. */
  createWorkspace(name: string): Promise<{ readonly id: string; readonly secret: string }>;
}

/**
 * Resolves to the command if this checkout contains it, a token is available, and core accepts the token. Otherwise,
 * tells the user where it looked, and resolves to undefined.
 *
 * @param root the folder of the checkout
 */
export async function findServiceCli(
  root: string,
  environment: NodeJS.Dict<string>,
  tell: (line: string) => void,
): Promise<ServiceCli | undefined> {
  const [command, built] = [join(root, "cli/chat-bridge.mjs"), join(root, "dist/cli/main.js")];
  if (!existsSync(command) || !existsSync(built)) return undefined;
  const { core, baseUrl, tokenFile } = placeOfService(root, environment);
  const env = { ...environment, CORE_ADDRESS: core, ...(tokenFile && { CORE_TOKEN_FILE: tokenFile }) };
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
    const [reason] = (error as Error).message.split("\n");
    tell(
      `init found no service in which it can create a workspace: it tried core at ${core} with the token in ` +
        `${tokenFile ?? "CORE_TOKEN"} (${reason}). To name another service, set CORE_ADDRESS, CORE_TOKEN_FILE and BASE_URL.`,
    );
    return undefined;
  }
  return {
    core,
    baseUrl,
    async createWorkspace(name) {
      const made = (await run(["workspace", "create", name, "--show-secret"])) as {
        readonly workspace: { readonly id: string };
        readonly signingSecret: string;
      };
      return { id: made.workspace.id, secret: made.signingSecret };
    },
  };
}
