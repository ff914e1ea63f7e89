import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { TOKENS } from "../core-clients";
import { ATTACK_NAMES, type AttackName } from "../neighbours/attacks";
import { refusedOf } from "../neighbours/neighbour";
import { sumOf, type Counts } from "../neighbours/tally";
import { createTenants, tenantTokens, type Tenant } from "../neighbours/tenant";
import { slowdownOf, type Slowdown } from "../neighbours/slowdown";
import type { Part, PartContext } from "../part";
import { freeAddress, startPushService } from "../service";
import { withStolenTime } from "../cpu";
import { createTable } from "../table";
import { LOAD_FLAGS, startWorker } from "../worker";
import type { AttackerWorker } from "../workers/attacker";
import type { NeighbourWorker } from "../workers/neighbour";

/** Milliseconds between two POSTs of the neighbour. */
const EVERY_MS = 50;
const WARM_UP_SECONDS = 5;
/** Seconds to wait after an attack, while the service finishes the work that the attack caused. */
const REST_SECONDS = 3;

/** Measures how much longer a tenant waits while another tenant uses as much of the service as it can get. */
export const neighbours: Part = {
  name: "neighbours",
  what: "how long a tenant's calls take while another tenant uses as much as it can, compared with the tenant alone",
  async run(context) {
    const { options, say, scope } = context;
    const { place, tenants, certificate } = await startTenants(context);
    const [neighbour, ...attackers] = tenants;
    if (neighbour === undefined) throw new Error("there is no neighbour");
    const steady = await startWorker<NeighbourWorker>(scope, "neighbour", LOAD_FLAGS);
    await steady.call("start", { place, tenant: neighbour, certificate, everyMs: EVERY_MS });
    const hostile = await startWorker<AttackerWorker>(scope, "attacker");
    const attackBy = (tenant: Tenant) =>
      hostile.call("attack", {
        name: tenant.name as AttackName,
        place,
        tenant,
        victimId: neighbour.polled.id,
        seconds: options.seconds,
      });

    await steady.call("measure", { seconds: WARM_UP_SECONDS });
    const row = createTable(say, [
      "attack         ",
      "ratio",
      "refused",
      "worst kind    ",
      "p99 ms",
      "during ms",
      "stolen %",
      "attack got",
      "attack refused",
    ]);
    const rows: Row[] = [];
    const twice = [await steady.call("measure", options), await steady.call("measure", options)] as const;
    row(["none", slowdownOf(...twice).ratio.toFixed(2), "the ratio of two measurements without an attack"]);
    const { attacks } = options;
    for (const tenant of attackers) {
      if (attacks !== undefined && !attacks.includes(tenant.name)) continue;
      const { result: alone, ...quiet } = await withStolenTime(() => steady.call("measure", options));
      const both = () => Promise.all([steady.call("measure", options), attackBy(tenant)]);
      const { result, ...busy } = await withStolenTime(both);
      const [beside, attack] = result;
      const all = Object.values(refusedOf(beside));
      const refused = all.reduce((sum, each) => sum + sumOf(each), 0);
      const { ratio, worst } = slowdownOf(alone, beside);
      const stolenPercent = [quiet.stolenPercent, busy.stolenPercent] as const;
      rows.push({ name: tenant.name, ratio, worst, refused, attack, stolenPercent });
      const stolen = stolenPercent.map((percent) => percent.toFixed(0)).join(", ");
      const figures = [worst.kind, worst.aloneMs.toFixed(1), worst.besideMs.toFixed(1), stolen];
      row([tenant.name, ratio.toFixed(2), refused, ...figures, attack.accepted, sumOf(attack.refused)]);
      for (const [each, reasons] of Object.entries(refusedOf(beside)))
        say(`  the neighbour's calls of the kind "${each}" were refused: ${JSON.stringify(reasons)}`);
      await sleep(REST_SECONDS * 1000);
    }
    const { lost } = await steady.call("stop", undefined);
    for (const event of lost) say(`lost: ${event}`);
    const highest = rows
      .filter(({ ratio }) => !Number.isNaN(ratio))
      .reduce<Highest>((high, each) => (each.ratio > high.ratio ? each : high), { name: "none", ratio: 0 });
    const refused = rows.reduce((sum, each) => sum + each.refused, 0);
    const lastLine = `ratio=${highest.ratio.toFixed(3)} attack=${highest.name} refused=${refused} lost=${lost.length}`;
    return { lastLine, raw: { rows, lost } };
  },
};

type Taken = Pick<Counts, "accepted" | "refused">;
interface Row extends Slowdown {
  readonly name: string;
  readonly refused: number;
  readonly attack: Taken;
  /** Percentages of the machine's processor time that its host took, before and during the attack. */
  readonly stolenPercent: readonly [alone: number, beside: number];
}
type Highest = Pick<Slowdown, "ratio"> & { readonly name: string };

/** Starts a service with a neighbour and a tenant for each attack. The name server of core never answers. */
async function startTenants(context: PartContext) {
  let tenants: readonly Tenant[] = [];
  const names = await context.scope.own(silentNames(), (socket) => void socket.close());
  const dashboard = await freeAddress();
  const { service, certificate } = await startPushService(context, {
    core: { DNS_SERVERS: `127.0.0.1:${names.address().port}`, HELD_MAX_BYTES: "20000000" },
    edge: { DASHBOARD_LISTEN: dashboard },
    async tokens(coreAddress) {
      tenants = await createTenants(coreAddress, TOKENS.operator, ["neighbour", ...ATTACK_NAMES]);
      return tenantTokens(tenants);
    },
  });
  const { coreAddress, url } = service;
  return { place: { coreAddress, url, dashboardUrl: `http://${dashboard}` }, tenants, certificate };
}

async function silentNames(): Promise<Socket> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}
