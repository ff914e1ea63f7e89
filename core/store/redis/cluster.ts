import { StoreUnavailable } from "../../ports/store-faults";
import { answered, errorReply, type Argument, type Connection, type ServerReply } from "./connection";
import { slotOf, SLOTS } from "./slot";
import { Topology, type Call, type TopologyOptions } from "./topology";
import { nameOf, type Access, type Address, type RedisTarget } from "./url";
import { asList, asNumber, asText } from "./reply";

type ClusterTarget = Extract<RedisTarget, { kind: "cluster" }>;

/** The slot ranges of a cluster, each with the address of its master. */
type View = readonly { readonly from: number; readonly to: number; readonly address: Address }[];

const LOOK_WITHIN_MS = 1_000;

/**
 * The masters of a cluster, and the slots that each master serves. Core queries all masters, and uses the first answer
 * that reports a working cluster. If no master gives such an answer, core queries the servers in REDIS_URL.
 *
 * A server that replies MOVED did not execute the command, so core sends the command to the new master, once. Other
 * temporary errors are thrown, including ASK, which means that the shard's slot is moving, and the shard's keys are on
 * two servers meanwhile.
 *
 * Core subscribes to messages on one master only, because a cluster sends each message to all servers. When the
 * connection to that master is lost, core subscribes on another master. Messages sent before the new subscription are
 * lost, but listeners for wakes tolerate lost messages.
 */
export class Cluster extends Topology {
  readonly isOneMaster = false;
  protected messages: Connection | undefined;
  readonly #seeds: readonly Address[];
  readonly #access: Access;
  readonly #masters = new Map<string, Connection>();
  /** The name of each slot's master. */
  readonly #owners: (string | undefined)[] = Array.from({ length: SLOTS }, () => undefined);
  #updating: Promise<void> | undefined;

  constructor({ seeds, access }: ClusterTarget, options: TopologyOptions) {
    super(options);
    this.#seeds = seeds;
    this.#access = access;
  }

  async everywhere(args: readonly Argument[], except?: ReadonlySet<string>) {
    const isSomeMissing = this.#owners.includes(undefined);
    const each = this.#sendToAll(args, except);
    await Promise.allSettled(each);
    if (isSomeMissing) throw new StoreUnavailable("some slots have no master");
    return Promise.all(each);
  }

  async whereAvailable(args: readonly Argument[]) {
    const settled = await Promise.allSettled(this.#sendToAll(args));
    return settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  }

  #sendToAll(args: readonly Argument[], except?: ReadonlySet<string>): readonly Promise<ServerReply>[] {
    const masters = [...this.#masters].filter(([server]) => except?.has(server) !== true);
    return masters.map(async ([server, master]) => ({ server, reply: await master.command(args) }));
  }

  protected async send<Answer>(key: string, call: Call<Answer>, isAgain = false): Promise<Answer> {
    const name = this.#owners[slotOf(key)];
    const master = name === undefined ? undefined : this.#masters.get(name);
    if (master === undefined) throw new StoreUnavailable("no master has the slot");
    try {
      return await call(master);
    } catch (error) {
      if (!/^(MOVED|READONLY|CLUSTERDOWN)\b/.test(errorReply(error) ?? "")) throw error;
      this.lookSoon();
      if (isAgain || !errorReply(error)?.startsWith("MOVED")) throw error;
      await this.#update().catch(() => undefined);
      return this.send(key, call, true);
    }
  }

  protected isWhole(): boolean {
    if (this.hasSubscriptions && this.messages?.isReady !== true) return false;
    return this.#owners.every((name) => name !== undefined && this.#masters.get(name)?.isReady === true);
  }

  protected async look(): Promise<void> {
    await this.#update();
    await this.#listen();
  }

  protected closeConnections(): void {
    for (const connection of this.#masters.values()) connection.close();
    this.messages?.close();
  }

  /** Updates the view. Concurrent calls share one update. */
  #update(): Promise<void> {
    this.#updating ??= this.#readViews()
      .then((view) => (this.isClosed ? undefined : this.#adopt(view)))
      .finally(() => (this.#updating = undefined));
    return this.#updating;
  }

  #readViews(): Promise<View> {
    const ready = [...this.#masters].filter(([, { isReady }]) => isReady);
    const views = ready.map(([name, connection]) => readView(connection, addressOf(name)));
    return anyView(views).catch(() => anyView(this.#seeds.map((address) => this.#askSeed(address))));
  }

  async #askSeed(address: Address): Promise<View> {
    const seed = this.connect(address, { access: this.#access, reconnects: false, for: "messages" });
    try {
      await answered(seed.connect(), LOOK_WITHIN_MS);
      return await readView(seed, address);
    } finally {
      seed.close();
    }
  }

  /** Connects to new masters, and disconnects from servers that are no longer masters. */
  async #adopt(view: View): Promise<void> {
    const connecting: Promise<void>[] = [];
    const named = new Set<string>();
    this.#owners.fill(undefined);
    for (const { from, to, address } of view) {
      const name = nameOf(address);
      named.add(name);
      this.#owners.fill(name, from, to + 1);
      if (this.#masters.has(name)) continue;
      const options = {
        access: this.#access,
        reconnects: true,
        for: "commands",
        onError: this.lost,
      } as const;
      const connection = this.connect(address, options);
      this.#masters.set(name, connection);
      connecting.push(connection.connect().catch(() => undefined));
    }
    for (const [name, connection] of this.#masters) {
      if (named.has(name)) continue;
      this.#masters.delete(name);
      connection.close();
    }
    await answered(Promise.all(connecting), LOOK_WITHIN_MS).catch(() => undefined);
  }

  /** Subscribes on a master that is ready, unless a connection for messages is ready. */
  async #listen(): Promise<void> {
    if (!this.hasSubscriptions || this.messages?.isReady === true) return;
    this.messages?.close();
    this.messages = undefined;
    const [name] = [...this.#masters].find(([, { isReady }]) => isReady) ?? [];
    if (name === undefined) return;
    const options = { access: this.#access, reconnects: false, for: "messages", onError: this.lost } as const;
    const fresh = this.connect(addressOf(name), options);
    this.messages = fresh;
    await answered(fresh.connect());
    await this.subscribeAgain(fresh);
  }
}

/**
 * Returns the first view that arrives, and ignores servers that fail. When all servers fail, throws the error of one of
 * them.
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
  return asList(slots).map((range) => {
    const [from, to, master] = asList(range);
    const [endpoint, port] = asList(master);
    // A server may not know its own host name. In that case, the host at which the server was queried is used.
    const host = endpoint === null || endpoint === undefined ? "" : asText(endpoint);
    const known = host === "" || host === "?" ? ("host" in asked ? asked.host : "") : host;
    return { from: asNumber(from), to: asNumber(to), address: { host: known, port: asNumber(port) } };
  });
}

/** Parses a name that `nameOf` returned, and returns the address. */
function addressOf(name: string): Address {
  const colon = name.lastIndexOf(":");
  return { host: name.slice(0, colon), port: Number(name.slice(colon + 1)) };
}
