import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { ROOT } from "../harness/compose-file";

export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program in the root of the repository. Resolves even if the program fails. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { input = "", env = {} }: RunOptions = {},
): Promise<Output> {
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...env } });
  child.stdin.on("error", () => undefined).end(input);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [stdout, stderr, code] = await Promise.all([buffer(child.stdout), buffer(child.stderr), exited]);
  return { code, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** Runs kubectl. Returns its standard output; throws an error with its standard error if kubectl fails. */
export async function kubectl(args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram("kubectl", args, input === undefined ? {} : { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A pod, with the fields that the tests read. */
export interface PodObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly restartCount: number;
  readonly state: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
  readonly lastState: { readonly terminated?: { readonly exitCode: number } };
}

/** Functions that run kubectl in one namespace. */
export interface Namespace {
  readonly name: string;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Applies a file from manifests/, after each `${name}` in the file was replaced by the value of `name`. */
  apply(file: string, values: Readonly<Record<string, string>>): Promise<void>;
  /** Creates or replaces a Secret. */
  secret(name: string, entries: Readonly<Record<string, string | Buffer>>): Promise<void>;
  /** Returns the value of a key in a Secret. */
  secretEntry(name: string, key: string): Promise<string>;
  pods(selector: string): Promise<readonly PodObject[]>;
  /** Waits until all pods of a Deployment or StatefulSet are ready and belong to its newest revision. */
  rolledOut(name: string): Promise<void>;
}

export const MANIFESTS = join(__dirname, "manifests");
const ROLLOUT_WITHIN = "--timeout=10m";

export function namespaceOf(name: string): Namespace {
  const inNamespace = (args: readonly string[], input?: string) => kubectl(["-n", name, ...args], input);
  return {
    name,
    kubectl: inNamespace,
    async apply(file, values) {
      await inNamespace(["apply", "-f", "-"], filled(file, values));
    },
    async secret(secretName, entries) {
      const data = Object.entries(entries).map(([key, value]) => [
        key,
        Buffer.from(value).toString("base64"),
      ]);
      const metadata = { name: secretName, labels: { "chat-bridge-test": "true" } };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data: Object.fromEntries(data) as object };
      await inNamespace(["apply", "-f", "-"], JSON.stringify(secret));
    },
    async secretEntry(secretName, key) {
      const { data } = JSON.parse(await inNamespace(["get", "secret", secretName, "-o", "json"])) as {
        data: Record<string, string>;
      };
      const value = data[key];
      if (value === undefined) throw new Error(`the Secret ${secretName} has no key ${key}`);
      return Buffer.from(value, "base64").toString();
    },
    async pods(selector) {
      const text = await inNamespace(["get", "pods", "-l", selector, "-o", "json"]);
      return (JSON.parse(text) as { items: PodObject[] }).items;
    },
    async rolledOut(workload) {
      await inNamespace(["rollout", "status", workload, ROLLOUT_WITHIN]);
    },
  };
}

/**
 * Returns the text of a file from manifests/, with all placeholders replaced by their values. Throws if a value is
 * missing.
 */
function filled(file: string, values: Readonly<Record<string, string>>): string {
  return readFileSync(join(MANIFESTS, file), "utf8").replaceAll(/\$\{(\w+)\}/g, (_all, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${file} needs a value for ${name}`);
    return value;
  });
}
