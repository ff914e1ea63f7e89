import { setTimeout as sleep } from "node:timers/promises";
import type { CoreConnection } from "../../runtime/core-connection";
import { BUILD } from "../../runtime/version";
import { createAsker, isRefusal } from "./ask-cores";
import {
  answeredCores,
  judgeBackup,
  judgeCores,
  judgeCoreTls,
  judgeReach,
  judgeShards,
  judgeShared,
} from "./core-checks";
import { parseCoreTarget, type CoreAddress } from "./core-addresses";
import { fail, skipped, type Finding } from "./finding";
import { judgeRedis } from "./redis-checks";
import { lookedUp, STEP_MS } from "./within";

/** Milliseconds after which a shard without a core is a fault. Leases move to other cores within 3 seconds. */
const SHARDS_WITHIN_MS = 4_000;
const LOOK_EVERY_MS = 500;

/** Asks every core at CORE_ADDRESS, and judges the answers. */
export async function checkCores(
  connection: CoreConnection,
  backupEveryHours: number,
): Promise<readonly Finding[]> {
  const target = parseCoreTarget(connection.address);
  const asker = createAsker(connection, target.name, STEP_MS);
  let addresses: readonly CoreAddress[];
  try {
    addresses = await lookedUp(target.addresses());
  } catch (error) {
    const says = `the name ${target.name} of core cannot be looked up: ${(error as Error).message}`;
    return [
      fail("core", says, {
        fix: "check CORE_ADDRESS or --core, and the DNS records",
        page: "docs/doctor.md#core",
      }),
      skipped("other-checks", "no core was asked about itself and about Redis"),
    ];
  }
  const asked = await Promise.all(addresses.map(asker.ask));
  const nowMs = Date.now();
  const reach = [...judgeReach(asked), judgeCoreTls(asked, nowMs)];
  const answered = answeredCores(asked);
  const at = addresses[asked.findIndex(({ answer }) => !isRefusal(answer))];
  const [first] = answered;
  if (first === undefined || at === undefined) {
    return [...reach, skipped("other-checks", "no core answered the questions about itself and about Redis")];
  }
  const [shards, shared] = await Promise.all([checkShards(), asker.readShared(at)]);
  return [
    ...reach,
    ...judgeCores(answered, BUILD.version),
    shards,
    ...judgeRedis(first.installation),
    judgeBackup(first.installation, nowMs, backupEveryHours),
    ...judgeShared(shared, nowMs),
  ];

  /** Asks again while shards are moving from one core to another. */
  async function checkShards(): Promise<Finding> {
    const end = performance.now() + SHARDS_WITHIN_MS;
    let found = first?.installation;
    while (found !== undefined && found.freeShards > 0 && performance.now() < end) {
      await sleep(LOOK_EVERY_MS);
      const again = at === undefined ? undefined : await asker.readInstallation(at);
      if (again !== undefined && !isRefusal(again)) found = again.installation;
    }
    return found === undefined ? skipped("shards", "no core answered") : judgeShards(found);
  }
}
