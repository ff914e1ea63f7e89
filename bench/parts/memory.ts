import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { dailyPosts } from "../daily-posts";
import { ackPosts } from "../load/acked-posts";
import { createWorkspaces, type Workspace } from "../core-clients";
import { receiveOverLane } from "../load/lane-receives";
import { poll } from "../load/polls";
import { publishSome } from "../load/publishing";
import { check, type Part } from "../part";
import { startLoadedService, type Service } from "../service";
import type { Store } from "../store";
import { createTable } from "../table";

const SIZES = {
  workspaces: 10_000,
  manyWorkspaces: 100_000,
  events: 100_000,
  heldBy: 100,
  requestIds: 1_000_000,
  acked: 64_000,
  polling: 1_000,
  deliveries: 18_000,
};
/**
 * Number of workspaces to which events are posted. Each workspace accepts 250 events per second, so together they
 * accept 250,000 per second.
 */
const RECEIVING = 1_000;
/**
 * Rates at which each workspace is polled. The first rate is high, to show the memory that each poll takes. The second
 * is the usual rate of a bridge.
 */
const POLLED = [
  { perSecond: 2, seconds: 20 },
  { perSecond: 0.5, seconds: 20 },
];
/** Number of push workspaces. With this number, no workspace's log of deliveries becomes full. */
const PUSHED = 20;
const PUSHES_PER_SECOND = 50;
const KB_PER_MB = 1024;
const SETTLE_MS = 1_000;

/** Measures the memory that Redis reports, and the resident memory of core and the edge. */
export const memory: Part = {
  name: "memory",
  what: "Redis bytes of a held event, a request id, a workspace, a polling workspace and a delivery; POSTs that fit into 512 MB; memory of core and the edge",
  async run(context) {
    const { options, say } = context;
    const service = await startLoadedService(context);
    const { clients, store, url, pids, load, createPushed } = service;
    const emptyBytes = await store.usedBytes();
    const scaled = (size: number): number => Math.max(1, Math.round(size * options.scale));
    const sizes = Object.fromEntries(
      Object.entries(SIZES).map(([name, size]) => [name, name === "heldBy" ? size : scaled(size)]),
    ) as typeof SIZES;

    const row = createTable(say, ["what", "workspaces", "core MB", "edge MB"]);
    const residents: object[] = [];
    const showResident = async (workspaces: number): Promise<void> => {
      await sleep(SETTLE_MS);
      const [core, edge] = [residentMb(pids.core), residentMb(pids.edge)];
      residents.push({ workspaces, core, edge });
      row(["resident", workspaces, core.toFixed(0), edge.toFixed(0)]);
    };

    await showResident(0);
    const few = sizes.workspaces;
    let workspaces: readonly Workspace[] = [];
    const workspaceBytes = await growth(store, few, async () => {
      workspaces = await createWorkspaces(clients, few);
    });
    await showResident(few);

    const holders = workspaces.slice(0, sizes.heldBy);
    const events = Math.ceil(sizes.events / holders.length) * holders.length;
    const heldBytes = await growth(store, events, () => publishSome(clients, holders, events));
    await store.assertHeld(events);
    const eventBytes = await sampleBytes(url, holders);

    const idBytes = await growth(store, sizes.requestIds, async () => {
      await receiveOverLane(clients, workspaces.slice(0, RECEIVING), "memory", sizes.requestIds);
      // Only the request ids are measured, so the events are removed.
      await store.settleInbound(sizes.requestIds, "events were accepted");
    });

    const acking = workspaces.slice(0, RECEIVING);
    const { left, ackedBytes } = await growthOfAcked(service, acking, sizes.acked);
    const posts = dailyPosts({ emptyBytes, idBytes, ackedBytes });

    const pollingBytes = await growth(store, sizes.polling, async () => {
      const polling = await createWorkspaces(clients, sizes.polling);
      for (const rate of POLLED) await load.call("poll", { workspaces: polling, origin: url, ...rate });
    });
    const pushed = await createPushed(PUSHED);
    const seconds = sizes.deliveries / PUSHED / PUSHES_PER_SECOND;
    const deliveryBytes = await growth(store, sizes.deliveries, async () => {
      await load.call("push", { workspaces: pushed, perSecond: PUSHES_PER_SECOND, seconds });
    });

    await createWorkspaces(clients, Math.max(0, sizes.manyWorkspaces - few));
    await showResident(sizes.manyWorkspaces);

    const ratio = (heldBytes / eventBytes).toFixed(3);
    say(`${events} held events: ${heldBytes.toFixed(0)} bytes each, ${eventBytes.toFixed(0)} as JSON`);
    say(`${sizes.requestIds} request ids: ${idBytes.toFixed(1)} bytes each`);
    say(`${sizes.acked} events that the only group has acked: ${left} are still in the logs`);
    for (const line of posts.lines) say(line);
    const bytes = { workspace: workspaceBytes, polling: pollingBytes, delivery: deliveryBytes };
    say(`${few} workspaces: ${workspaceBytes.toFixed(0)} bytes each`);
    say(`${sizes.polling} workspaces whose polls find nothing: ${pollingBytes.toFixed(0)} bytes each`);
    say(`${sizes.deliveries} deliveries logged: ${deliveryBytes.toFixed(0)} bytes each`);
    const named = Object.entries(bytes).map(([name, each]) => `${name}_bytes=${each.toFixed(0)}`);
    return {
      lastLine: [
        `ratio=${ratio} id_bytes=${idBytes.toFixed(1)}`,
        ...named,
        `posts_per_second=${posts.perSecond.toFixed(1)}`,
      ].join(" "),
      raw: { sizes, heldBytes, eventBytes, idBytes, ackedBytes, emptyBytes, posts, ...bytes, residents },
    };
  },
};

/** Returns the bytes by which Redis grows during `make`, divided by `count`. */
async function growth(store: Store, count: number, make: () => Promise<void>): Promise<number> {
  // Redis frees memory in the background, so wait before measuring.
  await sleep(SETTLE_MS);
  const before = await store.usedBytes();
  await make();
  await sleep(SETTLE_MS);
  return ((await store.usedBytes()) - before) / count;
}

/**
 * Returns the number of acked events that are still in the logs, and the bytes per event that Redis frees when the logs
 * are emptied.
 */
async function growthOfAcked(service: Service, workspaces: readonly Workspace[], count: number) {
  const { store } = service;
  const before = await store.usedBytes();
  let left = 0;
  const ackedAndIdBytes = await growth(store, count, async () => {
    left = await ackPosts(service, workspaces, count);
  });
  await store.emptyInbound();
  await sleep(SETTLE_MS);
  return { left, ackedBytes: ackedAndIdBytes - ((await store.usedBytes()) - before) / count };
}

/** Returns the mean size of a held event as JSON, in bytes, sampled from pages of 10 workspaces. */
async function sampleBytes(url: string, holders: readonly Workspace[]): Promise<number> {
  const pages = await Promise.all(holders.slice(0, 10).map((workspace) => poll(url, workspace, "")));
  const events = pages.flatMap(({ events }) => events.map((event) => JSON.stringify(event)));
  check(events.length > 0, "no events are held");
  return Buffer.byteLength(events.join("")) / events.length;
}

function residentMb(pid: number): number {
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / KB_PER_MB;
}
