import ipaddr from "ipaddr.js";
import { whyNotPublic } from "../../runtime/public-address";
import { EXAMPLES, render, type Example } from "../harness/helm";
import { matches, ofKind, one, type Manifest, type Peer, type Rule } from "../harness/manifests";

const rendered = new Map<Example, readonly Manifest[]>();
beforeAll(async () => {
  for (const example of EXAMPLES) rendered.set(example, await render(example));
}, 900_000);

type Labels = Readonly<Record<string, string>>;
/**
 * One end of a connection: a pod, or an address outside the cluster. A pod without a `namespace` is in the chart's
 * namespace.
 */
type End = { readonly labels: Labels; readonly namespace?: string } | { readonly address: string };

const of = (example: Example): readonly Manifest[] => rendered.get(example) ?? [];
const pod = (example: Example, component: string): End => ({
  labels: one(of(example), "Deployment", component).spec.template.metadata.labels,
});
const inNamespace = (namespace: string, labels: Labels = {}): End => ({ labels, namespace });
const GAME: End = { labels: { "chat-bridge/calls-core": "true" } };
const STRANGER: End = { labels: { app: "stranger" } };

function isIn(address: string, cidr: string): boolean {
  const [parsed, [network, bits]] = [ipaddr.parse(address), ipaddr.parseCIDR(cidr)];
  return parsed.kind() === network.kind() && parsed.match([network, bits]);
}

function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, end: End): boolean {
  if ("address" in end) {
    if (ipBlock === undefined || !isIn(end.address, ipBlock.cidr)) return false;
    return !(ipBlock.except ?? []).some((cidr) => isIn(end.address, cidr));
  }
  if (ipBlock !== undefined) return false;
  const { namespace } = end;
  const namespaceLabels: Labels = { "kubernetes.io/metadata.name": namespace ?? "chat" };
  const isNear = namespaceSelector
    ? matches(namespaceSelector.matchLabels, namespaceLabels)
    : namespace === undefined;
  return isNear && matches(podSelector?.matchLabels ?? {}, end.labels);
}

const isAllowed = (rules: readonly Rule[] | undefined, end: End, port: number, protocol = "TCP"): boolean =>
  (rules ?? []).some((rule) => {
    const hasPort = rule.ports.some(
      (each) => each.protocol === protocol && (each.port === undefined || each.port === port),
    );
    return hasPort && (rule.from ?? rule.to ?? []).some((peer) => isPeer(peer, end));
  });

/**
 * Returns the rules of all policies that select a pod. Throws if no policy selects the pod, because Kubernetes would
 * then allow all connections.
 */
function rulesFor(
  manifests: readonly Manifest[],
  end: End,
  direction: "ingress" | "egress",
): readonly Rule[] {
  const labels = "labels" in end ? end.labels : {};
  const policies = ofKind(manifests, "NetworkPolicy").filter(({ spec }) =>
    matches(spec.podSelector.matchLabels, labels),
  );
  const type = direction === "ingress" ? "Ingress" : "Egress";
  const selecting = policies.filter(({ spec }) => spec.policyTypes.includes(type));
  if (selecting.length === 0) throw new Error("no policy selects the pod");
  return selecting.flatMap(({ spec }) => spec[direction] ?? []);
}

const reaches = (example: Example, component: string, to: End, port: number, protocol?: string): boolean =>
  isAllowed(rulesFor(of(example), pod(example, component), "egress"), to, port, protocol);
const isReachedBy = (example: Example, component: string, from: End, port: number): boolean =>
  isAllowed(rulesFor(of(example), pod(example, component), "ingress"), from, port);

/** The Redis servers in each example, as address and port. */
const REDIS: Readonly<Record<Example, readonly (readonly [End, number])[]>> = {
  single: [[inNamespace("data", { "app.kubernetes.io/name": "redis" }), 6379]],
  sentinel: [
    [{ address: "10.20.0.11" }, 26379],
    [{ address: "10.20.0.21" }, 6379],
  ],
  cluster: [
    [{ address: "10.30.0.1" }, 6379],
    [{ address: "10.30.0.9" }, 6380],
  ],
  everything: [[{ address: "10.30.0.3" }, 6379]],
};
const CALLERS = ["edge", "dashboard"];

describe.each(EXAMPLES)("with the values of the example %s,", (example) => {
  const callers = CALLERS.filter((each) => example !== "cluster" || each !== "dashboard");

  test("core can connect to Redis, but edges and the dashboard cannot", () => {
    for (const [server, port] of REDIS[example]) {
      expect(reaches(example, "core", server, port)).toBe(true);
      for (const each of callers) expect(reaches(example, each, server, port)).toBe(false);
    }
  });

  test("edges, the dashboard and games can connect to core, but other pods cannot", () => {
    for (const each of callers) {
      expect(reaches(example, each, pod(example, "core"), 50051)).toBe(true);
      expect(isReachedBy(example, "core", pod(example, each), 50051)).toBe(true);
    }
    expect(isReachedBy(example, "core", GAME, 50051)).toBe(true);
    expect(isReachedBy(example, "core", STRANGER, 50051)).toBe(false);
    expect(
      isReachedBy(example, "core", inNamespace("other", { "chat-bridge/calls-core": "true" }), 50051),
    ).toBe(false);
  });

  test("edges and the dashboard can connect only to core and to name servers", () => {
    const dns = inNamespace("kube-system", { "k8s-app": "kube-dns" });
    for (const each of callers) {
      expect(reaches(example, each, dns, 53, "UDP")).toBe(true);
      for (const port of [80, 443, 6379, 8081]) {
        expect(reaches(example, each, { address: "93.184.215.14" }, port)).toBe(false);
        expect(reaches(example, each, pod(example, "core"), port)).toBe(false);
        expect(reaches(example, each, STRANGER, port)).toBe(false);
      }
    }
  });

  test("core can send pushes only to public addresses", () => {
    const isPushed = (address: string) => reaches(example, "core", { address }, 443);
    expect(isPushed("93.184.215.14")).toBe(true);
    expect(isPushed("2606:2800:21f:cb07:6820:80da:af6b:8b2c")).toBe(true);
    const internal = [
      "0.0.0.1 10.0.0.1 100.64.0.1 127.0.0.1 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.254 192.0.0.192",
      "192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 ::1 fd00:ec2::254 fe80::1 ::ffff:10.0.0.1 64:ff9b::a00:1",
    ].flatMap((line) => line.split(" "));
    for (const address of internal) {
      expect(whyNotPublic(address)).toBeDefined();
      expect({ address, isPushed: isPushed(address) }).toEqual({ address, isPushed: false });
    }
  });

  test("only the monitoring pods can connect to the listener for metrics", () => {
    for (const each of ["core", ...callers]) {
      expect(isReachedBy(example, each, inNamespace("monitoring"), 8081)).toBe(true);
      expect(isReachedBy(example, each, STRANGER, 8081)).toBe(false);
      expect(isReachedBy(example, each, inNamespace("monitoring"), 8080)).toBe(false);
    }
  });

  test("the policy that denies all connections selects every pod of the release", () => {
    const deny = one(of(example), "NetworkPolicy", "default-deny").spec;
    expect(deny).toMatchObject({ policyTypes: ["Ingress", "Egress"] });
    expect([deny.ingress, deny.egress]).toEqual([undefined, undefined]);
    for (const each of ofKind(of(example), "Deployment")) {
      expect(matches(deny.podSelector.matchLabels, each.spec.template.metadata.labels)).toBe(true);
    }
  });
});

test("the job of core.migrateTo can connect only to Redis and name servers, and its policy is created before the job", async () => {
  const manifests = await render("cluster", ["--set", "core.migrateTo=2"]);
  const job = one(manifests, "Job", "migrate");
  const migrate: End = { labels: job.spec.template.metadata.labels };
  const egress = rulesFor(manifests, migrate, "egress");
  for (const [server, port] of REDIS.cluster) expect(isAllowed(egress, server, port)).toBe(true);
  expect(isAllowed(egress, inNamespace("kube-system", { "k8s-app": "kube-dns" }), 53, "UDP")).toBe(true);
  expect(isAllowed(egress, pod("cluster", "core"), 50051)).toBe(false);
  expect(isAllowed(egress, { address: "8.8.8.8" }, 443)).toBe(false);
  expect(rulesFor(manifests, migrate, "ingress")).toEqual([]);
  const weightOf = ({ metadata }: Manifest) => Number(metadata.annotations?.["helm.sh/hook-weight"] ?? 0);
  const policy = one(manifests, "NetworkPolicy", "migrate");
  expect(policy.metadata).toMatchObject({ annotations: { "helm.sh/hook": "pre-upgrade" } });
  expect(weightOf(policy)).toBeLessThan(weightOf(job));
});

test("only the proxy can connect to edges and the dashboard; it can connect to core only if games outside the cluster are allowed", () => {
  const proxy = inNamespace("traefik");
  expect(isReachedBy("sentinel", "edge", proxy, 8080)).toBe(true);
  expect(isReachedBy("sentinel", "dashboard", proxy, 8082)).toBe(true);
  expect(isReachedBy("sentinel", "core", proxy, 50051)).toBe(false);
  expect(isReachedBy("everything", "core", inNamespace("gateways"), 50051)).toBe(true);
  for (const from of [STRANGER, GAME, inNamespace("other")]) {
    expect(isReachedBy("sentinel", "edge", from, 8080)).toBe(false);
  }
  expect(isReachedBy("single", "edge", proxy, 8080)).toBe(false);
});

test("core can send pushes to the networks in PUSH_ALLOW, but only to the ports that the values list", () => {
  expect(reaches("everything", "core", { address: "10.40.0.7" }, 443)).toBe(true);
  expect(reaches("everything", "core", { address: "10.41.0.5" }, 8443)).toBe(true);
  expect(reaches("everything", "core", { address: "10.41.0.6" }, 443)).toBe(false);
  expect(reaches("everything", "core", { address: "93.184.215.14" }, 9000)).toBe(false);
  expect(reaches("single", "core", { address: "93.184.215.14" }, 9000)).toBe(true);
});

test("core can connect to a mail server only if SMTP is configured", () => {
  expect(reaches("everything", "core", { address: "93.184.215.14" }, 587)).toBe(true);
  const [peers] = rulesFor(of("sentinel"), pod("sentinel", "core"), "egress").filter(({ ports }) =>
    ports.some(({ port }) => port === 587),
  );
  expect(peers).toBeUndefined();
});
