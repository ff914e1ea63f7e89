import { setTimeout as sleep } from "node:timers/promises";
import type { MessageCreate } from "../../kit/events";
import { status, type Behaviour } from "../harness/behaviours";
import type { ReceivedRequest } from "../harness/receiver";
import { untilConnected, type Rig } from "../harness/rig";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { account, type Fact, type Terms } from "./account";
import { createClients, nth, seenOf } from "./clients";
import { createFacts, type Facts } from "./facts";
import { startFollower } from "./follower";

export const GROUP = "load";

/**
 * The load on the service: bridges post events, repeat requests, and poll or receive pushes; games publish and follow.
 */
export type Load = Awaited<ReturnType<typeof startLoad>>;

export interface LoadOptions {
  /** The number of poll workspaces, which is also the number of push workspaces. */
  readonly workspaces?: number;
  /** Milliseconds between two posts of a bridge, and between two publications to a workspace. */
  readonly everyMs?: number;
  /** The facts of an earlier load. If set, the followers of that load continue, and this load does not start any. */
  readonly facts?: Facts;
  /** Decides how the bridge answers a push, and whether the service must treat the answer as a success. */
  readonly answer?: (request: ReceivedRequest) => { readonly ok: boolean; readonly behaviour: Behaviour };
}

const GROWN_MS = 90_000;
const GROWTH = 5;
const GIVE_UP_MS = 45_000;
/**
 * Milliseconds after the last new fact until a missing event counts as lost. Even on a busy machine, this is enough
 * time for a lease to expire, followed by a push retry or an ack deadline.
 */
const STILL_MS = 25_000;
const QUIET_MS = 1_500;
const TAKEN = { ok: true, behaviour: status(204) } as const;
let loads = 0;

export async function startLoad(rig: Rig, options: LoadOptions = {}) {
  const { everyMs = 150, answer = () => TAKEN, facts = createFacts() } = options;
  const count = options.workspaces ?? 4;
  const places = Array.from({ length: count }, (_, place) => place);
  const make = (targetUrl: string): Promise<TestWorkspace[]> =>
    Promise.all(places.map((place) => createWorkspace(nth(rig.cores, place).clients, { targetUrl })));
  await Promise.all(rig.cores.map(untilConnected));
  const pollers = await make("");
  const pushed = await make(rig.receiver.urlOf(rig.bridgeName));
  const all = [...pollers, ...pushed];
  const ids = new Set(all.map(({ id }) => id));
  const ending = new AbortController();
  const over = new AbortController();
  let giveUpAt = Infinity;

  rig.receiver.behave((request) => {
    const { ok, behaviour } = answer(request);
    const envelope = JSON.parse(request.body.toString("utf8")) as MessageCreate;
    facts.add({ saw: "pushed", workspace: envelope.workspace, ok, ...seenOf(envelope) });
    return behaviour;
  });

  const clients = createClients({
    rig,
    facts,
    everyMs,
    name: `l${++loads}`,
    ending: ending.signal,
    over: over.signal,
    isTooLate: () => over.signal.aborted || performance.now() > giveUpAt,
  });
  const stopFollowers: (() => Promise<void>)[] = [];
  if (options.facts === undefined) {
    stopFollowers.push(await startFollower(rig.cores, facts, GROUP, "one"));
    stopFollowers.push(await startFollower(rig.cores.toReversed(), facts, GROUP, "two"));
  }
  const wayOf = (place: number): "push" | "poll" => (place < count ? "poll" : "push");
  const sending = Promise.all(
    all.flatMap((each, place) => [clients.post(each, place), clients.publish(each, place, wayOf(place))]),
  );
  const polling = Promise.all(pollers.map(clients.poll));
  const accountFor = (terms: Partial<Terms>) => {
    const ours = [...facts.all, ...drops(rig)].filter(({ workspace }) => ids.has(workspace));
    return account(ours, { groups: [GROUP], ...terms });
  };
  const stillFor = (): number => performance.now() - (facts.all.at(-1)?.at ?? 0);

  const stopFollowing = async (): Promise<void> => {
    await Promise.all(stopFollowers.map((stop) => stop()));
  };
  return {
    facts,
    stopFollowing,
    /** The ids of the push workspaces. */
    pushed: pushed.map(({ id }) => id),
    words: `${2 * count} workspaces, each with 1 inbound and 1 outbound event every ${everyMs} ms`,
    /**
     * Waits until every workspace has `by` more events at each stage: accepted, delivered, published, and either served
     * or pushed.
     */
    async grows(by = GROWTH) {
      const counts = () =>
        all.flatMap(({ id }, place) =>
          (
            ["accepted", "delivered", "published", wayOf(place) === "poll" ? "served" : "pushed"] as const
          ).map((kind) => facts.count(id, kind)),
        );
      const before = counts();
      const hasGrown = () => counts().every((count, i) => count >= (before[i] ?? 0) + by);
      await until("the counts of all workspaces have grown", hasGrown, GROWN_MS);
    },
    /**
     * Stops all clients without checking what happened to the events. The followers continue until `stopFollowing` is
     * called.
     */
    async abandon() {
      ending.abort();
      over.abort();
      await Promise.all([sending, polling]);
    },
    /**
     * Stops the senders, waits until all events have arrived or nothing more arrives, and returns the account of all
     * events.
     */
    async finish(terms: Partial<Terms> = {}) {
      giveUpAt = performance.now() + GIVE_UP_MS;
      ending.abort();
      await sending;
      giveUpAt = Infinity;
      while (accountFor(terms).lost.length > 0 && stillFor() < STILL_MS) await sleep(250);
      await until("nothing more arrives", () => stillFor() > QUIET_MS, GIVE_UP_MS);
      over.abort();
      await polling;
      await stopFollowing();
      return accountFor(terms);
    },
  };
}

/** The messages with which this release and the release before log a dropped push. */
const DROP_MESSAGES: readonly unknown[] = ["a push was dropped", "a push was given up"];

/** Returns the events that cores logged as dropped. */
function drops(rig: Rig): readonly Fact[] {
  return rig
    .coreLog()
    .filter(({ msg }) => DROP_MESSAGES.includes(msg))
    .map(({ workspaceId, eventId, reason }) => ({
      saw: "dropped",
      at: 0,
      workspace: String(workspaceId),
      event: String(eventId),
      reason: String(reason),
    }));
}
