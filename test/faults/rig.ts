import { startTestRedis } from "../harness/redis";
import { startRig } from "../harness/rig";

/** Starts Redis and the service. */
export async function startRigOnRedis(options: Parameters<typeof startRig>[1]) {
  const rig = await startRig(startTestRedis, options);
  return { rig, redis: rig.redis };
}
