import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connectRedis } from "../../core/store/redis/redis";
import { asText } from "../../core/store/redis/reply";
import { startPrivateRedis } from "../../deploy/local/private-redis";
import { openFormatOne, testFormatOne } from "../harness/format-one";
import { redisServer } from "../harness/redis-server";
import { newFolder, NO_DEMO, start, stop } from "./npm-start";

testFormatOne(
  "npm start converts data of release 1.0.0-beta.1, and prints one row about the conversion",
  async () => {
    const folder = newFolder();
    const redis = await startPrivateRedis({ server: redisServer(), folder: join(folder, "redis") });
    const old = await openFormatOne(redis.url);
    await old.mark();
    const workspace = await old.add();
    await old.publish(workspace, ["a", "b", "c"]);
    await old.close();
    await redis.stop();

    const run = await start({ folder, env: NO_DEMO });
    await run.ready();
    expect(run.printed().match(/^· data of an older release: converted, with 3 held events$/gm)).toHaveLength(
      1,
    );
    const client = await connectRedis({ url: redis.url, onError: () => undefined });
    expect(asText(await client.command("", ["GET", "cb:shards"]))).toMatch(/^16 format=2 /);
    await client.close();
    await stop(run);
    expect(readFileSync(join(folder, "logs/migrate.log"), "utf8")).toContain("held events converted: 3");

    const again = await start({ folder, env: NO_DEMO });
    await again.ready();
    expect(again.printed()).not.toContain("older release");
    await stop(again);
  },
);
