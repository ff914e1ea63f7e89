import { attempt } from "../tally";
import type { OpenStream } from "../../load/streams";
import type { Attack, Attacker, Taken } from "./hostile";

const GROUPS = 2_000;
const GROUPS_AT_ONCE = 16;
/** Number of streams: more than one core serves to all games together. */
const STREAMS = 320;
/** Maximum number of streams that core allows in one group. */
const STREAMS_OF_A_GROUP = 64;
/** Number of watches: more than one core serves to all operators together. */
const WATCHES = 1_200;
const STREAMS_AT_ONCE = 32;

/** Follows one group after another. Each group remains in core after its only stream has closed. */
export const openGroups: Attack = ({ client, tenant, signal }) =>
  attempt({ count: GROUPS, atOnce: GROUPS_AT_ONCE, signal }, async (number) => {
    (await client.follow({ group: `${tenant.name}.${number}`, consumer: "c" })).close();
  });

/** Opens `Follow` streams in as few groups as possible, and keeps them open. */
export const openFollows: Attack = (attacker) =>
  keepOpen(attacker, STREAMS, (number) => {
    const group = `${attacker.tenant.name}.${Math.floor(number / STREAMS_OF_A_GROUP)}`;
    return attacker.client.follow({ group, consumer: `c${number}` });
  });

/** Opens watches of one workspace, and keeps them open. */
export const openWatches: Attack = (attacker) =>
  keepOpen(attacker, WATCHES, () => attacker.client.watch(attacker.tenant.polled));

async function keepOpen(
  { signal }: Attacker,
  count: number,
  open: (number: number) => Promise<OpenStream>,
): Promise<Taken> {
  const streams: OpenStream[] = [];
  const counts = await attempt({ count, atOnce: STREAMS_AT_ONCE, signal }, async (number) => {
    streams.push(await open(number));
  });
  return { ...counts, release: () => streams.forEach((stream) => stream.close()) };
}
