import { kubectl, runProgram, type Namespace, type Output, type PodObject } from "./kubectl";

/** Asks the API server to evict a pod, as `kubectl drain` does. */
export function evict({ name: namespace }: Namespace, { metadata: { name } }: PodObject): Promise<Output> {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  return runProgram("kubectl", ["create", "--raw", path, "-f", "-"], { input: JSON.stringify(eviction) });
}

/** Cordons the nodes of the given pods, so that no new pod is scheduled there, and uncordons them after `use`. */
export async function whileCordoned(pods: readonly PodObject[], use: () => Promise<void>): Promise<void> {
  const nodes = [...new Set(pods.map(({ spec }) => spec.nodeName))];
  await kubectl(["cordon", ...nodes]);
  try {
    await use();
  } finally {
    await kubectl(["uncordon", ...nodes]);
  }
}
