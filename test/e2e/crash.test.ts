import { expectSound, underFault } from "../faults/fault";
import { startRigOnRedis } from "../faults/rig";

// contract: post-stored, repeat-id, envelope-sequence, poll-no-skip
test("when the edge, core and Redis are killed under load, every accepted event arrives in order, and always under the same id", async () => {
  const { rig, redis } = await startRigOnRedis({ cores: 1, edges: 1 });
  try {
    const { became } = await underFault(rig, {
      name: "the edge, core and Redis killed in turn",
      async happens(load) {
        for (const member of [...rig.edges, ...rig.cores]) {
          await member.kill();
          await member.start();
          await load.grows();
        }
        await redis.kill();
        await redis.restart();
      },
    });
    expectSound(became);
  } finally {
    await rig.close();
  }
});
