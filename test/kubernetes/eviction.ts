import { kubectl, runProgram, type Namespace, type Output, type PodObject } from "./kubectl";

/** Asks the API server to evict a pod, as a drain of its node does. */
export function evict({ name: namespace }: Namespace, { metadata: { name } }: PodObject): Promise<Output> {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  return runProgram("kubectl", ["create", "--raw", path, "-f", "-"], { input: JSON.stringify(eviction) });
}

/** Calls `use` while the nodes of some pods accept no further pods. */
export async function whileCordoned(pods: readonly PodObject[], use: () => Promise<void>): Promise<void> {
  const nodes = [...new Set(pods.map(({ spec }) => spec.nodeName))];
  await kubectl(["cordon", ...nodes]);
  try {
    await use();
  } finally {
    await kubectl(["uncordon", ...nodes]);
  }
}
