import { until } from "../harness/wait";
import type { Namespace } from "./kubectl";

/** Maximum milliseconds until a kubelet writes a changed Secret to the files of its pods. */
export const SECRET_SEEN_WITHIN_MS = 180_000;

/**
 * Calls `change`, and waits until every pod of the given processes, e.g. `core`, has logged `line` after the change.
 */
export async function untilLogged(
  namespace: Namespace,
  components: readonly string[],
  line: string,
  change: () => Promise<void>,
): Promise<void> {
  const selector = `app.kubernetes.io/instance=games,app.kubernetes.io/component in (${components.join(",")})`;
  const pods = await namespace.pods(selector);
  const counts = async () => {
    const logs = await Promise.all(pods.map(({ metadata }) => namespace.kubectl(["logs", metadata.name])));
    return logs.map((log) => log.split(line).length);
  };
  const earlier = await counts();
  await change();
  const haveLogged = async () => (await counts()).every((now, pod) => now > (earlier[pod] ?? 0));
  await until(`every pod logs: ${line}`, haveLogged, SECRET_SEEN_WITHIN_MS);
}
