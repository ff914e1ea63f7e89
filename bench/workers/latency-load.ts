import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { connectToCore, inTurn, publish, type CoreClients, type Workspace } from "../core-clients";
import { createHttpConnections } from "../load/http-connections";
import { listen, receivePushes, type Certificate } from "../load/receive-pushes";
import { cardEvent, pressedButton, typedMessage } from "../sample-events";
import { signatureOf, signedPost } from "../load/signed-requests";
import { serveWorker } from "../worker";

/**
 * Generates load at a fixed rate that does not depend on how long the answers take. Each request is due at a fixed
 * time, and its latency is counted from that time. So a stall of the service counts for every request that was due
 * during the stall.
 */
export type LatencyLoad = typeof calls;

interface Rate {
  readonly workspaces: readonly Workspace[];
  /** Requests or events per second for each workspace; can be less than 1. */
  readonly perSecond: number;
  readonly seconds: number;
}

const CONNECTIONS = 256;
const ARRIVE_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 10;
/** Milliseconds after which the slow bridge answers with 500, just before the attempt times out. */
const SLOW_MS = 4_900;

function countOf({ workspaces, perSecond, seconds }: Rate): number {
  return Math.round(workspaces.length * perSecond * seconds);
}

/** Calls `make` at a fixed rate for `seconds`, and returns all results. */
async function atRate<T>(
  { workspaces, perSecond, seconds }: Rate,
  make: (number: number, workspace: Workspace, dueAt: number) => Promise<T>,
): Promise<readonly T[]> {
  globalThis.gc?.();
  const all: Promise<T>[] = [];
  const rate = workspaces.length * perSecond;
  const count = countOf({ workspaces, perSecond, seconds });
  const began = performance.now() + 10;
  const dueAt = (number: number): number => began + (number * 1000) / rate;
  while (all.length < count) {
    await sleep(1);
    const now = performance.now();
    while (all.length < count && dueAt(all.length) <= now) {
      const made = make(all.length, inTurn(workspaces, all.length), dueAt(all.length));
      // `Promise.all` below reports the rejection, after all calls are made.
      made.catch(() => undefined);
      all.push(made);
    }
  }
  return Promise.all(all);
}

/**
 * Handles the pushed event with this number. Returns true if the bridge must answer with 204, and false if it must
 * answer with 500.
 */
let onPush: (number: number) => boolean = () => true;
let clients: CoreClients | undefined;
/** Cursors of the workspaces, by their ids. */
const cursors = new Map<string, string>();
const dispatcher = new Agent({ connections: CONNECTIONS, pipelining: 1 });

/** Matches the number that `cardEvent` puts into the text. */
const NUMBER = /Round (\d+)/;

function receive({ url }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  if (url === "/slow") {
    setTimeout(() => response.writeHead(500).end(), SLOW_MS);
    return;
  }
  const number = Number(NUMBER.exec(body.toString("utf8"))?.[1]);
  response.writeHead(onPush(number) ? 204 : 500).end();
}

/** Connections for `press`, by origin and number. */
const servers = new Map<string, ReturnType<typeof createHttpConnections>>();

async function openConnections(origin: string, count: number) {
  const key = `${origin} ${count}`;
  const server = servers.get(key) ?? createHttpConnections(origin, count);
  servers.set(key, server);
  await server.open();
  return server;
}

/**
 * Maximum number of calls to core that are in progress. Above the capacity of the service, further events wait here, and
 * count as late. Otherwise, the calls would exceed the share of the token, and core would refuse them.
 */
const PUBLISHING_MAX = 1_000;
let publishing = 0;
const waiting: (() => void)[] = [];

async function publishOne(workspace: Workspace, number: number): Promise<void> {
  if (clients === undefined) throw new Error("the worker is not connected to core: call start first");
  if (publishing < PUBLISHING_MAX) publishing += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    await publish(clients, [cardEvent(workspace.id, number)]);
  } finally {
    const next = waiting.shift();
    if (next === undefined) publishing -= 1;
    else next();
  }
}

async function untilAll(arrived: () => number, count: number): Promise<void> {
  const end = performance.now() + ARRIVE_WITHIN_MS;
  while (arrived() < count && performance.now() < end) await sleep(LOOK_EVERY_MS);
  if (arrived() !== count) throw new Error(`${count} events were published, but ${arrived()} arrived`);
}

const calls = {
  /**
   * Connects to core, and listens for pushes on two ports. The bridge on `port` is healthy, except at
   * /slow, which answers with 500 after `SLOW_MS`. `deadPort` accepts connections and sends nothing.
   */
  async start({ coreAddress, ...certificate }: Certificate & { readonly coreAddress: string }) {
    clients = connectToCore(coreAddress);
    const port = await receivePushes(certificate, receive);
    const deadPort = await listen(createServer((socket) => socket.on("error", () => {}).resume()));
    return { port, deadPort };
  },

  /** Posts events. For each event, returns the milliseconds from its due time until its answer. */
  post: ({ origin, run, ...rate }: Rate & { readonly origin: string; readonly run: string }) =>
    atRate(rate, async (number, { id, secret, address }, dueAt) => {
      const body = JSON.stringify(typedMessage(run, number));
      const { statusCode, body: answer } = await dispatcher.request({
        origin,
        path: `/hooks/${id}`,
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "Service-Signature": signatureOf(secret, body),
          "X-Forwarded-For": address,
        },
        body,
      });
      await answer.dump();
      if (statusCode !== 202) throw new Error(`a request was answered with ${statusCode}`);
      return performance.now() - dueAt;
    }),

  /**
   * At each due time, sends `presses` presses of one game to a workspace at once, over open connections, each with one
   * request at a time. For each game, returns the milliseconds from the due time until the answer of each press.
   */
  async press({
    origin,
    run,
    presses,
    connections,
    ...rate
  }: Rate & {
    readonly origin: string;
    readonly run: string;
    readonly presses: number;
    readonly connections: number;
  }): Promise<readonly (readonly number[])[]> {
    // The requests are signed beforehand, and written as they are: a bridge also receives its presses one by one.
    const games = Array.from({ length: countOf(rate) }, (_game, game) =>
      Array.from({ length: presses }, (_press, press) => {
        const body = JSON.stringify(pressedButton(run, game * presses + press));
        return Buffer.from(signedPost(inTurn(rate.workspaces, game), body), "latin1");
      }),
    );
    const server = await openConnections(origin, connections);
    const press = async (requests: readonly Buffer[], dueAt: number): Promise<readonly number[]> => {
      const latencies: number[] = [];
      const asked = new Set<number>();
      let sent = 0;
      // A connection that asks for its next request has got an answer.
      await server.run(ARRIVE_WITHIN_MS / 1_000, (connection) => {
        if (asked.has(connection)) latencies.push(performance.now() - dueAt);
        asked.add(connection);
        return requests[sent++];
      });
      return latencies;
    };
    // A game that is due before the connections are free waits, and its presses count as late.
    let last: Promise<unknown> = Promise.resolve();
    return atRate(rate, (number, _workspace, dueAt) => {
      const pressed = last.then(() => press(games[number] ?? [], dueAt));
      last = pressed.catch(() => undefined);
      return pressed;
    });
  },

  /**
   * Polls workspaces with their cursors. For each poll, returns the milliseconds from its due time until its answer.
   */
  poll: ({ origin, ...rate }: Rate & { readonly origin: string }) =>
    atRate(rate, async (_number, { id, secret, address }, dueAt) => {
      const query = `after=${cursors.get(id) ?? "latest"}`;
      const { statusCode, body } = await dispatcher.request({
        origin,
        path: `/hooks/${id}/events?${query}`,
        method: "GET",
        headers: { "Service-Signature": signatureOf(secret, query), "X-Forwarded-For": address },
      });
      const { next } = (await body.json()) as { readonly next?: string };
      if (statusCode !== 200 || next === undefined) throw new Error(`a poll was answered with ${statusCode}`);
      cursors.set(id, next);
      return performance.now() - dueAt;
    }),

  /**
   * Publishes events. For each event, returns the milliseconds from its due time until its push arrived. If `measured`,
   * the id of a workspace, is set, returns only the values of that workspace.
   */
  async push({ measured, ...rate }: Rate & { readonly measured?: string }): Promise<readonly number[]> {
    const due = new Map<number, number>();
    const latencies = new Map<number, number>();
    onPush = (number) => {
      const dueAt = due.get(number);
      if (dueAt !== undefined) latencies.set(number, performance.now() - dueAt);
      return true;
    };
    await atRate(rate, (number, workspace, dueAt) => {
      if (measured === undefined || measured === workspace.id) due.set(number, dueAt);
      return publishOne(workspace, number);
    });
    await untilAll(() => latencies.size, due.size);
    return [...latencies.values()];
  },

  /**
   * Publishes events, and answers with 500 to every attempt of an event except the last. For each retry offset, returns
   * how many ms after their due times the retries started.
   */
  async retry({ offsetsMs, ...rate }: Rate & { readonly offsetsMs: readonly number[] }) {
    const attempts = new Map<number, number[]>();
    let done = 0;
    onPush = (number) => {
      const times = attempts.get(number) ?? [];
      attempts.set(number, times);
      times.push(performance.now());
      if (times.length <= offsetsMs.length) return false;
      done += 1;
      return true;
    };
    const published = await atRate(rate, (number, workspace) => publishOne(workspace, number));
    await untilAll(() => done, published.length);
    return offsetsMs.map((offset, i) =>
      [...attempts.values()].map(([first = NaN, ...later]) => (later[i] ?? NaN) - first - offset),
    );
  },
};

serveWorker(calls);
