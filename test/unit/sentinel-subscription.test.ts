import { WatchedMaster } from "../../core/store/redis/sentinel";
import type { Argument, Connect, Reply } from "../../core/store/redis/connection";
import { parseRedisUrl, type RedisTarget } from "../../core/store/redis/url";

const TARGET = parseRedisUrl("redis+sentinel://10.0.0.1:26379/cb") as Extract<
  RedisTarget,
  { kind: "sentinel" }
>;
const ANSWER: Reply = ["ip", "10.0.0.2", "port", "6379", "config-epoch", "1"].map((each) =>
  Buffer.from(each),
);

test("a subscription that is added while core connects to a master is not lost", async () => {
  const subscribed: string[] = [];
  let queries = 0;
  const command = async ([name]: readonly Argument[]): Promise<Reply> => {
    if (name === "ROLE") return [Buffer.from("master")];
    queries += 1;
    // Core makes the second query after it has connected to the master.
    if (queries === 2) await master.subscribe("cb:*", () => undefined);
    return ANSWER;
  };
  const connect = (() => ({
    isReady: true,
    connect: async () => undefined,
    command,
    confirmed: command,
    subscribe: async (pattern: string) => void subscribed.push(pattern),
    close: () => undefined,
  })) as unknown as Connect;
  const master = new WatchedMaster(TARGET, { connect, onError: (error) => expect(error).toBeUndefined() });
  await master.start();
  await master.close();
  expect(subscribed).toEqual(["cb:*"]);
});
