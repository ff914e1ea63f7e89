import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { MessageKind, type ReceivedEvent } from "../../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { createPushServer, listen, type Certificate } from "../load/receive-pushes";
import { createTally, Refused, sumOf, type Counts, type Tally } from "./tally";
import { connectTenant } from "./tenant-client";
import type { Place, Tenant, TenantWorkspace } from "./tenant";

/** The kinds of calls that a neighbour makes, with how many times more rarely than a POST they are made. */
const RARITY = {
  post: 1,
  /** From a POST until the event's delivery to the game. */
  delivery: 1,
  publish: 1,
  /** From a publication until the event's push. */
  push: 1,
  poll: 1,
  page: 1,
  watch: 5,
  follow: 5,
  "test event": 5,
  "open page": 5,
  "sign in": 5,
  "operator event": 50,
} as const;
export type Kind = keyof typeof RARITY;
/**
 * Minimum milliseconds between two calls of a kind. Core allows five tests of an operator address per minute, and the
 * dashboard 240 sign-ins.
 */
const PAUSE_MIN_MS: Partial<Record<Kind, number>> = { "operator event": 25_000, "sign in": 500 };
const KINDS = Object.keys(RARITY) as readonly Kind[];

/** The kinds that are frequent enough to wait for several calls. */
const FREQUENT = KINDS.filter((kind) => RARITY[kind] <= 10);

export type Outcomes = Readonly<Record<Kind, Counts>>;

/** All that a neighbour experienced. */
export interface Report {
  readonly outcomes: Outcomes;
  /** The accepted POSTs that no follower got, and the published events that no bridge got. */
  readonly lost: readonly string[];
}

/** A tenant who uses the service continuously and modestly, and records how the service treats the tenant. */
export type Neighbour = Awaited<ReturnType<typeof play>>;

export interface PlayOptions {
  /** Certificate of the neighbour's bridge on loopback, which core must trust. */
  readonly certificate: Certificate;
  /** Milliseconds between two POSTs. */
  readonly everyMs?: number;
}

const LOOK_EVERY_MS = 50;
const GROWN_WITHIN_MS = 60_000;
const ARRIVE_WITHIN_MS = 30_000;
/** Maximum number of unanswered calls of a kind. */
const PENDING_MAX = 20;
/** Milliseconds by which calls can be overdue. If a call takes longer, the next calls are made later. */
const OVERDUE_MAX_MS = 1_000;

/**
 * Starts a neighbour. A latency counts from the moment at which a call is due, so that a stall counts for every call
 * that was due during the stall.
 */
export async function play(place: Place, tenant: Tenant, { certificate, everyMs = 200 }: PlayOptions) {
  const { polled, pushed, name } = tenant;
  const client = connectTenant(place, tenant);
  const { workspaces, operator } = client;
  let tallies = newTallies();
  const ending = new AbortController();
  /** Aborted when all events have arrived, or are lost. */
  const over = new AbortController();
  const posts = createJourneys(() => tallies.delivery);
  const pushes = createJourneys(() => tallies.push);
  const pages = createJourneys(() => undefined);
  const run = `${name}-${Date.now()}`;

  const bridge = createPushServer(certificate, (_request, body, response: ServerResponse) => {
    const { message } = JSON.parse(body.toString("utf8")) as { readonly message?: { readonly text: string } };
    if (message !== undefined) pushes.arrive(message.text);
    response.writeHead(204).end();
  });
  const bridgeUrl = `https://127.0.0.1:${await listen(bridge)}/events`;
  const [workspaceId, operatorEvents] = [pushed.id, { workspaceId: pushed.id, address: bridgeUrl }];
  await operator(workspaces.setTargetUrl, { workspaceId, targetUrl: bridgeUrl });
  await operator(workspaces.setOperatorEventsAddress, operatorEvents);
  const cookie = await client.signIn();
  // The dashboard may end the session that was idle for longest, so this session is used only at the end.
  const idleCookie = await client.signIn();

  const onDelivery = (received: ReceivedEvent | undefined): boolean => {
    if (received?.event?.kind?.$case === "message") posts.arrive(received.event.kind.value.text);
    return true;
  };
  const following = await client.follow({ consumer: "steady", onDelivery });
  // These streams close immediately, so their group is another one: its events would otherwise wait for their redelivery.
  const visit = { group: `${name}.visitors`, consumer: "visitor", onDelivery: () => true };
  const watching = await client.watch(polled);
  // Both streams must stay open until the neighbour closes them.
  void following.ended.then((error) => over.signal.aborted || tallies.follow.refuse(error));
  void watching.ended.then((error) => over.signal.aborted || tallies.watch.refuse(error));

  /**
   * Makes calls of a kind until the neighbour stops. A call does not wait for the previous call, unless `PENDING_MAX` calls
   * are pending. `make` gets the moment at which the call is due.
   */
  async function repeat(
    kind: Kind,
    make: (number: number, dueAt: number) => Promise<unknown>,
    until = ending,
  ) {
    const pauseMs = Math.max(everyMs * RARITY[kind], PAUSE_MIN_MS[kind] ?? 0);
    const pending = new Set<Promise<void>>();
    for (let [number, dueAt] = [0, performance.now()]; !until.signal.aborted; number++) {
      const dueAtNow = dueAt;
      const call: Promise<void> = make(number, dueAt)
        .then(
          () => tallies[kind].accept(performance.now() - dueAtNow),
          (error: unknown) => tallies[kind].refuse(error),
        )
        .finally(() => pending.delete(call));
      pending.add(call);
      if (pending.size >= PENDING_MAX) await Promise.race(pending);
      const now = performance.now();
      dueAt = Math.max(dueAt + pauseMs, now - OVERDUE_MAX_MS);
      await sleep(Math.max(0, dueAt - now), undefined, { signal: until.signal }).catch(() => undefined);
    }
    await Promise.all(pending);
  }

  async function postOne(number: number, dueAt: number): Promise<void> {
    const text = `${run}/post/${number}`;
    posts.leave(text, dueAt);
    await client.post(polled, { type: "message", id: text, channel: "c", user: { id: "u" }, text });
    posts.accept(text);
  }

  async function publishOne(number: number, dueAt: number): Promise<void> {
    const [held, sent] = [`${run}/held/${number}`, `${run}/sent/${number}`];
    pages.leave(held, dueAt);
    pushes.leave(sent, dueAt);
    await client.publish([textEvent(polled, held), textEvent(pushed, sent)]);
    pages.accept(held);
    pushes.accept(sent);
  }

  let after = "0";
  async function pollOne(): Promise<void> {
    const { events, next } = await client.poll(polled, `after=${after}`);
    for (const { message } of events) if (message !== undefined) pages.arrive(message.text);
    // The answers of two polls may arrive in the other order.
    if (Number(next) > Number(after)) after = next;
  }

  async function testEvent(): Promise<void> {
    const { outcome } = await operator(workspaces.sendTestEvent, { workspaceId });
    if (outcome?.$case !== "push") throw new Refused("the test event was not pushed");
    if (outcome.value.failure !== "") throw new Refused(outcome.value.failure);
  }

  async function testOperatorEvent(): Promise<void> {
    const { results } = await operator(workspaces.sendTestOperatorEvent, { workspaceId });
    for (const { accepted, detail } of results) if (!accepted) throw new Refused(detail);
  }

  const polling = repeat("poll", pollOne, over);
  const calls = [
    repeat("post", postOne),
    repeat("publish", publishOne),
    repeat("page", () => client.page(polled, cookie)),
    repeat("watch", async () => (await client.watch(pushed)).close()),
    repeat("follow", async () => (await client.follow(visit)).close()),
    repeat("test event", testEvent),
    repeat("open page", async () => (await client.openPage(polled, cookie))()),
    repeat("sign in", async () => void (await client.signOut(await client.signIn()))),
    repeat("operator event", testOperatorEvent),
  ];
  const lost = (): readonly string[] => [posts, pushes, pages].flatMap((journeys) => journeys.missing());

  return {
    /** Waits until `by` more calls of each kind were answered. By default, waits for all kinds but the rarest. */
    async grows(by = 2, kinds: readonly Kind[] = FREQUENT): Promise<void> {
      const before = tallies;
      const counts = kinds.map((kind) => before[kind].total());
      const still = (): readonly Kind[] =>
        kinds.filter((kind, i) => before[kind].total() < (counts[i] ?? 0) + by);
      const end = performance.now() + GROWN_WITHIN_MS;
      while (still().length > 0) {
        if (performance.now() > end) {
          const refused = JSON.stringify(refusedOf(outcomesOf(before)));
          throw new Error(`the neighbour waits for: ${still().join(", ")}; refused calls: ${refused}`);
        }
        await sleep(LOOK_EVERY_MS);
      }
    },
    /** Returns the outcomes since the last call, or since the start. */
    turn(): Outcomes {
      const outcomes = outcomesOf(tallies);
      tallies = newTallies();
      return outcomes;
    },
    /** Stops all calls, and waits for the events that are on their way. The outcomes are those since the last `turn`. */
    async stop(): Promise<Report> {
      ending.abort();
      await Promise.all(calls);
      await client.page(polled, idleCookie).catch((error: unknown) => tallies.page.refuse(error));
      const end = performance.now() + ARRIVE_WITHIN_MS;
      while (lost().length > 0 && performance.now() < end) await sleep(LOOK_EVERY_MS);
      over.abort();
      await polling;
      for (const stream of [following, watching]) stream.close();
      for (const each of [cookie, idleCookie]) await client.signOut(each).catch(() => undefined);
      await client.close();
      bridge.closeAllConnections();
      await new Promise((resolve) => bridge.close(resolve));
      return { outcomes: outcomesOf(tallies), lost: lost() };
    },
  };
}

/** Returns the refused calls of each kind that has any, e.g. `{ post: { 429: 3 } }`. */
export function refusedOf(outcomes: Outcomes): Readonly<Record<string, Counts["refused"]>> {
  const all = Object.entries(outcomes).map(([kind, { refused }]) => [kind, refused] as const);
  return Object.fromEntries(all.filter(([, refused]) => sumOf(refused) > 0));
}

function newTallies(): Readonly<Record<Kind, Tally>> {
  return Object.fromEntries(KINDS.map((kind) => [kind, createTally()])) as Record<Kind, Tally>;
}

function outcomesOf(tallies: Readonly<Record<Kind, Tally>>): Outcomes {
  return Object.fromEntries(KINDS.map((kind) => [kind, tallies[kind].counts()])) as Record<Kind, Counts>;
}

export function textEvent({ id: workspaceId }: TenantWorkspace, text: string): OutboundEvent {
  const value = { channel: "c", message: { kind: MessageKind.TEXT, text } };
  return OutboundEvent.create({ workspaceId, content: { $case: "messageCreate", value } });
}

/** The events of one kind that are on their way, from the moment at which each event is due. */
function createJourneys(tally: () => Tally | undefined) {
  const leftAt = new Map<string, number>();
  const accepted = new Set<string>();
  const arrived = new Set<string>();
  return {
    leave: (text: string, dueAt: number) => void leftAt.set(text, dueAt),
    /** Is called when the service has accepted an event. The event may already have arrived. */
    accept: (text: string) => void accepted.add(text),
    arrive(text: string): void {
      const dueAt = leftAt.get(text);
      if (dueAt === undefined || arrived.has(text)) return;
      arrived.add(text);
      tally()?.accept(performance.now() - dueAt);
    },
    missing: () => [...accepted].filter((text) => !arrived.has(text)),
  };
}
