import { until } from "../harness/wait";
import { expectSound, suffer } from "./fault";
import { startRigOnRedis, type Rig } from "./rig";

let rig: Rig;
beforeEach(async () => {
  ({ rig } = await startRigOnRedis({ cores: 3 }));
}, 60_000);
afterEach(() => rig.close());

const CORES_STOPPED_MS = 10_000;

/** Kills them all, and starts them again at their ports when `during` is through. */
async function killAndStart(members: Rig["edges"], during: () => Promise<void>): Promise<void> {
  await Promise.all(members.map((member) => member.kill()));
  await during();
  await Promise.all(members.map((member) => member.start()));
}

test("when an edge is killed, nothing that was answered is lost, and the other edge serves", async () => {
  const became = await suffer(rig, {
    name: "SIGKILL of an edge",
    happens: (load) => killAndStart(rig.edges.slice(0, 1), () => load.grows()),
  });
  expectSound(became);
});

// contract: post-stored, poll-no-skip
test("when a core is killed, the others take over and nothing that was answered is lost", async () => {
  const became = await suffer(rig, {
    name: "SIGKILL of a core",
    happens: (load) => killAndStart(rig.cores.slice(0, 1), () => load.grows()),
  });
  expectSound(became);
});

// contract: post-stored, envelope-sequence
test("when all cores are killed, edges answer 503 until they are back, and nothing is lost", async () => {
  const became = await suffer(rig, {
    name: "SIGKILL of all cores",
    happens: () =>
      killAndStart(rig.cores, async () => {
        for (const edge of rig.edges)
          await until(
            "the edge says that it is not ready",
            async () => (await edge.readiness()).status === 503,
            30_000,
          );
      }),
  });
  expectSound(became);
});

test("a core that is stopped for 10 s loses its shards to the others, and acts on none of them when it wakes", async () => {
  let wokeAt = Infinity;
  const [stopped] = rig.cores;
  const pushedBefore = new Set<string>();
  const pushedAgain: string[] = [];
  const became = await suffer(rig, {
    name: "SIGSTOP of a core for 10 s",
    // So many that it has shards of some, whichever they are.
    workspaces: 12,
    everyMs: 450,
    async happens(load) {
      const stoppedAt = performance.now();
      stopped?.process.child.kill("SIGSTOP");
      await load.grows();
      await until("10 s have passed", () => performance.now() > stoppedAt + CORES_STOPPED_MS, 20_000);
      wokeAt = performance.now();
      stopped?.process.child.kill("SIGCONT");
      await load.grows();
      for (const fact of load.facts.all) {
        if (fact.saw !== "pushed" || !fact.ok) continue;
        if (fact.at > wokeAt && pushedBefore.has(fact.event)) pushedAgain.push(fact.event);
        if (fact.at <= wokeAt) pushedBefore.add(fact.event);
      }
    },
  });
  expectSound(became);
  expect(pushedBefore.size).toBeGreaterThan(0);
  expect(pushedAgain).toEqual([]);
});
