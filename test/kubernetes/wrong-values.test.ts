import { testFolder } from "../harness/folder";
import { until } from "../harness/wait";
import { createInstallation, install, podsOf, type Installation, type Values } from "./installation";
import { objectsIn } from "./objects";
import { describeInCluster } from "./settings";

const LONG_MS = 600_000;
const SEEN_WITHIN_MS = 120_000;

describeInCluster("wrong values", () => {
  const folder = testFolder();
  let installation: Installation;
  let objectsBefore: readonly string[];
  beforeAll(async () => {
    installation = await createInstallation(folder);
    await installation.startRedis("redis");
    objectsBefore = await objectsIn(installation.chat);
  }, LONG_MS);
  afterAll(() => installation.destroy(), LONG_MS);

  test.each([
    ["image.repository", { image: { repository: "" } }, "push the image to your registry"],
    ["core.secret", { core: { secret: "" } }, "create a Secret with the keys SECRETS_KEY and CORE_TOKENS"],
    ["edge.secret", { edge: { secret: "" } }, "create a Secret with the key CORE_TOKEN"],
    ["redis.hosts", { redis: { hosts: [] } }, "list host:port of the server"],
    ["networkPolicy.redis.to", { networkPolicy: { redis: { to: [] } } }, "list the peers"],
  ])(
    "without the value %s, Helm says how to set it, and creates nothing",
    async (_name, values: Values, message) => {
      const { code, stderr } = await installation.helm("install", values);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) as string });
      expect(await objectsIn(installation.chat)).toEqual(objectsBefore);
    },
    LONG_MS,
  );

  /**
   * Installs the chart without waiting for ready pods. Fails unless the text that `seen` returns soon matches `words`.
   * Then removes the release.
   */
  async function expectSeen(values: Values, seen: () => Promise<string>, words: RegExp): Promise<void> {
    try {
      await install(installation, values, "");
      let last = "";
      const isSeen = async () => words.test((last = await seen()));
      await until("the reason is visible", isSeen, SEEN_WITHIN_MS).catch(() => undefined);
      expect(last).toMatch(words);
    } finally {
      await installation.helmCommand("uninstall games --wait --timeout 5m");
    }
  }

  async function coreLog(): Promise<string> {
    const args = ["logs", "-l", podsOf("core"), "--tail=20"];
    return installation.chat.kubectl(args).catch((error: Error) => error.message);
  }
  const events = () =>
    installation.chat.kubectl(["get", "events", "-o", "jsonpath={range .items[*]}{.message}{'\\n'}{end}"]);

  test(
    "if a Secret does not exist, the events of the pods name the Secret",
    () => expectSeen({ core: { secret: "no-such-secret" } }, events, /secret "no-such-secret" not found/),
    LONG_MS,
  );

  test(
    "if the host of Redis does not exist, core's log names the host",
    () => expectSeen({ redis: { hosts: ["no-such-redis:6379"] } }, coreLog, /no-such-redis/),
    LONG_MS,
  );

  test(
    "if Redis rejects core's password, core's log says so",
    async () => {
      await installation.chat.secret("wrong-password", { password: "wrong" });
      await expectSeen({ redis: { passwordSecret: { name: "wrong-password" } } }, coreLog, /WRONGPASS/);
    },
    LONG_MS,
  );

  test(
    "if the value of a setting is invalid, core's log names the setting, and core exits with code 78",
    async () => {
      const exitCodes = async () => {
        const pods = await installation.chat.pods(podsOf("core"));
        const codes = pods.flatMap(({ status }) =>
          status.containerStatuses?.map(({ lastState }) => lastState.terminated?.exitCode),
        );
        return `${String(codes)} ${await coreLog()}`;
      };
      await expectSeen({ core: { settings: { SHARDS: "many" } } }, exitCodes, /^78\b.*SHARDS/s);
    },
    LONG_MS,
  );
});
