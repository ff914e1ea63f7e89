import { StoreUnavailable } from "../../ports/store-faults";
import { answered, errorReply, type Argument, type Connection } from "./connection";
import { Topology, type Call, type TopologyOptions } from "./topology";
import { nameOf, type Address, type RedisTarget } from "./url";
import { asList, asText } from "./reply";

type SentinelTarget = Extract<RedisTarget, { kind: "sentinel" }>;

/** The current master, with one connection for commands and one for messages. */
interface Master {
  readonly name: string;
  readonly commands: Connection;
  readonly messages: Connection;
}

const SENTINEL_WITHIN_MS = 1_000;

/**
 * Follows the master that the sentinels name, also after a failover. When the connection to the master is lost, core
 * does not reconnect but queries the sentinels again. Otherwise, core could reconnect to the old master, which may
 * accept writes that are lost later (split brain).
 *
 * Core queries all sentinels, and uses the answer with the highest epoch, which is the epoch of the latest failover.
 * While no sentinel answers, core keeps the current master.
 */
export class WatchedMaster extends Topology {
  readonly isOneMaster = true;
  readonly #target: SentinelTarget;
  readonly #sentinels: readonly Connection[];
  #master: Master | undefined;

  constructor(target: SentinelTarget, options: TopologyOptions) {
    super(options);
    this.#target = target;
    const how = { access: target.sentinelAccess, reconnects: true, for: "messages" } as const;
    this.#sentinels = target.sentinels.map((address) => this.connect(address, how));
    for (const sentinel of this.#sentinels) void sentinel.connect().catch(() => undefined);
  }

  async everywhere(args: readonly Argument[], except?: ReadonlySet<string>) {
    const server = this.#master?.name ?? "";
    if (except?.has(server) === true) return [];
    return [{ server, reply: await this.command("", args) }];
  }

  whereAvailable(args: readonly Argument[]) {
    return this.everywhere(args).catch(() => []);
  }

  protected get messages(): Connection | undefined {
    return this.#master?.messages;
  }

  protected async send<Answer>(_key: string, call: Call<Answer>): Promise<Answer> {
    if (this.#master === undefined) throw new StoreUnavailable("no master is known");
    try {
      return await call(this.#master.commands);
    } catch (error) {
      if (errorReply(error)?.startsWith("READONLY")) {
        this.#leave();
        this.lookSoon();
      }
      throw error;
    }
  }

  protected isWhole(): boolean {
    return this.#master?.commands.isReady === true && this.#master.messages.isReady;
  }

  protected async look(): Promise<void> {
    const { master } = this.#target;
    const found = await findMaster(this.#sentinels, master);
    if (found === undefined || this.isClosed) return;
    if (this.isWhole() && this.#master?.name === nameOf(found)) return;
    this.#leave();
    const fresh = await this.#open(found);
    // Sentinel may have promoted another server in the meantime, so core queries the sentinels again. After a restart,
    // the old master still acts as a master until Sentinel makes it a replica.
    const still = await findMaster(this.#sentinels, master).catch(() => undefined);
    if (this.isClosed || still === undefined || nameOf(still) !== fresh.name) return close(fresh);
    // After this assignment, `subscribe` uses the new connection. Subscriptions that were made earlier are added to it
    // here.
    this.#master = fresh;
    try {
      await this.subscribeAgain(fresh.messages);
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  protected closeConnections(): void {
    this.#leave();
    for (const sentinel of this.#sentinels) sentinel.close();
  }

  async #open(address: Address): Promise<Master> {
    const options = { access: this.#target.access, reconnects: false, onError: this.lost };
    const commands = this.connect(address, { ...options, for: "commands" });
    const messages = this.connect(address, { ...options, for: "messages" });
    const fresh = { name: nameOf(address), commands, messages };
    try {
      await answered(Promise.all([commands.connect(), messages.connect()]));
      const [role] = asList(await commands.command(["ROLE"]));
      if (asText(role) !== "master") throw new StoreUnavailable(`${fresh.name} is not the master yet`);
      return fresh;
    } catch (error) {
      close(fresh);
      throw error;
    }
  }

  #leave(): void {
    if (this.#master !== undefined) close(this.#master);
    this.#master = undefined;
  }
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
  // The rejection by a sentinel that answered the query with an error, e.g. because the master or the user is unknown.
  const unknown = answers.find(
    (answer) => answer.status === "rejected" && !(answer.reason instanceof StoreUnavailable),
  );
  if (found.length === 0 && unknown?.status === "rejected") throw unknown.reason as Error;
  return found.toSorted((a, b) => b.epoch - a.epoch)[0]?.address;
}
