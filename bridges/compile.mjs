// Compiles a bridge of this checkout, and the packages that the bridge uses.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/**
 * Compiles a bridge. Returns whether the compilation succeeded; prints the reason for a failure to stderr.
 *
 * @param {string} name the name of the bridge's package
 */
export function compileBridge(name) {
  const root = new URL("..", import.meta.url);
  if (!existsSync(new URL("node_modules/typescript", root))) {
    process.stderr.write(
      `the packages of ${name} are not installed: run \`npm ci\` in the root of the repository first\n`,
    );
    return false;
  }
  process.stderr.write(`compiling ${name}, which takes up to a minute\n`);
  const workspaces = ["chat-bridge-kit", "chat-bridge-runner", name].flatMap((each) => ["-w", each]);
  // The compiler prints errors to stdout, but stdout is reserved for the bridge's log.
  const stdio = ["ignore", process.stderr, process.stderr];
  const { status } = spawnSync("npm", ["run", "--silent", "build", ...workspaces], { cwd: root, stdio });
  return status === 0;
}
