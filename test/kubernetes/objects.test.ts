import { until } from "../harness/wait";
import { EXAMPLES, type Example } from "../harness/helm";
import { ofKind, type Labels, type Manifest } from "../harness/manifests";
import { createJudged, listed, servedObjects, type Judged } from "./judged";
import { kubectl, type PodObject } from "./kubectl";
import { describeInCluster } from "./settings";

const LONG_MS = 600_000;
const SEEN_WITHIN_MS = 180_000;
const INGRESS = [
  "gateway.enabled=false",
  "gateway.coreHostnames=null",
  "ingress.enabled=true",
  "ingress.edge.host=hooks.example",
  "ingress.dashboard.host=dashboard.example",
];
const COMPONENT = "app.kubernetes.io/component";

/** The pods that the Deployments of each example create. Autoscalers raise the number of pods to their minimum. */
const PODS: Readonly<Record<Example, readonly string[]>> = {
  single: ["core", "core", "dashboard", "edge", "edge"],
  sentinel: ["core", "core", "dashboard", "edge", "edge"],
  cluster: ["core", "core", "edge", "edge"],
  everything: ["core", "core", "dashboard", "dashboard", "edge", "edge", "edge"],
};

interface Policy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Labels };
    readonly ingress?: readonly Ingress[];
  };
}
interface Ingress {
  readonly from?: readonly {
    readonly podSelector?: { readonly matchLabels: Labels };
    readonly namespaceSelector?: object;
  }[];
}
interface Autoscaler {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly scaleTargetRef: { readonly name: string } };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly reason: string }[] };
}

const selectorOf = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
const componentsOf = (pods: readonly PodObject[]): readonly string[] =>
  pods.map(({ metadata }) => metadata.labels[COMPONENT] ?? "").toSorted();

describeInCluster.each(EXAMPLES)("with the values of the example %s,", (example) => {
  let judged: Judged;
  let objects: readonly Manifest[];
  beforeAll(async () => {
    judged = await createJudged();
    const priority = ["--set", `core.priorityClassName=${judged.priorityClass}`];
    const served = await servedObjects(example, example === "everything" ? priority : []);
    ({ objects } = served);
    if (served.missing.length > 0)
      process.stderr.write(
        `── skipped, because the cluster has no definition: ${served.missing.join(", ")}\n`,
      );
  }, LONG_MS);
  afterAll(() => judged.destroy(), LONG_MS);

  const pods = () => judged.chat.pods("app.kubernetes.io/instance=games");
  const components = (...names: readonly string[]) => PODS[example].filter((each) => names.includes(each));

  test(
    "the API server accepts each object without a warning, and admits all pods",
    async () => {
      const answers = (await judged.dryRun(objects)).trim().split("\n");
      expect(answers.filter((line) => line.endsWith(" created (server dry run)"))).toHaveLength(
        objects.length,
      );
      await judged.apply(objects);
      await until(
        "all pods exist",
        async () => String(componentsOf(await pods())) === String(PODS[example]),
        SEEN_WITHIN_MS,
      );
    },
    LONG_MS,
  );

  test(
    "each network policy, disruption budget and Service selects the right pods",
    async () => {
      const selected = async (labels: Labels) => componentsOf(await judged.chat.pods(selectorOf(labels)));
      const policies = await listed<Policy>(judged.chat, "networkpolicy");
      expect(policies.length).toBe(ofKind(objects, "NetworkPolicy").length);
      const callers: string[][] = [];
      for (const { metadata, spec } of policies) {
        const [component = ""] = /[^-]+$/.exec(metadata.name) ?? [];
        const expected = component === "deny" ? PODS[example] : components(component);
        expect([metadata.name, await selected(spec.podSelector.matchLabels)]).toEqual([
          metadata.name,
          expected,
        ]);
        if (component !== "core") continue;
        for (const { podSelector, namespaceSelector } of spec.ingress?.flatMap(({ from = [] }) => from) ?? [])
          if (podSelector && !namespaceSelector) callers.push([...(await selected(podSelector.matchLabels))]);
      }
      // Core's callers are edges, the dashboard and games, but this namespace contains no games.
      expect(callers.flat().toSorted()).toEqual(components("dashboard", "edge"));
      for (const { metadata, spec } of ofKind(objects, "PodDisruptionBudget")) {
        const [component = ""] = /[^-]+$/.exec(metadata.name) ?? [];
        expect(await selected(spec.selector.matchLabels)).toEqual(components(component));
      }
      for (const { metadata, spec } of ofKind(objects, "Service")) {
        const [, component] = /-(core|edge|dashboard)(?:-grpc)?$/.exec(metadata.name) ?? [];
        const expected = component === undefined ? PODS[example] : components(component);
        expect([metadata.name, await selected(spec.selector)]).toEqual([metadata.name, expected]);
      }
    },
    LONG_MS,
  );

  test(
    "each autoscaler can read and set the number of pods of its Deployment",
    async () => {
      const autoscalers = () => listed<Autoscaler>(judged.chat, "hpa");
      for (const { spec } of await autoscalers()) {
        const path = `/apis/apps/v1/namespaces/${judged.chat.name}/deployments/${spec.scaleTargetRef.name}/scale`;
        const scale = JSON.parse(await kubectl(["get", "--raw", path])) as { status: { selector: string } };
        expect(scale.status.selector).toContain("app.kubernetes.io/instance=games");
      }
      const canScale = ({ status }: Autoscaler) =>
        status?.conditions?.some(({ type, reason }) => type === "AbleToScale" && reason !== "FailedGetScale");
      await until("all can scale", async () => (await autoscalers()).every(canScale), SEEN_WITHIN_MS);
    },
    LONG_MS,
  );
});

describeInCluster("variants of the examples", () => {
  let judged: Judged;
  beforeAll(async () => {
    judged = await createJudged();
  }, LONG_MS);
  afterAll(() => judged.destroy(), LONG_MS);

  test(
    "the API server accepts the objects without a warning if an Ingress is enabled",
    async () => {
      const { objects } = await servedObjects("everything", ["--set", INGRESS.join(",")]);
      expect(ofKind(objects, "Ingress")).toHaveLength(2);
      expect((await judged.dryRun(objects)).trim().split("\n")).toHaveLength(objects.length);
    },
    LONG_MS,
  );

  test(
    "the API server admits the pods into a namespace with a ResourceQuota, if a LimitRange sets the missing limit",
    async () => {
      const hard = {
        "requests.cpu": "20",
        "limits.cpu": "40",
        "requests.memory": "20Gi",
        "limits.memory": "40Gi",
        pods: "20",
      };
      const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "quota" }, spec: { hard } };
      const limits = [{ type: "Container", default: { cpu: "2" } }];
      const range = { apiVersion: "v1", kind: "LimitRange", metadata: { name: "range" }, spec: { limits } };
      for (const each of [quota, range])
        await judged.chat.kubectl(["create", "-f", "-"], JSON.stringify(each));
      await judged.apply((await servedObjects("single")).objects);
      const names = async () => componentsOf(await judged.chat.pods("app.kubernetes.io/instance=games"));
      await until(
        "all pods exist",
        async () => String(await names()) === String(PODS.single),
        SEEN_WITHIN_MS,
      );
    },
    LONG_MS,
  );

  test(
    "the pods have the placement, the priority, the labels and the annotations from the values",
    async () => {
      const priority = [
        "--set",
        `core.priorityClassName=${judged.priorityClass}`,
        "--set",
        "fullnameOverride=placed",
      ];
      const { objects } = await servedObjects("everything", priority);
      await judged.apply(objects.filter(({ metadata }) => ["placed", "placed-core"].includes(metadata.name)));
      const found = () => judged.chat.pods(`${COMPONENT}=core,example.com/tier=inner`);
      const [pod] = await until(
        "the pod exists",
        async () => {
          const pods = await found();
          return pods.length > 0 && pods;
        },
        SEEN_WITHIN_MS,
      );
      expect(pod).toMatchObject({
        metadata: { annotations: { "example.com/reload": "true" } },
        spec: {
          priority: 1000,
          nodeSelector: { "kubernetes.io/os": "linux" },
          tolerations: expect.arrayContaining([
            { key: "games", operator: "Exists", effect: "NoSchedule" },
          ]) as unknown,
          affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } },
          topologySpreadConstraints: [{ maxSkew: 1 }, { maxSkew: 1 }],
        },
      });
    },
    LONG_MS,
  );
});
