import { setTimeout as sleep } from "node:timers/promises";
import { makeCertificate } from "../certificate";
import { createWorkspaces, publish, type CoreClients, type Workspace } from "../core-clients";
import { check, type Part } from "../part";
import { alternate, resultOf, type Measure } from "../rounds";
import { cardEvent } from "../sample-events";
import { startService } from "../service";
import type { PushReceiver } from "../workers/push-receiver";
import type { PushReference } from "../workers/push-reference";
import { startWorker, type Worker } from "../worker";

/** Workspaces times first attempts that core has under way for each: the pushes under way at once. */
const WORKSPACES = 8;
const IN_FLIGHT_EACH = 16;
/** Events that wait to be pushed: enough to keep core busy, far from what it drops as overloaded. */
const AHEAD_MAX = 2_000;
const BATCH = 100;
const LOOK_EVERY_MS = 10;
const DRAIN_WITHIN_MS = 30_000;

/** Publishing and pushing, against a loop that POSTs the same bytes to the same receiver. */
export const push: Part = {
  name: "push",
  what: "events published and pushed over HTTPS, against a bare loop of the same POSTs",
  async run(context) {
    const certificate = makeCertificate(context.scope);
    const receiver = await startWorker<PushReceiver>(context.scope, "push-receiver");
    const origin = `https://127.0.0.1:${await receiver.call("start", certificate)}`;
    const { clients, cpuTimes } = await startService(context, {
      PUSH_ALLOW: "127.0.0.0/8",
      PUSH_CA: certificate.certPath,
    });
    const workspaces = await createWorkspaces(clients, WORKSPACES, `${origin}/events`);
    const bareLoop = await startWorker<PushReference>(context.scope, "push-reference");
    let body: Uint8Array = Buffer.alloc(0);

    const rounds = await alternate(context, {
      unit: "pushes",
      cpuTimes,
      async ours(seconds) {
        await receiver.call("reset", undefined);
        const measure = await pushFor(clients, receiver, workspaces, seconds);
        body = await receiver.call("sample", undefined);
        return measure;
      },
      async reference(seconds) {
        await receiver.call("reset", undefined);
        const concurrency = WORKSPACES * IN_FLIGHT_EACH;
        const { cert: ca } = certificate;
        const ran = await bareLoop.call("run", { origin, ca, body, concurrency, seconds });
        const { events } = await receiver.call("counts", undefined);
        check(events === ran.count, `${ran.count} requests were answered, but ${events} came`);
        return { perSecond: ran.count / ran.seconds };
      },
    });
    return resultOf(rounds, { bodyBytes: body.length });
  },
};

/** Publishes as fast as events are pushed; throws unless each comes, once. */
async function pushFor(
  clients: CoreClients,
  receiver: Worker<PushReceiver>,
  workspaces: readonly Workspace[],
  seconds: number,
): Promise<Measure> {
  const began = performance.now();
  let published = 0;
  const received = async (): Promise<number> => (await receiver.call("counts", undefined)).events;
  const publishBatch = async (): Promise<void> => {
    const from = published;
    published += BATCH;
    const numbers = Array.from({ length: BATCH }, (_, i) => from + i);
    await publish(
      clients,
      numbers.map((number) => cardEvent(workspaces[number % workspaces.length]?.id ?? "", number)),
    );
  };
  let came = 0;
  while (performance.now() - began < seconds * 1000) {
    came = await received();
    const batches = Math.floor((AHEAD_MAX - (published - came)) / BATCH);
    if (batches < 1) await sleep(LOOK_EVERY_MS);
    else await Promise.all(Array.from({ length: batches }, publishBatch));
  }
  came = await received();
  const perSecond = (came * 1000) / (performance.now() - began);

  const end = performance.now() + DRAIN_WITHIN_MS;
  while (came < published && performance.now() < end) {
    await sleep(LOOK_EVERY_MS);
    came = await received();
  }
  const { requests, events } = await receiver.call("counts", undefined);
  check(events === published, `${published} events were published, but ${events} were pushed`);
  check(requests === events, `${events} events were pushed by ${requests} requests`);
  return { perSecond };
}
