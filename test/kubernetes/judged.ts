import { randomBytes } from "node:crypto";
import { stringify } from "yaml";
import { render, type Example } from "../harness/helm";
import type { Manifest } from "../harness/manifests";
import { kubectl, namespaceOf, type Namespace } from "./kubectl";

export type Judged = Awaited<ReturnType<typeof createJudged>>;

const SECURITY = ["enforce", "warn"].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
/** The strictest checks of an API server: unknown fields are errors, and so are warnings, e.g. of deprecated versions. */
const STRICT = ["--validate=strict", "--warnings-as-errors"];

/**
 * Creates a namespace with the strictest rules for the security of pods, and a PriorityClass. No pod in it needs to
 * start. `destroy` removes both.
 */
export async function createJudged() {
  const name = `chat-bridge-test-${randomBytes(3).toString("hex")}`;
  await kubectl(["create", "namespace", name]);
  await kubectl(["label", "namespace", name, ...SECURITY]);
  await kubectl(["create", "priorityclass", name, "--value=1000", "--description=for a test"]);
  const chat = namespaceOf(name);
  return {
    chat,
    /** Name of the PriorityClass, whose value is 1000. */
    priorityClass: name,
    /** Asks the API server whether it would accept the objects. Returns its answer, and throws if it warns. */
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

/** Returns the objects of an example whose kinds the cluster serves, and the kinds that it does not serve. */
export async function servedObjects(example: Example, options: readonly string[] = []) {
  const served = new Set((await kubectl(["api-versions"])).split("\n"));
  const all = await render(example, options);
  return {
    objects: all.filter(({ apiVersion }) => served.has(apiVersion)),
    missing: all.filter(({ apiVersion }) => !served.has(apiVersion)).map(({ kind }) => kind),
  };
}

/** Returns the objects of a kind, e.g. `hpa`. */
export async function listed<T>(
  namespace: Namespace,
  kind: string,
  ...args: string[]
): Promise<readonly T[]> {
  const text = await namespace.kubectl(["get", kind, ...args, "-o", "json"]);
  return (JSON.parse(text) as { items: T[] }).items;
}
