import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { GameServiceService, PublishEventsRequest } from "../../proto/gen/chatbridge/v1/game";
import { inTurn, TOKENS, type Workspace } from "../core-clients";
import { createBareReceiver } from "../load/bare-receiver";
import { createHttpConnections } from "../load/http-connections";
import { listen, type Certificate } from "../load/receive-pushes";
import { cardEvent, pressedButton, typedMessage } from "../sample-events";
import { signatureOf, signedPoll, signedPost } from "../load/signed-requests";
import { createUnaryCalls } from "../load/unary-calls";
import { serveWorker } from "../worker";

/**
 * Generates load at a fixed rate that does not depend on how long the answers take. Each request is due at a fixed
 * time, and its latency is measured from that time. So a stall of the service counts for every request that was due
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
let publishMessage: ReturnType<typeof createUnaryCalls> | undefined;
/** Cursors of the workspaces, by their ids. */
const cursors = new Map<string, string>();

/** Matches the number that `cardEvent` puts into the text. */
const NUMBER = /Round (\d+)/;

/** Returns the status with which the bridge at this path answers a push. */
async function slowly(): Promise<number> {
  await sleep(SLOW_MS);
  return 500;
}

function judge(path: string, body: Buffer): number | Promise<number> {
  if (path === "/slow") return slowly();
  const number = Number(NUMBER.exec(body.toString("latin1"))?.[1]);
  return onPush(number) ? 204 : 500;
}

/** Connections by origin and number. */
const servers = new Map<string, ReturnType<typeof createHttpConnections>>();

async function openConnections(origin: string, count: number) {
  const key = `${origin} ${count}`;
  const server = servers.get(key) ?? createHttpConnections(origin, count);
  servers.set(key, server);
  await server.open();
  return server;
}

/** Sends requests that were signed beforehand, so that signing does not delay requests. */
async function sendAtRate(origin: string, rate: Rate, requests: readonly Buffer[]) {
  const server = await openConnections(origin, CONNECTIONS);
  globalThis.gc?.();
  return server.runAtRate(rate.workspaces.length * rate.perSecond, requests);
}

/** Returns the cursor after the newest event of a workspace. */
async function cursorOf(origin: string, { id, secret, address }: Workspace): Promise<string> {
  const query = "after=latest";
  const answer = await fetch(`${origin}/hooks/${id}/events?${query}`, {
    headers: { "Service-Signature": signatureOf(secret, query), "X-Forwarded-For": address },
  });
  const { next } = (await answer.json()) as { readonly next?: string };
  if (next === undefined) throw new Error(`a poll was answered with ${answer.status}`);
  return next;
}

/**
 * Maximum number of calls to core that are in progress. If the load exceeds the service's capacity, further events wait
 * in this process, and count as late. Without this maximum, the calls would exceed the token's share, and core would
 * refuse them.
 */
const PUBLISHING_MAX = 1_000;
let inProgress = 0;
const waiting: (() => void)[] = [];

async function publishOne(workspace: Workspace, number: number): Promise<void> {
  if (publishMessage === undefined) throw new Error("the worker is not connected to core: call start first");
  if (inProgress < PUBLISHING_MAX) inProgress += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    const events = [cardEvent(workspace.id, number)];
    await publishMessage(PublishEventsRequest.encode({ events }).finish());
  } finally {
    const next = waiting.shift();
    if (next === undefined) inProgress -= 1;
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
    publishMessage = createUnaryCalls(coreAddress, GameServiceService.publishEvents.path, TOKENS.game);
    const port = await listen(createBareReceiver(certificate, judge));
    const deadPort = await listen(createServer((socket) => socket.on("error", () => {}).resume()));
    return { port, deadPort };
  },

  /** Posts events. For each event, returns the milliseconds from its due time until its answer. */
  async post({ origin, run, ...rate }: Rate & { readonly origin: string; readonly run: string }) {
    const requests = Array.from({ length: countOf(rate) }, (_, number) => {
      const body = JSON.stringify(typedMessage(run, number));
      return Buffer.from(signedPost(inTurn(rate.workspaces, number), body), "latin1");
    });
    return sendAtRate(origin, rate, requests);
  },

  /**
   * At each due time, sends all `presses` presses of one game to a workspace, over open connections with one request at
   * a time each. For each game, returns the milliseconds from the due time until the answer of each press.
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
    // The requests are signed beforehand, so each is sent as soon as a connection is free: a bridge also gets presses
    // one by one.
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
      // A connection that asks for its next request has received an answer to the previous request.
      await server.run(ARRIVE_WITHIN_MS / 1_000, (connection) => {
        if (asked.has(connection)) latencies.push(performance.now() - dueAt);
        asked.add(connection);
        return requests[sent++];
      });
      return latencies;
    };
    // If a game is due before the connections are free, the game waits, and its presses count as late.
    let last: Promise<unknown> = Promise.resolve();
    return atRate(rate, (number, _workspace, dueAt) => {
      const pressed = last.then(() => press(games[number] ?? [], dueAt));
      last = pressed.catch(() => undefined);
      return pressed;
    });
  },

  /**
   * Polls workspaces without new events, with their cursors. For each poll, returns the milliseconds from its due time
   * until its answer.
   */
  async poll({ origin, ...rate }: Rate & { readonly origin: string }) {
    for (const workspace of rate.workspaces) {
      if (!cursors.has(workspace.id)) cursors.set(workspace.id, await cursorOf(origin, workspace));
    }
    const requests = Array.from({ length: countOf(rate) }, (_, number) => {
      const workspace = inTurn(rate.workspaces, number);
      return Buffer.from(signedPoll(workspace, `after=${cursors.get(workspace.id)}`), "latin1");
    });
    return sendAtRate(origin, rate, requests);
  },

  /**
   * Publishes events. For each event, returns the milliseconds from its due time until its push arrived. If `measured`
   * is set to the id of a workspace, returns only the values of that workspace.
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
   * the lateness in ms of each event's retry.
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
