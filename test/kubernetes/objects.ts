import { until } from "../harness/wait";
import { kubectl, type Namespace } from "./kubectl";

/** Matches the kinds of objects that the cluster creates and removes by itself, e.g. events. */
const OF_THE_CLUSTER = /^(events|endpoints|pods\.metrics|leases|podmetrics|controllerrevisions)(\.|$)/;
const GONE_WITHIN_MS = 120_000;

/**
 * Waits until no object in a namespace is being deleted. Returns the sorted kinds and names of all objects, except the
 * objects of the tests.
 */
export async function objectsIn(namespace: Namespace): Promise<readonly string[]> {
  const resources = await kubectl(["api-resources", "--namespaced", "--verbs=list", "-o", "name"]);
  const kinds = resources.split("\n").filter((kind) => kind !== "" && !OF_THE_CLUSTER.test(kind));
  return until(
    "no object is being deleted",
    async () => {
      const text = await namespace.kubectl(["get", kinds.join(","), "-o", "json"]);
      const { items } = JSON.parse(text) as { items: readonly ClusterObject[] };
      if (items.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return undefined;
      return items
        .filter(({ metadata }) => metadata.labels?.["chat-bridge-test"] === undefined)
        .filter(({ metadata }) => !isOfTheTests(metadata))
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
        .toSorted();
    },
    GONE_WITHIN_MS,
  );
}

interface ClusterObject {
  readonly kind: string;
  readonly metadata: ObjectMetadata;
}

interface ObjectMetadata {
  readonly name: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Compares names, because older releases of Kubernetes do not copy the labels of a Service to its EndpointSlices. */
const isOfTheTests = ({ name }: ObjectMetadata): boolean => /^(bridge|game)(-|$)/.test(name);
