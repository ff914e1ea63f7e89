import { createWorkspaces } from "../core-clients";
import { poll } from "../load/polls";
import { appendFor, BATCH, publishFor, publishSome } from "../load/publishing";
import type { Part } from "../part";
import { alternate, resultOf } from "../rounds";
import { startService } from "../service";
import { WORKSPACES } from "./http-sides";

const REFERENCE_STREAMS = "reference:*";

/** Publishing to be held, against appending the same bytes to the same Redis with nothing in between. */
export const publish: Part = {
  name: "publish",
  what: `PublishEvents of ${BATCH}, held, against pipelined XADD of the same bytes`,
  async run(context) {
    const { clients, store, url, cpuTimes } = await startService(context);
    const workspaces = await createWorkspaces(clients, WORKSPACES);
    await publishSome(clients, workspaces, workspaces.length);
    const [first] = workspaces;
    const sample = first && (await poll(url, first, "limit=1")).events[0];
    const envelope = JSON.stringify(sample);
    context.say(`an event has ${envelope.length} bytes`);
    await store.removeHeld();
    const rounds = await alternate(context, {
      unit: "events",
      cpuTimes,
      async ours(seconds) {
        const { count, ...measure } = await publishFor(clients, workspaces, seconds);
        await store.assertHeld(count);
        await store.removeHeld();
        return measure;
      },
      async reference(seconds) {
        const { count, ...measure } = await appendFor(store, workspaces, envelope, seconds);
        await store.assertEntries(REFERENCE_STREAMS, count, "entries were appended");
        await store.emptyStreams(REFERENCE_STREAMS);
        return measure;
      },
    });
    return resultOf(rounds, { eventBytes: envelope.length });
  },
};
