import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { createWorkspaces, type Workspace } from "../core-clients";
import { receiveOverLane } from "../load/lane-receives";
import { poll } from "../load/polls";
import { publishSome } from "../load/publishing";
import { check, type Part } from "../part";
import { startService } from "../service";
import { INBOUND_STREAMS, type Store } from "../store";
import { createTable } from "../table";

const SIZES = {
  workspaces: 10_000,
  manyWorkspaces: 100_000,
  events: 100_000,
  heldBy: 100,
  requestIds: 1_000_000,
};
/** At 250 a second for each (check 6) they may have 250,000 a second. */
const RECEIVING = 1_000;
const MB = 1024 * 1024;
const SETTLE_MS = 1_000;

/** What things weigh: in Redis by its own count, in core and the edge by their resident memory. */
export const memory: Part = {
  name: "memory",
  what: "Redis bytes of a held event, a request id and a workspace; memory of core and the edge",
  async run(context) {
    const { options, say } = context;
    const service = await startService(context);
    const { clients, store, url } = service;
    const scaled = (size: number): number => Math.max(1, Math.round(size * options.scale));
    const sizes = Object.fromEntries(
      Object.entries(SIZES).map(([name, size]) => [name, name === "heldBy" ? size : scaled(size)]),
    ) as typeof SIZES;

    const row = createTable(say, ["what", "workspaces", "core MB", "edge MB"]);
    const residents: object[] = [];
    const showResident = async (workspaces: number): Promise<void> => {
      await sleep(SETTLE_MS);
      const [core, edge] = [residentMb(service.core), residentMb(service.edge)];
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
      await store.assertEntries(INBOUND_STREAMS, sizes.requestIds, "events were accepted");
      // Neither the events themselves nor what limits count by is what is weighed.
      await store.emptyStreams(INBOUND_STREAMS);
      await store.removeLimiters();
    });

    await createWorkspaces(clients, Math.max(0, sizes.manyWorkspaces - few));
    await showResident(sizes.manyWorkspaces);

    const ratio = (heldBytes / eventBytes).toFixed(3);
    say(`${events} held events: ${heldBytes.toFixed(0)} bytes each, of ${eventBytes.toFixed(0)} as JSON`);
    say(`${sizes.requestIds} request ids: ${idBytes.toFixed(1)} bytes each`);
    say(`${few} workspaces: ${workspaceBytes.toFixed(0)} bytes each`);
    return {
      lastLine: `ratio=${ratio} id_bytes=${idBytes.toFixed(1)} workspace_bytes=${workspaceBytes.toFixed(0)}`,
      raw: { sizes, heldBytes, eventBytes, idBytes, workspaceBytes, residents },
    };
  },
};

/** By how many bytes Redis grows for each of so many things. */
async function growth(store: Store, count: number, make: () => Promise<void>): Promise<number> {
  const before = await settledBytes(store);
  await make();
  return ((await settledBytes(store)) - before) / count;
}

/** What Redis uses once it has freed in the background what it frees there. */
async function settledBytes(store: Store): Promise<number> {
  await sleep(SETTLE_MS);
  return store.usedBytes();
}

/** The bytes of a held event as JSON, by pages of some workspaces. */
async function sampleBytes(url: string, holders: readonly Workspace[]): Promise<number> {
  let count = 0;
  let bytes = 0;
  for (const workspace of holders.slice(0, 10)) {
    const { events } = await poll(url, workspace, "");
    count += events.length;
    for (const event of events) bytes += Buffer.byteLength(JSON.stringify(event));
  }
  check(count > 0, "no events are held");
  return bytes / count;
}

function residentMb(child: { readonly process: { readonly pid?: number | undefined } }): number {
  const kilobytes = execFileSync("ps", ["-o", "rss=", "-p", String(child.process.pid)], { encoding: "utf8" });
  return (Number(kilobytes) * 1024) / MB;
}
