import { appendFileSync } from "node:fs";
import { DeliveryResult, ListDeliveriesRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { call } from "../harness/core-clients";
import type { Account, Terms } from "./account";
import { startLoad, type Load, type LoadOptions } from "./load";
import { untilConnected, type Rig } from "./rig";

/** A fault that is done on purpose, while the service is under load. */
export interface Fault extends LoadOptions, Partial<Terms> {
  readonly name: string;
  /** Breaks something, and repairs it. */
  readonly happens: (load: Load) => Promise<void>;
}

/** What became of every event under a fault, and the load that it was. */
interface Suffered {
  readonly became: Account;
  readonly load: Load;
  /** For the table: how attempts to push failed, where any did. */
  readonly failures: readonly string[];
}

/** Puts the service under load before, during and after a fault. */
export async function underFault(rig: Rig, fault: Fault): Promise<Suffered> {
  const load = await startLoad(rig, fault);
  try {
    await load.grows();
    await fault.happens(load);
    await load.grows();
  } catch (error) {
    await load.abandon();
    await load.stopFollowing();
    throw error;
  }
  const became = await load.finish(fault);
  return { became, load, failures: await failuresOf(rig, load) };
}

/** Counts what the logs of deliveries say of attempts that failed, and of events given up. */
async function failuresOf({ cores: [core] }: Rig, { pushed }: Load): Promise<readonly string[]> {
  if (core === undefined) return [];
  const { workspaces } = core.clients;
  await untilConnected(core);
  const counts = new Map<string, number>();
  for (const workspaceId of pushed) {
    const request = ListDeliveriesRequest.create({ workspaceId, pageSize: 1000 });
    for (const { result } of (await call(workspaces, workspaces.listDeliveries, request)).deliveries) {
      const name = DeliveryResult[result]?.toLowerCase() ?? String(result);
      if (result !== DeliveryResult.SUCCESS) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const words = [...counts].map(([name, count]) => `${count} × ${name}`);
  return words.length === 0 ? [] : [`attempts that failed: ${words.join(", ")}`];
}

/** The same, with a line in the table. */
export async function suffer(rig: Rig, fault: Fault): Promise<Account> {
  const { became, load, failures } = await underFault(rig, fault);
  report(fault.name, load, became, failures);
  return became;
}

/** Fails unless everything came that had to, once, in order, and the account adds up. */
export function expectSound(became: Account): void {
  expect(became.wrong).toEqual([]);
  expect(became.duplicated).toEqual([]);
  expect(became.lost).toEqual([]);
  expectSums(became);
}

/** Fails when something is in two columns of the account, or in none. */
export function expectSums({ accepted, delivered, published, served, pushed, dropped, lost }: Account): void {
  const given = Object.values(dropped).reduce((sum, count) => sum + count, 0);
  expect(delivered + served + pushed + given + lost.length).toBe(accepted + published);
  expect(Math.min(accepted, published)).toBeGreaterThan(0);
}

/** Adds a line to the table of all faults. */
export function report(
  fault: string,
  load: Pick<Load, "words">,
  became: Account,
  notes: readonly string[] = [],
): void {
  const dropped = Object.entries(became.dropped).map(([reason, count]) => `${count} ${reason}`);
  write({
    ...became,
    fault,
    load: load.words,
    dropped: dropped.join(", ") || "0",
    duplicated: became.duplicated.length,
    lost: became.lost.length,
    notes: [...notes, ...became.wrong.slice(0, 3).map((what) => `wrong: ${what}`)],
  });
}

/** A test of a fault that this machine can do, or a line in the table that says why not. */
export function testWhere(
  skipped: string | undefined,
  fault: string,
  title: string,
  run: () => Promise<void>,
): void {
  (skipped === undefined ? test : test.skip)(title, run);
  if (skipped !== undefined) write({ fault, skipped });
}

function write(row: object): void {
  const file = process.env["FAULTS_TABLE"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
}
