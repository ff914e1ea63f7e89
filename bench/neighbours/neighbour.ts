import type { ServerResponse } from "node:http";
import type { Server } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { MessageKind, type ReceivedEvent } from "../../proto/gen/chatbridge/v1/event";
import { OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { createPushServer, listen, type Certificate } from "../load/receive-pushes";
import { createJourneys, createTally, Refused, sumOf, type Counts, type Tally } from "./tally";
import type { OpenStream } from "../load/streams";
import { connectTenant, type TenantClient } from "./tenant-client";
import type { Place, Tenant, TenantWorkspace } from "./tenant";

/**
 * The kinds of calls that a neighbour makes, each with the number of POSTs per call of that kind.
 */
const RARITY = {
  post: 1,
  /** Time from a POST until the event is delivered to the game. */
  delivery: 1,
  publish: 1,
  /** Time from the publication of an event until the event is pushed. */
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
 * dashboard allows 240 sign-ins per minute.
 */
const PAUSE_MIN_MS: Partial<Record<Kind, number>> = { "operator event": 25_000, "sign in": 500 };
const KINDS = Object.keys(RARITY) as readonly Kind[];

/**
 * The frequent kinds of calls, for which `grows` waits by default. Several calls of each frequent kind are made within
 * a short time.
 */
const FREQUENT = KINDS.filter((kind) => RARITY[kind] <= 10);

export type Outcomes = Readonly<Record<Kind, Counts>>;

/** The outcomes of a neighbour's calls, and the events that were lost. */
export interface Report {
  readonly outcomes: Outcomes;
  /** Accepted POSTs that were not delivered to the game, and published events that the bridge did not receive. */
  readonly lost: readonly string[];
}

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
/**
 * Maximum milliseconds by which a call may be overdue. If a slow call delays the next call by more than this, the due
 * times of all later calls move back.
 */
const OVERDUE_MAX_MS = 1_000;

/**
 * Starts a neighbour. The latency of a call is measured from when the call is due. So a stall counts for every call
 * that was due during the stall.
 */
export async function play(place: Place, tenant: Tenant, options: PlayOptions): Promise<Neighbour> {
  const neighbour = new Neighbour(place, tenant, options);
  await neighbour.start();
  return neighbour;
}

/** A tenant that makes calls at a steady, low rate, and records their latencies and failures. */
export class Neighbour {
  readonly #tenant: Tenant;
  readonly #client: TenantClient;
  readonly #everyMs: number;
  readonly #run: string;
  #tallies = newTallies();
  readonly #ending = new AbortController();
  /** Aborted at the end, when every event has either arrived or been counted as lost. */
  readonly #over = new AbortController();
  readonly #posts = createJourneys(() => this.#tallies.delivery);
  readonly #pushes = createJourneys(() => this.#tallies.push);
  readonly #pages = createJourneys(() => undefined);
  readonly #bridge: Server;
  readonly #cookies: string[] = [];
  #streams: readonly OpenStream[] = [];
  #calls: readonly Promise<void>[] = [];
  #polling = Promise.resolve();
  /** The cursor of the next poll. */
  #after = "0";

  constructor(place: Place, tenant: Tenant, { certificate, everyMs = 200 }: PlayOptions) {
    this.#tenant = tenant;
    this.#client = connectTenant(place, tenant);
    this.#everyMs = everyMs;
    this.#run = `${tenant.name}-${Date.now()}`;
    this.#bridge = createPushServer(certificate, (_request, body, response: ServerResponse) => {
      const { message } = JSON.parse(body.toString("utf8")) as { message?: { readonly text: string } };
      if (message !== undefined) this.#pushes.arrive(message.text);
      response.writeHead(204).end();
    });
  }

  /** Opens the tenant's streams, and starts to make calls. `play` calls this once. */
  async start(): Promise<void> {
    const client = this.#client;
    const { polled, pushed, name } = this.#tenant;
    const bridgeUrl = `https://127.0.0.1:${await listen(this.#bridge)}/events`;
    const [workspaceId, operatorEvents] = [pushed.id, { workspaceId: pushed.id, address: bridgeUrl }];
    await client.operator(client.workspaces.setTargetUrl, { workspaceId, targetUrl: bridgeUrl });
    await client.operator(client.workspaces.setOperatorEventsAddress, operatorEvents);
    const cookie = await client.signIn();
    // The dashboard may end the session that has been idle for the longest time. So the second session stays idle, and
    // is used only once, at the end.
    this.#cookies.push(cookie, await client.signIn());

    const onDelivery = (received: ReceivedEvent | undefined): boolean => {
      if (received?.event?.kind?.$case === "message") this.#posts.arrive(received.event.kind.value.text);
      return true;
    };
    const following = await client.follow({ consumer: "steady", onDelivery });
    // The streams with these options close immediately, so they use a separate group. If they were in the group of
    // `following`, core would deliver some events to them, and redeliver those events only later.
    const visit = { group: `${name}.visitors`, consumer: "visitor", onDelivery: () => true };
    const watching = await client.watch(polled);
    this.#streams = [following, watching];
    // Both streams must stay open until the neighbour closes them.
    void following.ended.then((error) => this.#over.signal.aborted || this.#tallies.follow.refuse(error));
    void watching.ended.then((error) => this.#over.signal.aborted || this.#tallies.watch.refuse(error));

    this.#polling = this.#repeat("poll", () => this.#poll(), this.#over);
    this.#calls = [
      this.#repeat("post", (number, dueAt) => this.#post(number, dueAt)),
      this.#repeat("publish", (number, dueAt) => this.#publish(number, dueAt)),
      this.#repeat("page", () => client.page(polled, cookie)),
      this.#repeat("watch", async () => (await client.watch(pushed)).close()),
      this.#repeat("follow", async () => (await client.follow(visit)).close()),
      this.#repeat("test event", () => this.#testEvent()),
      this.#repeat("open page", async () => (await client.openPage(polled, cookie))()),
      this.#repeat("sign in", async () => void (await client.signOut(await client.signIn()))),
      this.#repeat("operator event", () => this.#testOperatorEvent()),
    ];
  }

  /** For each of `kinds`, waits until `by` more calls are answered. By default, `kinds` contains the frequent kinds. */
  async grows(by = 2, kinds: readonly Kind[] = FREQUENT): Promise<void> {
    const before = this.#tallies;
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
  }

  /** Returns the outcomes since the last call of `turn`, or since the start. */
  turn(): Outcomes {
    const outcomes = outcomesOf(this.#tallies);
    this.#tallies = newTallies();
    return outcomes;
  }

  /** Stops all calls, and waits for the events in flight. Returns the outcomes since the last call of `turn`. */
  async stop(): Promise<Report> {
    const [, idleCookie = ""] = this.#cookies;
    this.#ending.abort();
    await Promise.all(this.#calls);
    await this.#client
      .page(this.#tenant.polled, idleCookie)
      .catch((error: unknown) => this.#tallies.page.refuse(error));
    const end = performance.now() + ARRIVE_WITHIN_MS;
    while (this.#lost().length > 0 && performance.now() < end) await sleep(LOOK_EVERY_MS);
    this.#over.abort();
    await this.#polling;
    for (const stream of this.#streams) stream.close();
    for (const each of this.#cookies) await this.#client.signOut(each).catch(() => undefined);
    await this.#client.close();
    this.#bridge.closeAllConnections();
    await new Promise((resolve) => this.#bridge.close(resolve));
    return { outcomes: outcomesOf(this.#tallies), lost: this.#lost() };
  }

  #lost(): readonly string[] {
    return [this.#posts, this.#pushes, this.#pages].flatMap((journeys) => journeys.missing());
  }

  /**
   * Makes calls of a kind until the neighbour stops. A call waits for an earlier call only while `PENDING_MAX` calls
   * are pending. `make` is called with the time at which the call is due.
   */
  async #repeat(
    kind: Kind,
    make: (number: number, dueAt: number) => Promise<unknown>,
    until = this.#ending,
  ): Promise<void> {
    const pauseMs = Math.max(this.#everyMs * RARITY[kind], PAUSE_MIN_MS[kind] ?? 0);
    const pending = new Set<Promise<void>>();
    for (let [number, dueAt] = [0, performance.now()]; !until.signal.aborted; number++) {
      const dueAtNow = dueAt;
      const call: Promise<void> = make(number, dueAt)
        .then(
          () => this.#tallies[kind].accept(performance.now() - dueAtNow),
          (error: unknown) => this.#tallies[kind].refuse(error),
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

  async #post(number: number, dueAt: number): Promise<void> {
    const text = `${this.#run}/post/${number}`;
    this.#posts.leave(text, dueAt);
    const event = { type: "message", id: text, channel: "c", user: { id: "u" }, text };
    await this.#client.post(this.#tenant.polled, event);
    this.#posts.accept(text);
  }

  async #publish(number: number, dueAt: number): Promise<void> {
    const { polled, pushed } = this.#tenant;
    const [held, sent] = [`${this.#run}/held/${number}`, `${this.#run}/sent/${number}`];
    this.#pages.leave(held, dueAt);
    this.#pushes.leave(sent, dueAt);
    await this.#client.publish([textEvent(polled, held), textEvent(pushed, sent)]);
    this.#pages.accept(held);
    this.#pushes.accept(sent);
  }

  async #poll(): Promise<void> {
    const { events, next } = await this.#client.poll(this.#tenant.polled, `after=${this.#after}`);
    for (const { message } of events) if (message !== undefined) this.#pages.arrive(message.text);
    // The answers to two polls may arrive out of order.
    if (Number(next) > Number(this.#after)) this.#after = next;
  }

  async #testEvent(): Promise<void> {
    const { operator, workspaces } = this.#client;
    const { outcome } = await operator(workspaces.sendTestEvent, { workspaceId: this.#tenant.pushed.id });
    if (outcome?.$case !== "push") throw new Refused("the test event was not pushed");
    if (outcome.value.failure !== "") throw new Refused(outcome.value.failure);
  }

  async #testOperatorEvent(): Promise<void> {
    const { operator, workspaces } = this.#client;
    const sent = { workspaceId: this.#tenant.pushed.id };
    const { results } = await operator(workspaces.sendTestOperatorEvent, sent);
    for (const { accepted, detail } of results) if (!accepted) throw new Refused(detail);
  }
}

/** Returns the numbers of refused calls, for each kind with refused calls, e.g. `{ post: { 429: 3 } }`. */
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
