import { createWorkspaces } from "../core-clients";
import { poll } from "../load/polls";
import { BATCH, heldPublishing, publishSome } from "../load/publishing";
import type { Part } from "../part";
import { alternate, resultOf } from "../rounds";
import { startService } from "../service";
import { startWorker } from "../worker";
import type { AppendReference } from "../workers/append-reference";

/**
 * Number of workspaces, and of the reference's streams. Events go to the workspaces in turn; the reference appends to
 * the streams in turn.
 */
const WORKSPACES = 8;
const REFERENCE_STREAMS = "reference:*";

/**
 * Compares `PublishEvents` calls for poll workspaces with a client that only appends the same bytes to the same Redis.
 */
export const publish: Part = {
  name: "publish",
  what: `publishing ${BATCH} events per call to poll workspaces, compared with pipelined XADD of the same bytes`,
  async run(context) {
    const service = await startService(context);
    const { clients, store, url, redisUrl } = service;
    const { core, redis } = service.pids;
    const workspaces = await createWorkspaces(clients, WORKSPACES);
    const streams = workspaces.map(({ id }) => REFERENCE_STREAMS.replace("*", id));
    await publishSome(clients, workspaces, workspaces.length);
    const [first] = workspaces;
    const sample = first && (await poll(url, first, "limit=1")).events[0];
    const value = JSON.stringify(sample);
    context.say(`an event has ${value.length} bytes`);
    await store.emptyHeld();
    const appender = await startWorker<AppendReference>(context.scope, "append-reference");
    const rounds = await alternate(context, {
      unit: "events",
      // Publishing does not use the edge.
      ours: heldPublishing(service, workspaces, { core, redis }),
      reference: {
        pids: { client: appender.pid, redis },
        run: (seconds) => appender.call("run", { redisUrl, streams, value, seconds }),
        async settle({ count }) {
          await store.assertEntries(REFERENCE_STREAMS, count, "entries were appended");
          await store.emptyStreams(REFERENCE_STREAMS);
        },
      },
    });
    return resultOf(rounds, { eventBytes: value.length });
  },
};
