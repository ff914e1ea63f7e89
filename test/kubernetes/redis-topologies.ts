import { join } from "node:path";
import { until } from "../harness/wait";
import type { Installation, Values } from "./installation";
import type { Namespace } from "./kubectl";
import { PULL_POLICY, REDIS_IMAGE } from "./settings";

// Starts Redis with Sentinel, or as a cluster, in the namespace for data. If a pod is removed, its data is lost.

/** Redis in several pods. */
export interface RedisPods {
  /** Values with which the chart uses this Redis. */
  readonly values: Values;
  /**
   * Removes the pod of a master by force. When another pod is the master, resolves with the name of the removed pod.
   */
  failOver(): Promise<string>;
  /** Waits until every master has all its replicas, and all servers know each other. */
  untilWhole(): Promise<unknown>;
}

const SERVERS = "app.kubernetes.io/name=redis,app.kubernetes.io/component=server";
const WHOLE_WITHIN_MS = 180_000;
const IMAGES = { image: REDIS_IMAGE, pullPolicy: PULL_POLICY };

async function startPods({ data }: Installation, manifest: string): Promise<void> {
  await data.kubectl(["create", "configmap", "programs", `--from-file=${join(__dirname, "programs")}`]);
  await data.apply(manifest, IMAGES);
  await data.rolledOut("statefulset/redis");
}

/** Runs redis-cli in a pod. The shell takes the password from the pod's environment. */
function redisCli(data: Namespace, pod: string, password: string, words: string): Promise<string> {
  const command = `REDISCLI_AUTH="$${password}" redis-cli ${words}`;
  return data.kubectl(["exec", pod, "--", "sh", "-c", command]);
}

const removeByForce = (data: Namespace, pod: string): Promise<string> =>
  data.kubectl(["delete", "pod", pod, "--force", "--grace-period=0"]);

/** Starts three servers and three Sentinels. */
export async function startSentinel(installation: Installation): Promise<RedisPods> {
  const { data } = installation;
  await startPods(installation, "redis-sentinel.yaml");
  await data.rolledOut("statefulset/sentinel");
  const sentinels = ["sentinel-0", "sentinel-1", "sentinel-2"];
  const ask = (pod: string, words: string) =>
    redisCli(data, pod, "SENTINEL_PASSWORD", `-p 26379 sentinel ${words}`);
  async function master(): Promise<string> {
    const named = await Promise.all(sentinels.map((pod) => ask(pod, "get-master-addr-by-name events")));
    const [one = "", ...others] = named.map((lines) => lines.split(".")[0] ?? "");
    return others.every((other) => other === one) ? one : "";
  }
  async function isWhole(): Promise<boolean> {
    const one = await master();
    if (one === "") return false;
    const checks = await Promise.all(sentinels.map((pod) => ask(pod, "ckquorum events")));
    const info = await redisCli(data, one, "PASSWORD", "info replication");
    return checks.every((check) => check.startsWith("OK 3 usable")) && isMasterOf(info, 2);
  }
  const untilWhole = (): Promise<unknown> =>
    until(
      "the Sentinels agree, and the master has two replicas",
      () => isWhole().catch(() => false),
      WHOLE_WITHIN_MS,
    );
  await untilWhole();
  return {
    values: {
      redis: {
        mode: "sentinel",
        hosts: [`sentinel.${data.name}.svc:26379`],
        sentinel: {
          master: "events",
          passwordSecret: { name: "redis-password", key: "sentinel-password" },
        },
        waitReplicas: 1,
      },
    },
    untilWhole,
    async failOver() {
      const old = await master();
      await removeByForce(data, old);
      const isReplaced = async () => {
        const now = await master().catch(() => "");
        return now !== "" && now !== old;
      };
      await until("the Sentinels name another master", isReplaced, WHOLE_WITHIN_MS);
      return old;
    },
  };
}

/** Returns whether a server is a master with at least `replicas` connected replicas. */
const isMasterOf = (info: string, replicas: number): boolean =>
  info.includes("role:master") && [...info.matchAll(/^slave\d+:.*state=online/gm)].length >= replicas;

/** Starts three masters, each with a replica. */
export async function startCluster(installation: Installation): Promise<RedisPods> {
  const { data } = installation;
  await startPods(installation, "redis-cluster.yaml");
  const pods = await data.pods(SERVERS);
  const addresses = pods.map(({ status }) => `${status.podIP ?? ""}:6379`).join(" ");
  const create = `--cluster create ${addresses} --cluster-replicas 1 --cluster-yes`;
  await redisCli(data, "redis-0", "PASSWORD", create);

  async function roles(): Promise<readonly (readonly [pod: string, info: string])[]> {
    const names = (await data.pods(SERVERS)).map(({ metadata }) => metadata.name);
    return Promise.all(
      names.map(async (pod) => [pod, await redisCli(data, pod, "PASSWORD", "info replication")] as const),
    );
  }
  const masters = async (replicas: number) =>
    (await roles()).filter(([, info]) => isMasterOf(info, replicas)).map(([pod]) => pod);
  const untilWhole = async () => {
    const isWhole = async () => {
      const states = await Promise.all(
        pods.map(({ metadata }) => redisCli(data, metadata.name, "PASSWORD", "cluster info")),
      );
      const areWhole = states.every((state) => /cluster_state:ok[^]*cluster_slots_ok:16384/.test(state));
      return areWhole && (await masters(1)).length === 3;
    };
    await until("three masters have a replica each", () => isWhole().catch(() => false), WHOLE_WITHIN_MS);
  };
  await untilWhole();
  return {
    values: {
      redis: { mode: "cluster", hosts: [`redis.${data.name}.svc:6379`], waitReplicas: 1 },
      core: { settings: { SHARDS: 16 } },
    },
    untilWhole,
    async failOver() {
      const before = await masters(1);
      const [old] = before;
      if (old === undefined) throw new Error("no master has a replica");
      await removeByForce(data, old);
      const isReplaced = async () => (await masters(0)).some((pod) => !before.includes(pod));
      await until("a replica has become a master", () => isReplaced().catch(() => false), WHOLE_WITHIN_MS);
      return old;
    },
  };
}
