import { createWorkspaces, type Workspace } from "../core-clients";
import type { Part, PartContext } from "../part";
import { startLoadedService } from "../service";
import { median, spreadLine, spreadOf, type Spread } from "../statistics";
import { createTable, spreadCells } from "../table";

/** Events per second for each of three workspaces. */
const PER_SECOND = 50;
const WARM_UP_SECONDS = 3;

/**
 * Compares how long two services take to push to a healthy bridge. One service also pushes to a dead and a slow bridge.
 * The other service, which is the reference, pushes to two more healthy bridges.
 */
export const isolation: Part = {
  name: "isolation",
  what: "how long a push takes while a dead and a slow bridge also get pushes, compared with only healthy bridges",
  async run(context) {
    const { options, say } = context;
    const [beside, alone] = [await startSide(context, true), await startSide(context, false)];
    // Both services are measured at the same time, so that other load on the machine affects both.
    const both = async (seconds: number) => {
      const [ours, reference] = await Promise.all([beside(seconds), alone(seconds)]);
      return { ours, reference, ratio: ours.p99 / reference.p99 };
    };
    await both(WARM_UP_SECONDS);
    const head = (name: string) => [`${name} p50 ms`, "p99 ms", "max ms"];
    const row = createTable(say, ["round", "pushes", ...head("with"), ...head("without"), "p99 ratio"]);
    const rounds: Awaited<ReturnType<typeof both>>[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const round = await both(options.seconds);
      rounds.push(round);
      const { ours, reference, ratio } = round;
      row([number, ours.count, ...spreadCells(ours), ...spreadCells(reference), ratio.toFixed(3)]);
    }
    const ratios = rounds.map(({ ratio }) => ratio);
    return { lastLine: spreadLine("ratio", median(ratios), ratios), raw: { rounds } };
  },
};

/**
 * Starts a service with three workspaces in one shard, where workspaces affect each other most. Returns a function that
 * publishes to all three workspaces, and then resolves to the latencies of the pushes to the first workspace.
 */
async function startSide(
  context: PartContext,
  isDisturbed: boolean,
): Promise<(seconds: number) => Promise<Spread>> {
  const service = await startLoadedService(context, { SHARDS: "1" });
  const { clients, load, pushUrl, deadUrl, slowUrl } = service;
  const workspaces: Workspace[] = [];
  for (const url of [pushUrl, ...(isDisturbed ? [deadUrl, slowUrl] : [pushUrl, pushUrl])]) {
    workspaces.push(...(await createWorkspaces(clients, 1, url)));
  }
  const measured = workspaces[0]?.id ?? "";
  return async (seconds) =>
    spreadOf(await load.call("push", { workspaces, perSecond: PER_SECOND, seconds, measured }));
}
