import { setTimeout as sleep } from "node:timers/promises";
import { createWaker } from "../../domain/waker";
import { StoreUnavailable } from "../../ports/store-faults";
import { answered, errorReply, type Connect, type Connection, type Redis } from "./connection";
import { nameOf, type Address, type RedisTarget } from "./url";
import { asList, asText } from "./reply";

type SentinelTarget = Extract<RedisTarget, { kind: "sentinel" }>;

/** The current master, with one connection for commands and one for messages. */
interface Master {
  readonly name: string;
  readonly commands: Connection;
  readonly messages: Connection;
}

const LOOK_EVERY_MS = 1_000;
const LOOK_AGAIN_MS = 300;
const READY_EVERY_MS = 10;
const SENTINEL_WITHIN_MS = 1_000;

/**
 * Connects to the master that the sentinels name, and follows failovers. When the connection to the master is lost,
 * core does not reconnect but queries the sentinels again. Otherwise, core could reconnect to the old master, which may
 * accept writes that are lost later.
 *
 * Core queries all sentinels every second, and immediately when a connection is lost or a server proves to be a
 * replica. Core uses the answer with the highest epoch, which is the epoch of the latest failover. While no sentinel
 * answers, core keeps the current master.
 */
export async function connectSentinel(
  target: SentinelTarget,
  { connect, onError }: { readonly connect: Connect; onError(error: Error): void },
): Promise<Redis> {
  const { access, sentinelAccess } = target;
  const subscriptions: { readonly pattern: string; readonly heard: (channel: string) => void }[] = [];
  const waker = createWaker();
  const closing = new AbortController();
  const how = { access: sentinelAccess, reconnects: true, for: "messages" } as const;
  const sentinels = target.sentinels.map((address) => connect(address, how));
  for (const sentinel of sentinels) void sentinel.connect().catch(() => undefined);
  let master: Master | undefined;

  const following = (async () => {
    while (!closing.signal.aborted) {
      try {
        await look();
      } catch (error) {
        onError(error as Error);
      }
      if (!closing.signal.aborted) await waker.wait(isReady() ? LOOK_EVERY_MS : LOOK_AGAIN_MS);
    }
  })();

  function isReady(): boolean {
    return master !== undefined && master.commands.isReady && master.messages.isReady;
  }

  async function look(): Promise<void> {
    const found = await findMaster(sentinels, target.master);
    if (found === undefined || closing.signal.aborted) return;
    if (isReady() && master?.name === nameOf(found)) return;
    leave();
    const fresh = await enter(found);
    // Sentinel may have promoted another server meanwhile, so the sentinels are queried again. After a restart, the old
    // master still acts as a master until Sentinel makes it a replica.
    const still = await findMaster(sentinels, target.master).catch(() => undefined);
    if (closing.signal.aborted || still === undefined || nameOf(still) !== fresh.name) close(fresh);
    else master = fresh;
  }

  async function enter(address: Address): Promise<Master> {
    const options = { access, reconnects: false, onError: lost };
    const commands = connect(address, { ...options, for: "commands" });
    const messages = connect(address, { ...options, for: "messages" });
    const fresh = { name: nameOf(address), commands, messages };
    try {
      await answered(Promise.all([commands.connect(), messages.connect()]));
      const [role] = asList(await commands.command(["ROLE"]));
      if (asText(role) !== "master") throw new StoreUnavailable(`${fresh.name} is not the master yet`);
      for (const { pattern, heard } of subscriptions) await messages.subscribe(pattern, heard);
      return fresh;
    } catch (error) {
      close(fresh);
      throw error;
    }
  }

  function lost(error: Error): void {
    onError(error);
    waker.wake();
  }

  function leave(): void {
    if (master !== undefined) close(master);
    master = undefined;
  }

  async function send(call: (commands: Connection) => ReturnType<Connection["command"]>) {
    if (master === undefined) throw new StoreUnavailable("no master is known");
    try {
      return await call(master.commands);
    } catch (error) {
      if (errorReply(error)?.startsWith("READONLY")) {
        leave();
        waker.wake();
      }
      throw error;
    }
  }

  while (!isReady()) await sleep(READY_EVERY_MS);

  return {
    isOneMaster: true,
    command: (_key, args) => send((commands) => commands.command(args)),
    confirmed: (_key, args) => send((commands) => commands.confirmed(args)),
    async everywhere(args) {
      const server = master?.name ?? "";
      return [{ server, reply: await send((commands) => commands.command(args)) }];
    },
    async subscribe(pattern, heard) {
      subscriptions.push({ pattern, heard });
      await master?.messages.subscribe(pattern, heard);
    },
    async close() {
      closing.abort();
      waker.wake();
      leave();
      for (const sentinel of sentinels) sentinel.close();
      await following;
    },
  };
}

function close({ commands, messages }: Master): void {
  for (const connection of [commands, messages]) connection.close();
}

/**
 * Returns the address of the master after the latest failover; undefined when no sentinel is available. Throws when no
 * sentinel names the master and at least one sentinel rejects the query.
 */
async function findMaster(sentinels: readonly Connection[], name: string): Promise<Address | undefined> {
  const ask = async (sentinel: Connection) => {
    const reply = asList(await answered(sentinel.command(["SENTINEL", "MASTER", name]), SENTINEL_WITHIN_MS));
    const field = (wanted: string): string => {
      const at = reply.findIndex((each, i) => i % 2 === 0 && asText(each) === wanted);
      return asText(reply[at + 1]);
    };
    const address: Address = { host: field("ip"), port: Number(field("port")) };
    return { epoch: Number(field("config-epoch")), address };
  };
  const answers = await Promise.allSettled(sentinels.map(ask));
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  // The answer of a sentinel that rejected the query, e.g. because the master or the user is unknown.
  const unknown = answers.find(
    (answer) => answer.status === "rejected" && !(answer.reason instanceof StoreUnavailable),
  );
  if (found.length === 0 && unknown?.status === "rejected") throw unknown.reason as Error;
  return found.toSorted((a, b) => b.epoch - a.epoch)[0]?.address;
}
