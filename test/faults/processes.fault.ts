import { startTestRedis } from "../harness/redis";
import { testRig, type Member } from "../harness/rig";
import { until } from "../harness/wait";
import { survive } from "./fault";

const rig = testRig(startTestRedis, { cores: 3 });

/** Kills `members`, which are edges or cores, calls `during`, and then restarts `members` on the same ports. */
async function killAndStart(members: readonly Member[], during: () => Promise<void>): Promise<void> {
  await Promise.all(members.map((member) => member.kill()));
  await during();
  await Promise.all(members.map((member) => member.start()));
}

test("when an edge is killed, the other edge continues to serve, and no acknowledged event is lost", async () => {
  await survive(rig, {
    name: "SIGKILL of an edge",
    happens: (load) => killAndStart(rig.edges.slice(0, 1), () => load.grows()),
  });
});

// contract: post-stored, poll-no-skip
test("when a core is killed, the other cores take over, and no acknowledged event is lost", async () => {
  await survive(rig, {
    name: "SIGKILL of a core",
    happens: (load) => killAndStart(rig.cores.slice(0, 1), () => load.grows()),
  });
});

// contract: post-stored, envelope-sequence
test("when all cores are killed, the edges' readiness probes answer with 503, and no acknowledged event is lost", async () => {
  await survive(rig, {
    name: "SIGKILL of all cores",
    happens: () =>
      killAndStart(rig.cores, async () => {
        for (const edge of rig.edges)
          await until("the edge is not ready", async () => (await edge.readiness()).status === 503);
      }),
  });
});

// time: ordering
test("a suspended core loses its shards to other cores, and does no work on these shards when it resumes", async () => {
  const before = new Set<string>();
  const again: string[] = [];
  await survive(rig, {
    name: "a core suspended with SIGSTOP until other cores have its shards",
    // Twelve workspaces are enough: the suspended core has the shards of some of them.
    workspaces: 12,
    everyMs: 450,
    async happens(load) {
      const core = rig.cores[0]?.process.child;
      core?.kill("SIGSTOP");
      // After this wait, other cores serve every workspace, so the leases of the suspended core have expired.
      await load.grows(2);
      const wokeAt = performance.now();
      core?.kill("SIGCONT");
      await load.grows();
      for (const fact of load.facts.all) {
        if (fact.saw !== "pushed" || !fact.ok) continue;
        if (fact.at <= wokeAt) before.add(fact.event);
        else if (before.has(fact.event)) again.push(fact.event);
      }
    },
  });
  expect(before.size).toBeGreaterThan(0);
  expect(again).toEqual([]);
});
