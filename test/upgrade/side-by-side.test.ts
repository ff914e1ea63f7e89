import { expectSound } from "../faults/fault";
import { startLoad, type Load } from "../faults/load";
import { nth } from "../faults/clients";
import { poll } from "../harness/bridge";
import { published } from "../harness/contents";
import { connectToCore } from "../harness/core-clients";
import { connectRedis } from "../../core/store/redis/redis";
import { startCore, startEdge, THIS_RELEASE } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { startRig, type Rig } from "../harness/rig";
import { createWorkspace, publish, textEvent } from "../harness/service";
import { otherBuild } from "./other-build";
import { BEFORE, describeUpgrade, FORMAT_BEFORE, migrate, runCore, VERSION_BEFORE } from "./releases";

type Options = Parameters<typeof startRig>[1];

/** Exit codes: see docs/upgrade.md. */
const SETTINGS_FAULT = 78;
const BUSY = 75;
/** Number of events that a core publishes after it resumes. */
const PUBLICATIONS = 10;

/** Starts a rig under load, calls `use` while the load continues, and fails if an event is lost. */
async function underLoad(options: Options, use: (rig: Rig<TestRedis>, load: Load) => Promise<unknown>) {
  const rig = await startRig(startTestRedis, options);
  try {
    const load = await startLoad(rig);
    await load.grows();
    await use(rig, load);
    await load.grows();
    expectSound(await load.finish());
  } finally {
    await rig.close();
  }
}

/** Returns the number of function libraries in Redis. */
async function countLibraries(url: string): Promise<number> {
  const redis = await connectRedis({ url, onError: () => undefined });
  try {
    return ((await redis.command("", ["FUNCTION", "LIST"])) as unknown[]).length;
  } finally {
    await redis.close();
  }
}

// time: ordering
describeUpgrade(`this release beside ${VERSION_BEFORE}`, () => {
  test("neither a core of this release nor a migration starts while a core of the previous release runs", () =>
    underLoad({ release: BEFORE }, async ({ redis }) => {
      const core = await runCore(redis.url, []);
      expect([core.code, core.output]).toEqual([SETTINGS_FAULT, expect.stringContaining("main.js migrate")]);
      const migration = await runCore(redis.url, ["migrate"]);
      expect([migration.code, migration.output]).toEqual([BUSY, expect.stringContaining("core")]);
    }));

  test("a core of the previous release does not start beside cores of this release, but edges of the previous release work with them", () =>
    underLoad({ edgeRelease: BEFORE }, async ({ redis }) => {
      const { code, output } = await runCore(redis.url, [], BEFORE);
      expect([code, output]).toEqual([
        1,
        expect.stringContaining("SHARDS is 16, but this Redis was first used"),
      ]);
    }));

  test.each([
    ["the previous release", "this release", { from: BEFORE, to: THIS_RELEASE, args: [] }],
    [
      "this release",
      "the previous release",
      { from: THIS_RELEASE, to: BEFORE, args: ["--to", FORMAT_BEFORE] },
    ],
  ])("a core of %s that was suspended during the migration to %s loses no event", async (_a, _b, change) => {
    const rig = await startRig(startTestRedis, { cores: 1, edges: 1, release: change.from });
    const closers: (() => unknown)[] = [() => rig.close()];
    try {
      const suspended = nth(rig.cores, 0);
      const workspace = await createWorkspace(suspended.clients);
      const send = async ({ clients }: Pick<typeof suspended, "clients">, text: string) =>
        published((await publish(clients, textEvent(workspace.id, text)))[0]).eventId;
      const expected = [await send(suspended, "before")];
      suspended.process.child.kill("SIGSTOP");
      await migrate(rig.redis.url, ...change.args);
      const core = await startCore(rig.redis.url, {}, change.to);
      closers.push(() => core.stop());
      const edge = await startEdge(core.port, {}, "ready", change.to);
      closers.push(() => edge.stop());
      const other = { clients: connectToCore(core.port) };
      closers.push(other.clients.close);
      expected.push(await send(other, "after"));
      suspended.process.child.kill("SIGCONT");
      for (let i = 0; i < PUBLICATIONS; i++) {
        const sent = await send(suspended, `by the suspended core ${i}`).catch(() => undefined);
        if (sent !== undefined) expected.push(sent);
      }
      expected.push(await send(other, "later"));
      const { json } = await poll(`http://127.0.0.1:${edge.port}`, workspace);
      expect((json as { events: { id: string }[] }).events.map(({ id }) => id)).toEqual(expected);
    } finally {
      for (const each of closers.toReversed()) await each();
    }
  });
});

// time: ordering
describe("two builds of this release", () => {
  const other = otherBuild();

  test("two builds of this release work side by side on the same data, and replace each other without losing an event", () =>
    underLoad({ release: [THIS_RELEASE, other] }, async ({ cores, edges, redis }, load) => {
      expect(await countLibraries(redis.url)).toBe(2);
      for (const [place, member] of [...cores, ...edges].entries()) {
        expect(await member.stop()).toBe(0);
        await member.start(place % 2 === 0 ? other : THIS_RELEASE);
        await load.grows();
      }
    }));
});
