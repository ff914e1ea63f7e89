import { inTurn, type Workspace } from "../core-clients";
import { createHttpConnections, type HttpMeasure } from "../load/http-connections";
import { nowSeconds, signedPoll, signedPost } from "../load/signed-requests";
import { typedMessage } from "../sample-events";
import { serveWorker } from "../worker";

/** Sends signed requests to the service and to references, over the same number of connections. */
export type HttpLoad = typeof calls;

export interface Poll {
  readonly workspace: Workspace;
  readonly query: string;
}

/** Signs the requests of a slice, and returns a function that returns the next request of a connection. */
type Sign = (seconds: number) => (connection: number) => Buffer | undefined;

const CONNECTIONS = 128;
/** Number of POSTs that are signed for each second of the first slice, when the rate is still unknown. */
const FIRST_PER_SECOND = 10_000;
/**
 * Number of POSTs that are signed for a later slice, as a multiple of the highest number of POSTs that were sent in a
 * second.
 */
const SPARE = 1.5;

interface Load {
  readonly connections: number;
  readonly sign: Sign;
  readonly bodyBytes?: number;
  /** POSTs per second of the fastest slice so far. */
  fastest: number;
}

const loads = new Map<string, Load>();
const servers = new Map<string, ReturnType<typeof createHttpConnections>>();
let prepared: { run(): Promise<HttpMeasure> } | undefined;

const calls = {
  /** Defines a load of POSTs to workspaces in turn. No two POSTs are identical. */
  async definePosts({
    name,
    workspaces,
  }: {
    readonly name: string;
    readonly workspaces: readonly Workspace[];
  }) {
    let made = 0;
    const load: Load = {
      connections: CONNECTIONS,
      fastest: FIRST_PER_SECOND / SPARE,
      sign(seconds) {
        const t = nowSeconds();
        const requests = Array.from({ length: Math.ceil(load.fastest * SPARE * seconds) }, () => {
          const body = JSON.stringify(typedMessage(name, ++made));
          return Buffer.from(signedPost(inTurn(workspaces, made), body, t), "latin1");
        });
        let sent = 0;
        return () => requests[sent++];
      },
    };
    loads.set(name, load);
  },

  /**
   * Defines a load of polls whose answers must have `bodyBytes` bytes. Each connection has its own workspaces, because
   * a bridge sends one poll at a time.
   */
  async definePolls({
    name,
    polls,
    bodyBytes,
  }: {
    readonly name: string;
    readonly polls: readonly Poll[];
    readonly bodyBytes: number;
  }) {
    const connections = Math.min(CONNECTIONS, polls.length);
    const sign: Sign = () => {
      const t = nowSeconds();
      const turns = Array.from({ length: connections }, (_, connection) =>
        polls.filter((_poll, number) => number % connections === connection),
      ).map((own) =>
        own.map(({ workspace, query }) => Buffer.from(signedPoll(workspace, query, t), "latin1")),
      );
      const sent = turns.map(() => 0);
      return (connection) => {
        const own = turns[connection] ?? [];
        const number = sent[connection] ?? 0;
        sent[connection] = number + 1;
        return own[number % own.length];
      };
    };
    loads.set(name, { connections, sign, bodyBytes, fastest: 0 });
  },

  /** Signs the requests of a slice, and opens the connections. */
  async prepare({
    name,
    origin,
    seconds,
  }: {
    readonly name: string;
    readonly origin: string;
    readonly seconds: number;
  }) {
    const load = loads.get(name);
    if (load === undefined) throw new Error(`the load ${name} is not defined`);
    const key = `${origin} ${load.connections}`;
    const server = servers.get(key) ?? createHttpConnections(origin, load.connections);
    servers.set(key, server);
    await server.open();
    const next = load.sign(seconds);
    prepared = {
      async run() {
        const measure = await server.run(seconds, next, load.bodyBytes);
        load.fastest = Math.max(load.fastest, (measure.count * 1000) / (measure.toMs - measure.fromMs));
        return measure;
      },
    };
  },

  /** Sends the prepared requests, and resolves when all sent requests are answered. */
  async run(_input: undefined): Promise<HttpMeasure> {
    if (prepared === undefined) throw new Error("no requests are prepared");
    const { run } = prepared;
    prepared = undefined;
    return run();
  },
};

serveWorker(calls);
