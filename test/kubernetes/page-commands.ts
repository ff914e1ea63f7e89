import { docBlocks } from "../harness/doc-blocks";
import { installHelm } from "../programs/go";
import { dirname } from "node:path";
import { runProgram, type Output } from "./kubectl";

// Runs the commands and uses the values of docs/kubernetes.md, but with other namespaces and other files.

const PAGE = "docs/kubernetes.md";

/** The namespaces that replace the namespaces in docs/kubernetes.md. */
export interface Places {
  /** Replaces the namespace `chat`. */
  readonly namespace: string;
  /** Replaces the namespace `data`. */
  readonly dataNamespace: string;
}

/** Returns the page's only code block in a language that contains the text `part`. */
function blockWith(language: string, part: string): string {
  const found = docBlocks(PAGE, language).filter((block) => block.includes(part));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(`${PAGE} has ${found.length} blocks of ${language} with "${part}"`);
  return block;
}

const placed = (text: string, { namespace, dataNamespace }: Places): string =>
  text
    .replaceAll(/((?:-n|namespace) )chat\b/g, `$1${namespace}`)
    .replaceAll("redis.data.svc", `redis.${dataNamespace}.svc`)
    .replaceAll("kubernetes.io/metadata.name: data", `kubernetes.io/metadata.name: ${dataNamespace}`);

/** Runs commands in a shell with Helm on the PATH. */
async function runShell(commands: string): Promise<Output> {
  const helm = dirname(await installHelm());
  const env = { PATH: `${helm}:${process.env["PATH"] ?? ""}` };
  return runProgram("sh", ["-euc", commands], { env });
}

async function mustRun(commands: string): Promise<string> {
  const { code, stdout, stderr } = await runShell(commands);
  if (code !== 0) throw new Error(`${commands}\n${stdout}${stderr}`);
  return stdout;
}

/** Creates the namespace and the secrets with the commands of docs/kubernetes.md. */
export const createSecrets = (places: Places): Promise<string> =>
  mustRun(placed(blockWith("sh", "kubectl create namespace chat"), places));

/** Returns the smallest example of values in docs/kubernetes.md, as YAML. */
export const smallestValues = (places: Places): string =>
  placed(blockWith("yaml", "registry.example/chat-bridge"), places);

/** Runs the command of docs/kubernetes.md that installs or upgrades the chart, with additional options. */
export function runPageHelm(
  command: "install" | "upgrade",
  places: Places,
  valuesFile: string,
  options: readonly string[],
): Promise<Output> {
  const line = placed(blockWith("sh", `helm ${command} games`), places).trim();
  return runShell(`${line.replace("my-values.yaml", valuesFile)} ${options.join(" ")}`);
}

/** Runs another command of Helm. Throws if the command fails. */
export const helmIn = (namespace: string, command: string): Promise<string> =>
  mustRun(`helm --namespace ${namespace} ${command}`);
