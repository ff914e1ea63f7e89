import { makeCertificate } from "../certificate";
import { createWorkspaces, type Workspace } from "../core-clients";
import type { Part, PartContext } from "../part";
import { spreadLine } from "../rounds";
import { pushesTo, startService } from "../service";
import { median, spreadOf, type Spread } from "../statistics";
import { createTable } from "../table";
import type { LatencyLoad } from "../workers/latency-load";
import { LOAD_FLAGS, startWorker } from "../worker";

/** Events a second for each of three workspaces. */
const PER_SECOND = 50;
const WARM_UP_SECONDS = 3;

/** A service with three workspaces in one shard, where they disturb each other most. Only the first is measured. */
interface Side {
  measure(seconds: number): Promise<Spread>;
}

/** Compares pushes to a healthy bridge beside a dead and a slow one with the same load on three healthy bridges. */
export const isolation: Part = {
  name: "isolation",
  what: "how long a push takes beside a dead and a slow bridge, against the same load without them",
  async run(context) {
    const { options, say } = context;
    const [beside, alone] = [await startSide(context, true), await startSide(context, false)];
    // Measured at the same time, so that other work of the machine affects both.
    const both = async (seconds: number) => {
      const [ours, reference] = await Promise.all([beside.measure(seconds), alone.measure(seconds)]);
      return { ours, reference, ratio: ours.p99 / reference.p99 };
    };
    await both(WARM_UP_SECONDS);
    const head = (name: string) => [`${name} p50 ms`, "p99 ms", "max ms"];
    const row = createTable(say, ["round", "pushes", ...head("beside"), ...head("without"), "p99 ratio"]);
    const rounds: Awaited<ReturnType<typeof both>>[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const round = await both(options.seconds);
      rounds.push(round);
      const cells = ({ p50, p99, max }: Spread) => [p50, p99, max].map((ms) => ms.toFixed(2));
      const { ours, reference, ratio } = round;
      row([number, ours.count, ...cells(ours), ...cells(reference), ratio.toFixed(3)]);
    }
    const ratios = rounds.map(({ ratio }) => ratio);
    return { lastLine: spreadLine("ratio", median(ratios), ratios), raw: { rounds } };
  },
};

async function startSide(context: PartContext, isDisturbed: boolean): Promise<Side> {
  const { scope } = context;
  const certificate = makeCertificate(scope);
  const { clients, coreAddress } = await startService(context, { ...pushesTo(certificate), SHARDS: "1" });
  const load = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
  const { port, deadPort } = await load.call("start", { ...certificate, coreAddress });
  const good = `https://127.0.0.1:${port}/events`;
  const bad = [`https://127.0.0.1:${deadPort}/`, `https://127.0.0.1:${port}/slow`];
  const workspaces: Workspace[] = [];
  for (const url of [good, ...(isDisturbed ? bad : [good, good])]) {
    workspaces.push(...(await createWorkspaces(clients, 1, url)));
  }
  const measured = workspaces[0]?.id ?? "";
  return {
    measure: async (seconds) =>
      spreadOf(await load.call("push", { workspaces, perSecond: PER_SECOND, seconds, measured })),
  };
}
