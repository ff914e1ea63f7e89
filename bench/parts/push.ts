import { setTimeout as sleep } from "node:timers/promises";
import { createWorkspaces, type CoreClients, type Workspace } from "../core-clients";
import { BATCH, publishInTurn } from "../load/publishing";
import { check, type Part, type PartContext } from "../part";
import { startPushService } from "../service";
import { alternate, resultOf, type Measure, type Side } from "../slices";
import { startReference, startWorker, type Worker } from "../worker";
import type { PushReceiver } from "../workers/push-receiver";
import type { PushReference } from "../workers/push-reference";

/** Number of workspaces, and of first attempts in flight per workspace. The product is the number of pushes in flight. */
const WORKSPACES = 8;
const IN_FLIGHT_EACH = 16;
const CONCURRENCY = WORKSPACES * IN_FLIGHT_EACH;
/**
 * Maximum number of events that wait to be pushed: enough to keep core busy, but too few for core to drop any.
 */
const AHEAD_MAX = 2_000;
const LOOK_EVERY_MS = 10;
const DRAIN_WITHIN_MS = 30_000;

/** Compares publishing and pushing events with a loop that POSTs the same bytes to the same receiver. */
export const push: Part = {
  name: "push",
  what: "events published and pushed over HTTPS, compared with a loop that only sends the same POSTs",
  comparesBuilds: true,
  async run(context) {
    const ours = await startSide(context);
    const { against } = context.options;
    const comparison = await alternate(context, {
      unit: "pushes",
      ours: ours.side,
      reference:
        against === undefined ? await startBareLoop(context, ours) : (await startSide(context, against)).side,
    });
    return resultOf(comparison, { bodyBytes: (await ours.body()).length });
  },
};

/** Starts a service, and a receiver of its pushes. The receiver's processor time does not count. */
async function startSide(context: PartContext, build?: string) {
  const { service, certificate } = await startPushService(context, {}, build);
  const receiver = await startWorker<PushReceiver>(context.scope, "push-receiver");
  const origin = `https://127.0.0.1:${await receiver.call("start", certificate)}`;
  const workspaces = await createWorkspaces(service.clients, WORKSPACES, `${origin}/events`);
  const side: Side = {
    pids: service.pids,
    run: (seconds) => pushFor(service.clients, receiver, workspaces, seconds),
    async settle({ count }) {
      const { requests, events } = await receiver.call("counts", undefined);
      check(events === count, `${count} events were published, but ${events} were pushed`);
      check(requests === events, `${events} events were pushed by ${requests} requests`);
      await receiver.call("reset", undefined);
    },
  };
  return { side, receiver, origin, certificate, body: () => receiver.call("sample", undefined) };
}

/** Starts the loop that POSTs the bytes of one of core's pushes. */
async function startBareLoop(
  context: PartContext,
  { receiver, origin, certificate, body }: Awaited<ReturnType<typeof startSide>>,
): Promise<Side> {
  const bareLoop = await startReference<PushReference>(context, "push-reference");
  return {
    pids: { reference: bareLoop.pid },
    async prepare() {
      // The first slice measures the service, so the receiver has already received a push.
      await bareLoop.call("connect", {
        origin,
        ca: certificate.cert,
        body: await body(),
        concurrency: CONCURRENCY,
      });
    },
    run: (seconds) => bareLoop.call("run", { seconds }),
    async settle({ count }) {
      const { events } = await receiver.call("counts", undefined);
      check(events === count, `${count} requests were answered, but ${events} arrived`);
      await receiver.call("reset", undefined);
    },
  };
}

/** Publishes events for `seconds`, as fast as core pushes them. Then waits up to 30 s until all events have arrived. */
async function pushFor(
  clients: CoreClients,
  receiver: Worker<PushReceiver>,
  workspaces: readonly Workspace[],
  seconds: number,
): Promise<Measure> {
  const fromMs = Date.now();
  let published = 0;
  const received = async (): Promise<number> => (await receiver.call("counts", undefined)).events;
  const publishBatch = async (): Promise<void> => {
    const numbers = Array.from({ length: BATCH }, () => published++);
    await publishInTurn(clients, workspaces, numbers);
  };
  let came = 0;
  while (Date.now() - fromMs < seconds * 1000) {
    came = await received();
    const batches = Math.floor((AHEAD_MAX - (published - came)) / BATCH);
    if (batches < 1) await sleep(LOOK_EVERY_MS);
    else await Promise.all(Array.from({ length: batches }, publishBatch));
  }
  const end = performance.now() + DRAIN_WITHIN_MS;
  while (came < published && performance.now() < end) {
    await sleep(LOOK_EVERY_MS);
    came = await received();
  }
  return { count: published, fromMs, toMs: Date.now() };
}
