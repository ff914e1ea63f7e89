import { ListDeliveriesRequest, type LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import { status, type Behaviour } from "../harness/behaviours";
import { published } from "../harness/contents";
import { call } from "../harness/core-clients";
import { eventIdOf, textEvents } from "../harness/push";
import type { ReceivedRequest } from "../harness/receiver";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { verifyPush } from "../harness/verify-push";
import type { Fill, World } from "./contents";

const MANY = 100;
const SLOW_MS = 300;

/** The bridge's answers to the pushes of each workspace, by workspace id; 204 by default. */
export const answers = new Map<string, Behaviour>();

/** Makes the bridge give the answers in `answers`. */
export function behave({ bridge }: World): void {
  bridge.behave((request) => answers.get(workspaceOf(request)) ?? status(204));
}

const workspaceOf = ({ headers }: ReceivedRequest): string => String(headers["service-workspace"]);

const make = ({ workspaces, bridge }: World, name: string) =>
  workspaces.make({ name, targetUrl: bridge.urlOf("contents.test") });

/** Returns the delivery log of a workspace, oldest first. */
async function logOf({ clients: { workspaces } }: World, { id: workspaceId }: TestWorkspace) {
  const request = ListDeliveriesRequest.create({ workspaceId, pageSize: 1000 });
  return (await call(workspaces, workspaces.listDeliveries, request)).deliveries.toReversed();
}

/** Returns those fields of a log entry that exist in all releases. */
function fieldsOf({ id, at, eventId, eventType, attempt, result, status: code, address }: LoggedDelivery) {
  return { id, at, eventId, eventType, attempt, result, code, address };
}

const pushedOf = async (world: World, workspace: TestWorkspace) =>
  (await logOf(world, workspace)).filter(({ eventId }) => eventId !== "").map(fieldsOf);

/** The log and the health of bridges that accept pushes, and of bridges that reject all attempts. */
export const deliveryLog: Fill = async (world) => {
  const { workspaces, clients } = world;
  const accepts = await make(world, "accepts");
  const rejects = await make(world, "rejects");
  answers.set(rejects.id, status(500, { body: "broken" }));
  const both = [accepts, rejects];
  const log = () => Promise.all(both.map((each) => pushedOf(world, each)));
  const push = async (): Promise<void> => {
    const before = await log();
    await publish(clients, ...both.flatMap(({ id }) => textEvents(id, 2)));
    await until("two accepted pushes and six failed attempts are in the log", async () => {
      const [accepted = [], rejected = []] = await log();
      return (
        accepted.length >= (before[0]?.length ?? 0) + 2 && rejected.length >= (before[1]?.length ?? 0) + 6
      );
    });
  };
  const health = () =>
    Promise.all(
      both.map(async ({ id }) => {
        const { health: found } = await workspaces.get(id);
        if (found?.mode?.$case !== "push") throw new Error("not a push workspace");
        const { lastSuccess, lastFailure, attempts, successes } = found.mode.value;
        return {
          attempts,
          successes,
          last: [lastSuccess, lastFailure].map((each) => each && fieldsOf(each)),
        };
      }),
    );
  await push();
  let expected = [await log(), await health()];
  return {
    async check() {
      expect([await log(), await health()]).toEqual(expected);
    },
    async add() {
      await push();
      expected = [await log(), await health()];
    },
  };
};

/** Events that wait in the push queue when all processes stop. */
export const queued: Fill = async (world) => {
  const { clients, bridge, rig } = world;
  const slow = await make(world, "slow");
  answers.set(slow.id, status(204, { afterMs: SLOW_MS }));
  const sent = new Map<string, string>();
  return {
    async last() {
      const results = await publish(clients, ...textEvents(slow.id, MANY));
      for (const [index, result] of results.entries()) sent.set(published(result).eventId, String(index));
    },
    async check() {
      const pushes = () => bridge.requests.filter((each) => workspaceOf(each) === slow.id);
      const arrived = () => new Set([...pushes().map(eventIdOf), ...droppedIn(rig)]);
      await until("each queued event was pushed, or core has logged why not", () => {
        const found = arrived();
        return [...sent.keys()].every((id) => found.has(id));
      });
      for (const each of pushes()) {
        const { id, ...event } = verifyPush(each, [slow.secret]);
        expect([id, (event["message"] as { text: string }).text]).toEqual([id, sent.get(id)]);
      }
    },
  };
};

/** An event whose first attempt has failed when all processes stop. */
export const retried: Fill = async (world) => {
  const { clients, bridge, rig } = world;
  const retries = await make(world, "retries");
  let eventId = "";
  const attempts = () => bridge.requests.filter((each) => eventIdOf(each) === eventId);
  return {
    async last() {
      answers.set(retries.id, status(503));
      const [result] = await publish(clients, textEvent(retries.id, "retried"));
      ({ eventId } = published(result));
      await until("the first attempt", () => attempts().length > 0);
      await until("the first attempt is in the log", async () => (await logOf(world, retries)).length > 0);
    },
    async check() {
      answers.delete(retries.id);
      await until("the event was pushed again, or core has logged why not", async () => {
        const log = await logOf(world, retries);
        const mine = log.filter((each) => each.eventId === eventId);
        const isAccepted = mine.some(({ status: code }) => code === 204);
        return isAccepted || mine.length >= 3 || droppedIn(rig).includes(eventId);
      });
      const numbers = (await logOf(world, retries)).filter((each) => each.eventId === eventId);
      expect(numbers.map(({ attempt }) => attempt)).toEqual(numbers.map((_, index) => index + 1));
      // If core stops during an attempt, the next core repeats the attempt, because its outcome is unknown.
      expect(attempts().length).toBeLessThanOrEqual(4);
    },
  };
};

/** Returns the ids of the events that the cores have logged as dropped. */
function droppedIn(rig: World["rig"]): readonly string[] {
  const dropped = rig
    .coreLog()
    .filter(({ msg }) => msg === "a push was dropped" || msg === "a push was given up");
  return dropped.map(({ eventId }) => String(eventId));
}
