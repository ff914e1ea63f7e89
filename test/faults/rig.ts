import { startTestRedis } from "../harness/redis";
import { startRig } from "../harness/rig";

/** A Redis and the service over it. */
export async function startRigOnRedis(options: Parameters<typeof startRig>[1]) {
  const rig = await startRig(startTestRedis, options);
  return { rig, redis: rig.redis };
}
