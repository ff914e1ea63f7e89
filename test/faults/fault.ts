import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { deliveriesOf } from "../harness/push";
import { untilConnected, type Rig } from "../harness/rig";
import type { Account, Terms } from "./account";
import { startLoad, type Load, type LoadOptions } from "./load";

/** A fault that a test causes while the service is under load. */
interface Fault extends LoadOptions, Partial<Terms> {
  readonly name: string;
  /** Causes the fault, and repairs it. */
  readonly happens: (load: Load) => Promise<void>;
  /** Returns notes for the fault's line in the table that README.md describes. */
  readonly notes?: (became: Account) => readonly string[] | Promise<readonly string[]>;
}

/** Puts the service under load before, during and after a fault, and writes the fault's line of the table. */
export async function underFault(rig: Rig, fault: Fault): Promise<{ readonly became: Account }> {
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
  const failures = await failuresOf(rig, load);
  report(fault.name, load, became, [...((await fault.notes?.(became)) ?? []), ...failures]);
  return { became };
}

/**
 * Returns one line with the numbers of failed attempts and of dropped events in the delivery logs. Returns no line if
 * both are 0.
 */
async function failuresOf({ cores: [core] }: Rig, { pushed }: Load): Promise<readonly string[]> {
  if (core === undefined) return [];
  await untilConnected(core);
  const counts = new Map<string, number>();
  for (const workspaceId of pushed) {
    for (const { result } of await deliveriesOf(core.clients, workspaceId)) {
      const name = DeliveryResult[result]?.toLowerCase() ?? String(result);
      if (result !== DeliveryResult.SUCCESS) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const words = [...counts].map(([name, count]) => `${count} × ${name}`);
  return words.length === 0 ? [] : [`failed attempts: ${words.join(", ")}`];
}

/** Calls `underFault`. Fails if the account reports a violation, or if its numbers do not add up. */
export async function survive(rig: Rig, fault: Fault): Promise<Account> {
  const { became } = await underFault(rig, fault);
  expectSound(became);
  return became;
}

export function expectSound(became: Account): void {
  expect(became.wrong).toEqual([]);
  expect(became.duplicated).toEqual([]);
  expect(became.lost).toEqual([]);
  expectSums(became);
}

/** Fails unless the outcomes add up to the number of accepted and published events. */
export function expectSums({ accepted, delivered, published, served, pushed, dropped, lost }: Account): void {
  const given = Object.values(dropped).reduce((sum, count) => sum + count, 0);
  expect(delivered + served + pushed + given + lost.length).toBe(accepted + published);
  expect(Math.min(accepted, published)).toBeGreaterThan(0);
}

export function report(fault: string, { words }: Load, became: Account, notes: readonly string[]): void {
  const dropped = Object.entries(became.dropped).map(([reason, count]) => `${count} ${reason}`);
  write({
    ...became,
    fault,
    load: words,
    dropped: dropped.join(", ") || "0",
    duplicated: became.duplicated.length,
    lost: became.lost.length,
    notes: [...notes, ...became.wrong.slice(0, 3).map((what) => `wrong: ${what}`)],
  });
}

/**
 * Defines a test that needs a program. If the program is not installed, the test is skipped, and the table of faults
 * says why.
 */
export function testWith(
  program: string,
  why: string,
  fault: string,
  title: string,
  run: jest.ProvidesCallback,
) {
  const isThere = spawnSync(program, ["--version"]).status === 0;
  (isThere ? test : test.skip)(title, run);
  if (!isThere) write({ fault, skipped: `${program} is missing: ${why}` });
}

function write(row: object): void {
  const file = process.env["FAULTS_TABLE"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
}
