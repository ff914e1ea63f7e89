import { setTimeout as sleep } from "node:timers/promises";
import { createWaker } from "../../domain/waker";
import { StoreUnavailable } from "../../ports/store-faults";
import {
  answered,
  errorReply,
  type Argument,
  type Connect,
  type Connection,
  type Redis,
  type Reply,
} from "./connection";
import { slotOf, SLOTS } from "./slot";
import { nameOf, type Address, type RedisTarget } from "./url";
import { asList, asNumber, asText } from "./reply";

type ClusterTarget = Extract<RedisTarget, { kind: "cluster" }>;

/** Which master has which slots. */
interface View {
  readonly ranges: readonly { readonly from: number; readonly to: number; readonly address: Address }[];
}

const LOOK_EVERY_MS = 1_000;
const LOOK_AGAIN_MS = 300;
const READY_EVERY_MS = 10;
const LOOK_WITHIN_MS = 1_000;

/**
 * Connects to the masters of a cluster, and tracks which master has which slot. Core queries all masters every second,
 * and immediately when a connection is lost or a server replies that a slot has moved. The first answer that reports a
 * working cluster is used. If no master gives such an answer, core queries the servers in REDIS_URL.
 *
 * A server that replies MOVED did not execute the command, so core sends the command to the new master, once. Other
 * temporary errors are thrown. Among them is ASK, which means that the keys of a shard are on two servers while the
 * shard's slot moves.
 *
 * Core subscribes to messages on one master only, because a cluster sends each message to all servers. When the
 * connection to that master is lost, core uses another master. Messages sent in the meantime are lost, but listeners
 * for wakes tolerate lost messages.
 */
export async function connectCluster(
  { seeds, access }: ClusterTarget,
  { connect, onError }: { readonly connect: Connect; onError(error: Error): void },
): Promise<Redis> {
  const masters = new Map<string, Connection>();
  const owners: (string | undefined)[] = Array.from({ length: SLOTS }, () => undefined);
  const subscriptions: { readonly pattern: string; readonly heard: (channel: string) => void }[] = [];
  let messages: Connection | undefined;
  const waker = createWaker();
  const closing = new AbortController();
  let looking: Promise<void> | undefined;

  function lost(error: Error): void {
    onError(error);
    waker.wake();
  }

  /** Updates the view. Concurrent calls share one update. */
  function look(): Promise<void> {
    looking ??= lookAround().finally(() => (looking = undefined));
    return looking;
  }

  async function lookAround(): Promise<void> {
    const ready = [...masters].filter(([, { isReady }]) => isReady);
    const view = await anyView(
      ready.map(([name, connection]) => readView(connection, addressOf(name))),
    ).catch(() => anyView(seeds.map(askSeed)));
    if (!closing.signal.aborted) await adopt(view);
  }

  async function askSeed(address: Address): Promise<View> {
    const seed = connect(address, { access, reconnects: false, for: "messages" });
    try {
      await answered(seed.connect(), LOOK_WITHIN_MS);
      return await readView(seed, address);
    } finally {
      seed.close();
    }
  }

  /** Connects to new masters, and disconnects from servers that are no longer masters. */
  async function adopt({ ranges }: View): Promise<void> {
    const connecting: Promise<void>[] = [];
    const named = new Set<string>();
    owners.fill(undefined);
    for (const { from, to, address } of ranges) {
      const name = nameOf(address);
      named.add(name);
      owners.fill(name, from, to + 1);
      if (masters.has(name)) continue;
      const connection = connect(address, { access, reconnects: true, for: "commands", onError: lost });
      masters.set(name, connection);
      connecting.push(connection.connect().catch(() => undefined));
    }
    for (const [name, connection] of masters) {
      if (named.has(name)) continue;
      masters.delete(name);
      connection.close();
    }
    await answered(Promise.all(connecting), LOOK_WITHIN_MS).catch(() => undefined);
  }

  async function listen(): Promise<void> {
    if (subscriptions.length === 0 || messages?.isReady === true) return;
    messages?.close();
    messages = undefined;
    const [name] = [...masters].find(([, { isReady }]) => isReady) ?? [];
    if (name === undefined) return;
    const fresh = connect(addressOf(name), { access, reconnects: false, for: "messages", onError: lost });
    messages = fresh;
    await answered(fresh.connect());
    for (const { pattern, heard } of subscriptions) await fresh.subscribe(pattern, heard);
  }

  function isWhole(): boolean {
    return owners.every((name) => name !== undefined && masters.get(name)?.isReady === true);
  }

  const following = (async () => {
    while (!closing.signal.aborted) {
      try {
        await look();
        await listen();
      } catch (error) {
        onError(error as Error);
      }
      const settled = isWhole() && (subscriptions.length === 0 || messages?.isReady === true);
      if (!closing.signal.aborted) await waker.wait(settled ? LOOK_EVERY_MS : LOOK_AGAIN_MS);
    }
  })();

  async function send(
    key: string,
    call: (master: Connection) => Promise<Reply>,
    isAgain = false,
  ): Promise<Reply> {
    const name = owners[slotOf(key)];
    const master = name === undefined ? undefined : masters.get(name);
    if (master === undefined) throw new StoreUnavailable("no master has the slot");
    try {
      return await call(master);
    } catch (error) {
      if (!/^(MOVED|READONLY|CLUSTERDOWN)\b/.test(errorReply(error) ?? "")) throw error;
      waker.wake();
      if (isAgain || !errorReply(error)?.startsWith("MOVED")) throw error;
      await look().catch(() => undefined);
      return send(key, call, true);
    }
  }

  while (!isWhole()) await sleep(READY_EVERY_MS);

  return {
    isOneMaster: false,
    command: (key, args) => send(key, (master) => master.command(args)),
    confirmed: (key, args) => send(key, (master) => master.confirmed(args)),
    async everywhere(args: readonly Argument[]) {
      const isSomeMissing = owners.includes(undefined);
      const each = [...masters].map(async ([server, master]) => ({
        server,
        reply: await master.command(args),
      }));
      await Promise.allSettled(each);
      if (isSomeMissing) throw new StoreUnavailable("some slots have no master");
      return Promise.all(each);
    },
    async subscribe(pattern, heard) {
      subscriptions.push({ pattern, heard });
      if (messages?.isReady === true) await messages.subscribe(pattern, heard);
      else waker.wake();
    },
    async close() {
      closing.abort();
      waker.wake();
      for (const connection of masters.values()) connection.close();
      messages?.close();
      await following;
    },
  };
}

/**
 * Returns the view that arrives first, and ignores failures of other servers. When all servers fail, throws one of the
 * errors.
 */
function anyView(views: readonly Promise<View>[]): Promise<View> {
  return Promise.any(views).catch((error: AggregateError) => {
    const [first] = error.errors as readonly unknown[];
    throw first ?? new StoreUnavailable("no server of the cluster answers");
  });
}

async function readView(connection: Connection, asked: Address): Promise<View> {
  const [info, slots] = await answered(
    Promise.all([connection.command(["CLUSTER", "INFO"]), connection.command(["CLUSTER", "SLOTS"])]),
    LOOK_WITHIN_MS,
  );
  if (!asText(info).includes("cluster_state:ok")) throw new StoreUnavailable("the cluster is down");
  const ranges = asList(slots).map((range) => {
    const [from, to, master] = asList(range);
    const [endpoint, port] = asList(master);
    // A server may not know its own host name. In that case, the host at which the server was queried is used.
    const host = endpoint === null || endpoint === undefined ? "" : asText(endpoint);
    const known = host === "" || host === "?" ? ("host" in asked ? asked.host : "") : host;
    return { from: asNumber(from), to: asNumber(to), address: { host: known, port: asNumber(port) } };
  });
  return { ranges };
}

/** Returns the address in a name that `nameOf` returned. */
function addressOf(name: string): Address {
  const colon = name.lastIndexOf(":");
  return { host: name.slice(0, colon), port: Number(name.slice(colon + 1)) };
}
