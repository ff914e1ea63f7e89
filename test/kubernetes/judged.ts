import { randomBytes } from "node:crypto";
import { stringify } from "yaml";
import { render, type Example } from "../harness/helm";
import type { Manifest } from "../harness/manifests";
import { kubectl, namespaceOf, type Namespace } from "./kubectl";

export type Judged = Awaited<ReturnType<typeof createJudged>>;

const SECURITY = ["enforce", "warn"].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
/**
 * Options for the strictest checks of an API server: unknown fields and warnings, e.g. about deprecated versions, count
 * as errors.
 */
const STRICT = ["--validate=strict", "--warnings-as-errors"];

/**
 * Creates a namespace with the strictest Pod Security Standard, and a PriorityClass. The tests do not need any pod in
 * this namespace to start. `destroy` removes both objects.
 */
export async function createJudged() {
  const name = `chat-bridge-test-${randomBytes(3).toString("hex")}`;
  await kubectl(["create", "namespace", name]);
  await kubectl(["label", "namespace", name, ...SECURITY]);
  await kubectl(["create", "priorityclass", name, "--value=1000", "--description=for a test"]);
  const chat = namespaceOf(name);
  return {
    chat,
    /** Name of the PriorityClass, which has the value 1000. */
    priorityClass: name,
    /**
     * Asks the API server whether it would accept the objects. Returns the server's answer; throws if the server
     * rejects an object or prints a warning.
     */
    dryRun: (objects: readonly Manifest[]) =>
      chat.kubectl(["create", "--dry-run=server", ...STRICT, "-f", "-"], asText(objects)),
    async apply(objects: readonly Manifest[]) {
      await chat.kubectl(["apply", ...STRICT, "-f", "-"], asText(objects));
    },
    async destroy() {
      await kubectl(["delete", "namespace", name, "--timeout=5m"]);
      await kubectl(["delete", "priorityclass", name]);
    },
  };
}

const asText = (objects: readonly Manifest[]): string =>
  objects.map((each) => stringify({ ...each })).join("---\n");

/**
 * Returns the objects that an example renders, as far as the cluster knows their API, and the kinds of all other
 * objects.
 */
export async function servedObjects(example: Example, options: readonly string[] = []) {
  const served = new Set((await kubectl(["api-versions"])).split("\n"));
  const all = await render(example, options);
  return {
    objects: all.filter(({ apiVersion }) => served.has(apiVersion)),
    missing: all.filter(({ apiVersion }) => !served.has(apiVersion)).map(({ kind }) => kind),
  };
}

/** Returns a namespace's objects of a kind, e.g. `hpa`. */
export async function listed<T>(
  namespace: Namespace,
  kind: string,
  ...args: string[]
): Promise<readonly T[]> {
  const text = await namespace.kubectl(["get", kind, ...args, "-o", "json"]);
  return (JSON.parse(text) as { items: T[] }).items;
}
