import { createWorkspaces } from "../core-clients";
import { poll } from "../load/polls";
import { BATCH, heldPublishing, publishSome } from "../load/publishing";
import type { Part, PartContext } from "../part";
import { startService } from "../service";
import { alternate, resultOf, type Side } from "../slices";
import { startReference } from "../worker";
import type { AppendReference } from "../workers/append-reference";

/**
 * Number of workspaces, and of the reference's streams. The service publishes to the workspaces in turn, and the
 * reference appends to the streams in turn.
 */
const WORKSPACES = 8;
const REFERENCE_STREAMS = "reference:*";

/**
 * Compares `PublishEvents` calls for poll workspaces with a client that only appends the same bytes to the same Redis.
 */
export const publish: Part = {
  name: "publish",
  what: `publishing ${BATCH} events per call to poll workspaces, compared with pipelined XADD of the same bytes`,
  comparesBuilds: true,
  async run(context) {
    const ours = await startSide(context);
    const [first] = ours.workspaces;
    await publishSome(ours.service.clients, ours.workspaces, ours.workspaces.length);
    const sample = first && (await poll(ours.service.url, first, "limit=1")).events[0];
    const value = JSON.stringify(sample);
    context.say(`an event has ${value.length} bytes`);
    await ours.service.store.emptyHeld();
    const { against } = context.options;
    const comparison = await alternate(context, {
      unit: "events",
      ours: ours.side,
      reference:
        against === undefined
          ? await startAppending(context, ours, value)
          : (await startSide(context, against)).side,
    });
    return resultOf(comparison, { eventBytes: value.length });
  },
};

/** Starts a service, and creates a side that publishes to its workspaces. */
async function startSide(context: PartContext, build?: string) {
  const service = await startService(context, {}, build);
  const { core, redis } = service.pids;
  const workspaces = await createWorkspaces(service.clients, WORKSPACES);
  // Publishing does not use the edge.
  return { service, workspaces, side: heldPublishing(service, workspaces, { core, redis }) };
}

/** Starts the client that appends `value` to streams in the service's Redis. */
async function startAppending(
  context: PartContext,
  { service: { store, redisUrl, pids }, workspaces }: Awaited<ReturnType<typeof startSide>>,
  value: string,
): Promise<Side> {
  const streams = workspaces.map(({ id }) => REFERENCE_STREAMS.replace("*", id));
  const appender = await startReference<AppendReference>(context, "append-reference");
  return {
    pids: { client: appender.pid, redis: pids.redis },
    run: (seconds) => appender.call("run", { redisUrl, streams, value, seconds }),
    async settle({ count }) {
      await store.assertEntries(REFERENCE_STREAMS, count, "entries were appended");
      await store.emptyStreams(REFERENCE_STREAMS);
    },
  };
}
