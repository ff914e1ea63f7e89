import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { askApi, signIn } from "../harness/dashboard";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";
import { bridgeIn, printFigures, type Account } from "./bridge-pod";
import { kubectl, namespaceOf, type Namespace, type PodObject } from "./kubectl";
import { createSecrets, helmIn, runPageHelm, smallestValues, type Places } from "./page-commands";
import { forwardPort } from "./port-forward";
import {
  IMAGE,
  imageValues,
  MIN_READY_SECONDS,
  NEXT_IMAGE,
  PULL_POLICY,
  REDIS_IMAGE,
  REQUESTS_PER_SECOND,
} from "./settings";

export type Installation = Awaited<ReturnType<typeof createInstallation>>;
/** Values of the chart, as in a values file. */
export type Values = Readonly<Record<string, unknown>>;

export const CORE = "games-chat-bridge-core";
export const EDGE = "games-chat-bridge-edge";
export const DASHBOARD = "games-chat-bridge-dashboard";
export const PROCESSES = [CORE, EDGE, DASHBOARD] as const;
const READY_WITHIN = "--wait --timeout 10m";
const GONE_WITHIN = "--timeout=5m";
/** Image and pull policy of the pods that are not part of the chart. */
const OURS = { image: IMAGE, pullPolicy: PULL_POLICY };

/** Returns a selector that matches the pods of a process, e.g. `core`. */
export const podsOf = (component: string): string =>
  `app.kubernetes.io/instance=games,app.kubernetes.io/component=${component}`;

/**
 * Creates two namespaces, one of which is for Redis, and the secrets that docs/kubernetes.md describes. `destroy`
 * removes the namespaces.
 */
export async function createInstallation(folder: string) {
  const name = `chat-bridge-test-${randomBytes(3).toString("hex")}`;
  const places: Places = { namespace: name, dataNamespace: `${name}-data` };
  const chat = namespaceOf(places.namespace);
  const data = namespaceOf(places.dataNamespace);
  const ca = createTestCa();
  await createSecrets(places);
  await kubectl(["create", "namespace", data.name]);
  const passwords = {
    password: await chat.secretEntry("redis-password", "password"),
    "sentinel-password": await chat.secretEntry("redis-password", "sentinel-password"),
  };
  await data.secret("redis-password", passwords);
  await chat.kubectl(["create", "configmap", "programs", `--from-file=${join(__dirname, "programs")}`]);
  const bridge = await prepareBridge(chat, ca);
  writeFileSync(join(folder, "my-values.yaml"), smallestValues(places));

  return {
    chat,
    data,
    ca,
    passwords,
    bridge: bridgeIn(chat),
    /** Starts one Redis server in the namespace for data. */
    async startRedis(redis: string, manifest = "redis.yaml") {
      await data.apply(manifest, { name: redis, image: REDIS_IMAGE, pullPolicy: PULL_POLICY });
      await data.rolledOut(`statefulset/${redis}`);
    },
    /**
     * Runs the Helm command of docs/kubernetes.md with the values of that page, the values of the tests, and `values`.
     */
    helm(command: "install" | "upgrade", values: Values, image = IMAGE, options = READY_WITHIN) {
      const files = [testValues(image, bridge.address), values].map((each, number) => {
        const file = join(folder, `values-${number}.yaml`);
        writeFileSync(file, stringify(each));
        return `--values ${file}`;
      });
      return runPageHelm(command, places, join(folder, "my-values.yaml"), [...files, options]);
    },
    helmCommand: (command: string) => helmIn(chat.name, command),
    async destroy() {
      ca.close();
      await kubectl(["delete", "namespace", chat.name, data.name, GONE_WITHIN]);
    },
  };
}

/** Creates the Service and the certificate of the bridge. Returns the address of the Service. */
async function prepareBridge(chat: Namespace, ca: ReturnType<typeof createTestCa>) {
  await chat.apply("bridge-service.yaml", {});
  const { cert, key } = ca.issue([bridgeHost(chat)]);
  await chat.secret("bridge-tls", { "tls.crt": cert, "tls.key": key });
  await chat.secret("push-ca", { "ca.crt": ca.cert });
  return { address: await chat.kubectl(["get", "service", "bridge", "-o", "jsonpath={.spec.clusterIP}"]) };
}

const bridgeHost = (chat: Namespace): string => `bridge.${chat.name}.svc.cluster.local`;

/**
 * Returns the chart's values that all tests need: the image, small resource requests, and permission to push to the
 * bridge's pod.
 */
function testValues(image: string, bridgeAddress: string): Values {
  const requests = { cpu: "50m", memory: "128Mi" };
  const bridge = { podSelector: { matchLabels: { "app.kubernetes.io/name": "bridge" } } };
  // This annotation changes the pods' templates even if both images are the same, so that an upgrade always replaces
  // the pods.
  const podAnnotations = { "chat-bridge-test/image": image === IMAGE ? "first" : "next" };
  return {
    image: { ...imageValues(image), pullPolicy: PULL_POLICY },
    core: {
      resources: { requests },
      minReadySeconds: MIN_READY_SECONDS,
      settings: { PUSH_ALLOW: `${bridgeAddress}/32` },
      pushCa: { secret: "push-ca" },
      podAnnotations,
    },
    edge: { resources: { requests }, podAnnotations },
    dashboard: { resources: { requests }, podAnnotations },
    networkPolicy: {
      proxies: [bridge],
      // Some network plugins apply policies after they have replaced the Service's address by the pod's, so core also
      // needs access to the pod.
      coreExtraEgress: [{ to: [bridge], ports: [{ protocol: "TCP", port: 8443 }] }],
    },
  };
}

/** Installs the chart. Throws Helm's message if the command fails. */
export async function install(
  installation: Installation,
  values: Values = {},
  options = READY_WITHIN,
): Promise<string> {
  const { code, stdout, stderr } = await installation.helm("install", values, IMAGE, options);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** Upgrades the release, and waits until all its pods run. Throws Helm's message if the command fails. */
export async function upgrade(installation: Installation, values: Values = {}, image = NEXT_IMAGE) {
  const { code, stderr } = await installation.helm("upgrade", values, image);
  if (code !== 0) throw new Error(stderr);
  await untilRolledOut(installation);
}

/** Waits until all pods of all processes are ready and belong to the newest revision, and no old pod is left. */
export async function untilRolledOut({ chat }: Installation): Promise<void> {
  for (const each of PROCESSES) await chat.rolledOut(`deployment/${each}`);
  await until(
    "no pod is being deleted",
    async () =>
      (await chat.pods("app.kubernetes.io/instance=games")).every((pod) => !pod.metadata.deletionTimestamp),
    120_000,
  );
}

/** Returns the token that `CORE_TOKENS` contains for a role, e.g. for `operator:admin`. */
export async function tokenOf({ chat }: Installation, role: string): Promise<string> {
  const entries = (await chat.secretEntry("chat-bridge-core", "CORE_TOKENS")).split(",");
  const [, token] = entries.map((each) => each.split("=")).find(([name]) => name === role) ?? [];
  if (token === undefined) throw new Error(`CORE_TOKENS has no token of ${role}`);
  return token;
}

/** Calls `use` with the URL of the dashboard and the cookie of an operator who has signed in. */
export async function withDashboard<T>(
  { chat }: Installation,
  token: string,
  use: (url: string, cookie: string) => Promise<T>,
): Promise<T> {
  const forward = await forwardPort(chat.name, DASHBOARD, 80);
  try {
    return await use(forward.url, await signIn(forward.url, token));
  } finally {
    await forward.close();
  }
}

const PLACES = ["poll", "poll", "poll", "push"] as const;

/** Creates three poll workspaces and one push workspace through the dashboard's API, and starts their bridge. */
export async function startBridge(installation: Installation): Promise<void> {
  const { chat } = installation;
  const token = await tokenOf(installation, "operator:admin");
  const made = await withDashboard(installation, token, async (url, cookie) => {
    const all: object[] = [];
    for (const [number, mode] of PLACES.entries()) {
      const targetUrl = mode === "push" ? `https://${bridgeHost(chat)}/` : "";
      const body = { name: `Room ${number}`, targetUrl };
      const answer = await askApi(url, "/workspaces", { method: "POST", body, cookie });
      expect([answer.status, answer.status === 201 ? "" : answer.body.toString()]).toEqual([201, ""]);
      const { workspace, signingSecret } = answer.json as {
        workspace: { id: string };
        signingSecret: string;
      };
      all.push({ id: workspace.id, secret: signingSecret, polls: mode === "poll" });
    }
    return all;
  });
  await chat.secret("workspaces", { "workspaces.json": JSON.stringify(made) });
  const edgeHost = `${EDGE}.${chat.name}.svc`;
  await chat.apply("bridge.yaml", { ...OURS, edgeHost, requestsPerSecond: String(REQUESTS_PER_SECOND) });
  await chat.kubectl(["wait", "--for=condition=Ready", "pod/bridge", "--timeout=2m"]);
}

/** Starts the two pods of a game, and a separate Redis in which they keep their state. */
export async function startGame(
  installation: Installation,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { chat, data, passwords } = installation;
  await installation.startRedis("game-redis");
  await chat.secret("game-settings", {
    CORE_TOKEN: await tokenOf(installation, "game:trivia"),
    GAME_STORE: `redis://:${passwords.password}@game-redis.${data.name}.svc:6379`,
    ...settings,
  });
  await chat.apply("game.yaml", { ...OURS, coreHost: `${CORE}.${chat.name}.svc` });
  await chat.rolledOut("deployment/game");
}

/**
 * Calls `use` while the bridge posts commands. Prints the figures of this load under the name `what`, and returns them.
 */
export async function underLoad(
  { bridge }: Installation,
  what: string,
  use: () => Promise<void>,
): Promise<Account> {
  await bridge.begin();
  const grows = async () => {
    const { accepted } = await bridge.account();
    await until("the load continues", async () => (await bridge.account()).accepted > accepted + 50);
  };
  try {
    await grows();
    await use();
    await grows();
  } catch (error) {
    // If this load did not stop, it would continue during the next tests.
    printFigures(`${what} (failed)`, await bridge.finish());
    throw error;
  }
  const account = await bridge.finish();
  printFigures(what, account);
  return account;
}

/** Fails unless all pods were replaced, and the new pods run the given image. */
export function expectReplaced(
  before: readonly PodObject[],
  after: readonly PodObject[],
  image: string,
): void {
  const old = new Set(before.map(({ metadata }) => metadata.uid));
  expect(after.filter(({ metadata }) => old.has(metadata.uid))).toEqual([]);
  expect(after.map(({ spec }) => spec.containers[0]?.image)).toEqual(before.map(() => image));
}
