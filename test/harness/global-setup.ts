import { findRedisServer } from "../../local/redis-server";

/** Before any test: a machine without Redis gets one once, not once for each file that runs at the time. */
export default async function prepare(): Promise<void> {
  await findRedisServer((line) => process.stderr.write(`${line}\n`));
}
