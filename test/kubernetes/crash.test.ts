import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../harness/folder";
import { until } from "../harness/wait";
import { expectNoRefusal, expectOnlyOutages } from "./bridge-pod";
import { evict, whileCordoned } from "./eviction";
import {
  createInstallation,
  install,
  podsOf,
  startBridge,
  startGame,
  underLoad,
  untilRolledOut,
  type Installation,
} from "./installation";
import { describeInCluster } from "./settings";

const LONG_MS = 1_200_000;
/** A program that makes the main process of its container crash. */
const CRASH = join(__dirname, "programs/crash.mjs");
const NOT_READY_WITHIN_MS = 60_000;

describeInCluster("a pod that crashes, and a node that is drained", () => {
  const folder = testFolder();
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation(folder);
    await installation.startRedis("redis");
    await install(installation);
    await startGame(installation);
    await startBridge(installation);
  }, LONG_MS);
  afterAll(() => installation.destroy(), LONG_MS);

  async function firstPod(selector: string) {
    const [pod] = await installation.chat.pods(selector);
    if (pod === undefined) throw new Error(`no pod has the labels ${selector}`);
    return pod;
  }
  const readyPods = async (selector: string) =>
    (await installation.chat.pods(selector)).filter(({ metadata, status }) => {
      const isReady = status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
      return isReady === true && metadata.deletionTimestamp === undefined;
    });

  const PODS = [
    ["core", podsOf("core"), "deployment/games-chat-bridge-core"],
    ["edge", podsOf("edge"), "deployment/games-chat-bridge-edge"],
    ["dashboard", podsOf("dashboard"), "deployment/games-chat-bridge-dashboard"],
    ["game", "app.kubernetes.io/name=game", "deployment/game"],
  ] as const;

  /** A crash of the dashboard or a game must not affect the bridge's requests. */
  const expectFor = (name: string) =>
    name === "core" || name === "edge" ? expectOnlyOutages : expectNoRefusal;

  test.each(PODS)(
    "no event is lost when a process of %s crashes",
    async (name, selector, workload) => {
      const { chat } = installation;
      const account = await underLoad(installation, `crash of ${name}`, async () => {
        const { metadata } = await firstPod(selector);
        const command = ["exec", "-i", metadata.name, "--", "node", "--input-type=module"];
        // The `exec` command fails, because its container exits.
        await chat.kubectl(command, readFileSync(CRASH, "utf8")).catch(() => undefined);
        await until("the container has restarted", async () => {
          const pods = await chat.pods(selector);
          const pod = pods.find(({ metadata: { uid } }) => uid === metadata.uid);
          return pod?.status.containerStatuses?.some(({ restartCount }) => restartCount > 0);
        });
        await chat.rolledOut(workload);
      });
      expectFor(name)(account);
    },
    LONG_MS,
  );

  test.each(PODS)(
    "no event is lost when a pod of %s is deleted by force",
    async (name, selector, workload) => {
      const account = await underLoad(installation, `deletion by force, ${name}`, async () => {
        const { metadata } = await firstPod(selector);
        await installation.chat.kubectl(["delete", "pod", metadata.name, "--force", "--grace-period=0"]);
        await installation.chat.rolledOut(workload);
      });
      expectFor(name)(account);
    },
    LONG_MS,
  );

  test(
    "no event is lost when Redis restarts under load",
    async () => {
      const { data } = installation;
      const restarts = async () =>
        (await data.pods("app.kubernetes.io/instance=redis"))[0]?.status.containerStatuses?.[0]?.restartCount;
      const before = await restarts();
      const account = await underLoad(installation, "restart of Redis", async () => {
        const command = ["exec", "redis-0", "--", "redis-cli", "shutdown", "now"];
        // The command fails, because Redis closes the connection when it shuts down.
        await data.kubectl(command).catch(() => undefined);
        await until("Redis has restarted", async () => (await restarts()) !== before, NOT_READY_WITHIN_MS);
        await data.rolledOut("statefulset/redis");
      });
      expectOnlyOutages(account);
    },
    LONG_MS,
  );

  test.each(["core", "edge"])(
    "when nodes are drained, the second pod of %s is evicted only after the first one was replaced",
    async (component) => {
      const { chat } = installation;
      const [first, second, ...others] = await readyPods(podsOf(component));
      if (first === undefined || second === undefined)
        throw new Error(`${component} has fewer than two pods`);
      expect(others).toEqual([]);
      const account = await underLoad(installation, `drain, ${component}`, async () => {
        await whileCordoned([first, second], async () => {
          expect(await evict(chat, first)).toMatchObject({ code: 0 });
          const refused = await evict(chat, second);
          expect(refused.code).not.toBe(0);
          expect(refused.stderr).toContain("violate the pod's disruption budget");
        });
        // Like `kubectl drain`, the test repeats the eviction until the disruption budget allows it.
        const isEvicted = async () => (await evict(chat, second)).code === 0;
        await until("the budget allows the second eviction", isEvicted, 120_000);
        await untilRolledOut(installation);
      });
      const now = (await readyPods(podsOf(component))).map(({ metadata }) => metadata.uid);
      expect(now).not.toContain(first.metadata.uid);
      expect(now).not.toContain(second.metadata.uid);
      expectNoRefusal(account);
    },
    LONG_MS,
  );
});
