import { setTimeout as sleep } from "node:timers/promises";
import { status as grpcStatus } from "@grpc/grpc-js";
import type { MessageCreate } from "../../kit/events";
import { poll, post, type Answer } from "../harness/bridge";
import type { Rig } from "../harness/rig";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import type { Facts } from "./facts";

interface ClientsOptions {
  readonly rig: Rig;
  readonly facts: Facts;
  /** Milliseconds between two posts of a bridge, and between two publications to a workspace. */
  readonly everyMs: number;
  /** The prefix of the ids of requests and publications. */
  readonly name: string;
  /** Aborted when clients must stop posting and publishing. */
  readonly ending: AbortSignal;
  /** Aborted when clients must also stop polling. */
  readonly over: AbortSignal;
  /** Whether it is too late to retry requests. */
  isTooLate(): boolean;
}

const AGAIN_MS = 100;
const REPEAT_EVERY = 5;
const { UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED } = grpcStatus;
const NO_ANSWER = new Set<grpcStatus>([UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED]);

/**
 * Creates clients that send until they are stopped. If a request gets no answer, or 503, the clients retry the request
 * under the same id.
 */
export function createClients(options: ClientsOptions) {
  const { rig, facts, everyMs, name, ending, over, isTooLate } = options;

  function wrong(workspace: string, what: string): void {
    if (!over.aborted) facts.add({ saw: "wrong", workspace, what });
  }

  /**
   * Sends a request to the edges in turn, until an edge answers with a status other than 503. Returns undefined if that
   * answer is not a success, or when it is too late to retry.
   */
  async function persist(workspace: string, first: number, ask: (url: string) => Promise<Answer>) {
    for (let attempt = first; !isTooLate(); attempt++) {
      const got = await ask(nth(rig.edges, attempt).url).catch(() => undefined);
      if (got !== undefined && got.status < 300) return got;
      if (got !== undefined && got.status !== 503) {
        wrong(workspace, `a request was answered with ${got.status}: ${got.body.toString("utf8")}`);
        return undefined;
      }
      await sleep(AGAIN_MS);
    }
    return undefined;
  }

  /** Calls the cores in turn, until one of them publishes the event or it is too late to retry. */
  async function publishOnce(workspace: string, key: string, first: number, way: "push" | "poll") {
    const event = { ...textEvent(workspace, key), idempotencyKey: key };
    for (let attempt = first; !isTooLate(); attempt++) {
      const outcome = await publish(nth(rig.cores, attempt).clients, event).then(
        ([result]) => result?.outcome,
        (error: { code?: grpcStatus; message: string }) => {
          if (error.code === undefined || !NO_ANSWER.has(error.code)) wrong(workspace, error.message);
        },
      );
      if (outcome?.$case === "published") {
        const { eventId, sequence } = outcome.value;
        return facts.add({ saw: "published", workspace, key, event: eventId, sequence, way });
      }
      if (outcome !== undefined) wrong(workspace, `an event was rejected: ${JSON.stringify(outcome)}`);
      await sleep(AGAIN_MS);
    }
  }

  return {
    async post(workspace: TestWorkspace, place: number): Promise<void> {
      const from = `127.0.1.${place + 1}`;
      for (let i = 0; !ending.aborted; i++) {
        const request = `${name}/${place}/${i}`;
        const event = { type: "message", id: request, channel: "c", user: { id: "u" }, text: request };
        const ask = (url: string): Promise<Answer> => post(url, workspace, event, { from });
        const got = await persist(workspace.id, i, ask);
        if (got !== undefined) facts.add({ saw: "accepted", workspace: workspace.id, request });
        if (got !== undefined && i % REPEAT_EVERY === 0) await persist(workspace.id, i + 1, ask);
        await sleep(everyMs);
      }
    },
    async publish({ id }: TestWorkspace, place: number, way: "push" | "poll"): Promise<void> {
      for (let i = 0; !ending.aborted; i++) {
        await publishOnce(id, `${name}/${place}/${i}`, i, way);
        await sleep(everyMs);
      }
    },
    async poll(workspace: TestWorkspace, place: number): Promise<void> {
      const from = `127.0.2.${place + 1}`;
      for (let [turn, after] = [0, "0"]; !over.aborted; turn++) {
        const ask = (url: string): Promise<Answer> => poll(url, workspace, `after=${after}`, { from });
        const got = await persist(workspace.id, turn, ask);
        if (got === undefined) return;
        const page = got.json as { events: MessageCreate[]; next: string; gap: boolean; hasMore: boolean };
        const events = page.events.map(seenOf);
        const moved = { after: Number(after), next: Number(page.next), gap: page.gap, events };
        if (events.length > 0 || page.next !== after || page.gap)
          facts.add({ saw: "served", workspace: workspace.id, ...moved });
        after = page.next;
        if (!page.hasMore) await sleep(everyMs);
      }
    },
  };
}

/** Returns the fields that a fact records about an event. */
export function seenOf({ id, sequence, message }: MessageCreate) {
  return { event: id, key: message.text, sequence };
}

/** Returns the element at the index `place` modulo the length of the list. Throws if the list is empty. */
export function nth<T>(of: readonly T[], place: number): T {
  const found = of[place % of.length];
  if (found === undefined) throw new Error("the list is empty");
  return found;
}
