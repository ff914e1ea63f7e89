import { ALERT_RULES, fasterRules } from "../harness/prometheus";
import { testFolder } from "../harness/folder";
import { until } from "../harness/wait";
import { deliveryCauses, mailCauses, slowCauses } from "./delivery-causes";
import { closeAll, damagedData, processCauses } from "./process-causes";
import { awayRedisCauses, fullRedisCauses, slowRedisCauses, stopCauses, stopStarted } from "./redis-causes";
import { startRig, type Cause, type Rig } from "./rig";

// Each test causes faults in a running service, and waits until Prometheus fires the alerts for these faults. Then the
// test removes the faults, and waits until no alert fires. The rules are those of
// deploy/monitoring/prometheus/alerts.yml with shorter durations (see `fasterRules`), so the tests do not show that an
// alert waits long enough.

/** Timeout in ms. The slowest alert fires only when an unacked event is older than a minute. */
const WITHIN_MS = 150_000;

let rig: Rig;
beforeAll(async () => {
  rig = await startRig(folder);
});
afterAll(async () => {
  await closeAll();
  await stopStarted();
  await rig.close();
});
// Jest runs these hooks in order. `testFolder` adds a hook that deletes the folder, so the hook that closes the rig
// must come first.
const folder = testFolder();

/** The groups of faults, in the order of the tests. A test causes all faults of its group at the same time. */
const GROUPS: readonly (readonly [string, (of: Rig) => readonly Cause[]])[] = [
  ["no backup", neverBackedUp],
  ["faults of processes and disks", (of) => [...slowCauses(of), ...processCauses(of)]],
  ["damaged data", damagedData],
  ["faults of bridges and games", deliveryCauses],
  ["rejected addresses", mailCauses],
  ["a slow Redis", slowRedisCauses],
  ["a full Redis", fullRedisCauses],
  ["a Redis that does not answer", awayRedisCauses],
  ["no processes", stopCauses],
];

function neverBackedUp(of: Rig): readonly Cause[] {
  return [
    {
      alerts: ["ChatBridgeNoBackup"],
      what: "the data has never been backed up",
      begin: async () => async () => expect(await of.backUp()).toBe(0),
    },
  ];
}

const RULES = ALERT_RULES.groups.flatMap(({ rules }) => rules);

test("for every alert rule, a test causes exactly one fault", () => {
  const caused = GROUPS.flatMap(([, causes]) => causes(rig)).flatMap(({ alerts }) => alerts);
  expect(caused.toSorted()).toEqual(RULES.map(({ alert }) => alert).toSorted());
});

test("the rules that these tests use differ from those in alerts.yml only in their durations", () => {
  const faster = fasterRules(ALERT_RULES).groups.flatMap(({ rules }) => rules);
  const withoutTimes = ({ expr, for: _for, ...rest }: (typeof RULES)[number]) => ({
    ...rest,
    expr: expr.replaceAll(/\[\d+[smhd]\]/g, "[]"),
  });
  expect(faster.map(withoutTimes)).toEqual(RULES.map(withoutTimes));
});

/** Waits until each of these alerts has fired. */
async function allFire(wanted: readonly string[]): Promise<void> {
  const missing = new Set(wanted);
  const look = async (): Promise<boolean> => {
    for (const each of await rig.prometheus.firing()) missing.delete(each);
    return missing.size === 0;
  };
  await until("the alerts fire", look, WITHIN_MS).catch((cause: unknown) => {
    throw new Error(`alerts that did not fire: ${[...missing].join(", ")}`, { cause });
  });
}

/** Waits until none of these alerts fires. */
async function noneFires(wanted: readonly string[]): Promise<void> {
  let left: readonly string[] = wanted;
  const look = async (): Promise<boolean> => {
    const firing = await rig.prometheus.firing();
    left = wanted.filter((each) => firing.has(each));
    return left.length === 0;
  };
  await until("no alert fires", look, WITHIN_MS).catch((cause: unknown) => {
    throw new Error(`alerts that still fire: ${left.join(", ")}`, { cause });
  });
}

const reasonsOf = (outcomes: readonly PromiseSettledResult<unknown>[]): readonly unknown[] =>
  outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));

// time: ordering
test.each(GROUPS)("%s: each fault fires its alerts until the fault is removed", async (_name, causes) => {
  const list = causes(rig);
  const wanted = list.flatMap(({ alerts }) => alerts);
  // Starts to watch before the faults begin, because some alerts fire and stop while the test still causes other
  // faults.
  const allFired = allFire(wanted);
  allFired.catch(() => undefined);
  const begun = await Promise.allSettled(list.map((cause) => cause.begin()));
  try {
    expect(reasonsOf(begun)).toEqual([]);
    await allFired;
  } finally {
    const removed = await Promise.allSettled(
      begun.map(async (each) => each.status === "fulfilled" && each.value()),
    );
    expect(reasonsOf(removed)).toEqual([]);
  }
  await noneFires(list.flatMap(({ alerts, isLoadToo = false }) => (isLoadToo ? [] : alerts)));
});
