import { createSocket } from "node:dgram";
import { once } from "node:events";
import { ATTACK_NAMES, type AttackName } from "../../bench/neighbours/attacks";
import { play, refusedOf, type Kind, type Report } from "../../bench/neighbours/neighbour";
import { createTenants, tenantTokens, type Place, type Tenant } from "../../bench/neighbours/tenant";
import type { Taken } from "../../bench/neighbours/hostile/hostile";
import { createScope } from "../../bench/scope";
import { startWorker } from "../../bench/worker";
import type { AttackerWorker } from "../../bench/workers/attacker";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { pushEnvironment } from "../harness/push";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { createTestCa, type TestCa } from "../harness/test-ca";

/**
 * The service's limit on the bytes of held events, which is about a tenth of what the attack on held events publishes.
 */
const HELD_MAX_BYTES = 20_000_000;

/**
 * The results of a test: which attempts of the attacker the service accepted, and how the service served the neighbour.
 */
interface Observed {
  readonly taken: Taken;
  readonly report: Report;
}

/**
 * Starts a service for the tests of a file, with a well-behaved tenant (the neighbour), and one tenant for each attack.
 */
export function neighbourhood() {
  const closers: (() => unknown)[] = [];
  let place: Place;
  let tenants: ReadonlyMap<string, Tenant>;
  let certificate: { readonly key: string; readonly cert: string };

  beforeAll(async () => {
    const redis: TestRedis = await startTestRedis();
    closers.push(redis.close);
    const ca: TestCa = createTestCa();
    closers.push(ca.close);
    const { key, cert } = ca.issue(["127.0.0.1"]);
    certificate = { key: key.toString(), cert: cert.toString() };
    // The name server never answers. The bridges do not need a name server, because their target URLs contain IP
    // addresses.
    const names = createSocket("udp4");
    await once(names.bind(0, "127.0.0.1"), "listening");
    closers.push(() => names.close());
    const settings = {
      ...pushEnvironment(ca, `127.0.0.1:${names.address().port}`),
      HELD_MAX_BYTES: String(HELD_MAX_BYTES),
    };

    // A token can be limited only to workspaces that exist, so another core creates them first.
    const first = await startCore(redis.url, settings);
    closers.push(() => first.stop());
    const all = ["neighbour", ...ATTACK_NAMES];
    const made = await createTenants(`127.0.0.1:${first.port}`, TOKENS.operator, all);
    await first.stop();
    tenants = new Map(made.map((tenant) => [tenant.name, tenant]));
    const unlimited = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
    const tokens = [...unlimited, tenantTokens(made)].join(",");
    const core: TestProcess = await startCore(redis.url, { ...settings, CORE_TOKENS: tokens });
    closers.push(() => core.stop());
    const { edge, url: dashboardUrl }: DashboardEdge = await startDashboardEdge(core.port);
    closers.push(() => edge.stop());
    place = { coreAddress: `127.0.0.1:${core.port}`, url: `http://127.0.0.1:${edge.port}`, dashboardUrl };
  });
  afterAll(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  function tenant(name: string): Tenant {
    const found = tenants.get(name);
    if (found === undefined) throw new Error(`there is no tenant ${name}`);
    return found;
  }

  return {
    tenant,
    place: (): Place => place,
    /**
     * Runs an attack while the neighbour uses the service. After the attack, the neighbour continues to use the service
     * while the attacker's connections and streams are still open. The attacker is a separate process, so that it does
     * not slow down the neighbour's calls and bridge.
     */
    async attack(name: AttackName, kinds?: readonly Kind[]): Promise<Observed> {
      const scope = createScope();
      const victim = tenant("neighbour");
      const neighbour = await play(place, victim, { certificate });
      try {
        const hostile = await startWorker<AttackerWorker>(scope, "attacker");
        await neighbour.grows();
        const order = { name, place, tenant: tenant(name), victimId: victim.polled.id };
        const taken = await hostile.call("begin", order);
        await neighbour.grows();
        if (kinds !== undefined) await neighbour.grows(1, kinds);
        await hostile.call("release", undefined);
        return { taken, report: await neighbour.stop() };
      } catch (error) {
        await neighbour.stop();
        throw error;
      } finally {
        await scope.close();
      }
    },
  };
}

/** Fails if the service refused a call of the neighbour, or lost an event. */
export function expectUndisturbed({ outcomes, lost }: Report): void {
  expect({ refused: refusedOf(outcomes), lost }).toEqual({ refused: {}, lost: [] });
}

/**
 * Fails unless the service refused some of the attacker's attempts for this reason, and accepted at most `share`
 * attempts.
 */
export function expectBounded({ accepted, refused }: Taken, reason: string, share: number): void {
  expect(Object.keys(refused)).toContain(reason);
  expect(accepted).toBeLessThanOrEqual(share);
}
