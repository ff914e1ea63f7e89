import { randomBytes } from "node:crypto";
import { askApi } from "../harness/dashboard";
import { testFolder } from "../harness/folder";
import { until } from "../harness/wait";
import { expectNoRefusal } from "./bridge-pod";
import {
  CORE,
  createInstallation,
  expectReplaced,
  install,
  PROCESSES,
  startBridge,
  startGame,
  tokenOf,
  underLoad,
  untilRolledOut,
  upgrade,
  withDashboard,
  type Installation,
} from "./installation";
import { describeInCluster, IMAGE, NEXT_IMAGE } from "./settings";
import { objectsIn } from "./objects";
import type { PodObject } from "./kubectl";
import { SECRET_SEEN_WITHIN_MS, untilLogged } from "./pod-logs";

const PROGRAMS = ["core", "edge", "dashboard"];
const LONG_MS = 1_200_000;

describeInCluster("the chart with one Redis server", () => {
  const folder = testFolder();
  let installation: Installation;
  let objectsBefore: readonly string[];
  beforeAll(async () => {
    installation = await createInstallation(folder);
    await installation.startRedis("redis");
    objectsBefore = await objectsIn(installation.chat);
  }, LONG_MS);
  afterAll(() => installation.destroy(), LONG_MS);

  async function setEntry(secret: string, key: string, value: string): Promise<void> {
    const patch = JSON.stringify({ stringData: { [key]: value } });
    await installation.chat.kubectl(["patch", "secret", secret, "--patch", patch]);
  }
  const uidsOf = (pods: readonly PodObject[]) => new Set(pods.map(({ metadata }) => metadata.uid));
  const allPods = () => installation.chat.pods("app.kubernetes.io/instance=games");

  test(
    "the commands of docs/kubernetes.md install the chart, and an operator can sign in to the dashboard",
    async () => {
      const began = performance.now();
      const notes = await install(installation);
      process.stderr.write(`── helm install --wait: ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
      expect(notes).toContain(`Games reach core at dns:///${CORE}.${installation.chat.name}.svc:50051`);
      const names = (await allPods()).map(({ metadata }) => metadata.labels["app.kubernetes.io/component"]);
      const ofEach = PROGRAMS.map((name) => names.filter((each) => each === name).length);
      expect(ofEach).toEqual([2, 2, 1]);
      const token = await tokenOf(installation, "operator:admin");
      const session = await withDashboard(installation, token, (url, cookie) =>
        askApi(url, "/session", { cookie }),
      );
      expect(session.json).toMatchObject({ tokenName: "admin" });
    },
    LONG_MS,
  );

  test(
    "a game in pods answers commands from workspaces that poll, and from a workspace that gets pushes",
    async () => {
      await startGame(installation);
      await startBridge(installation);
      expectNoRefusal(await underLoad(installation, "load", () => Promise.resolve()));
    },
    LONG_MS,
  );

  test(
    "an upgrade to another image replaces every pod, and no event is refused or lost",
    async () => {
      const before = await allPods();
      const account = await underLoad(installation, "helm upgrade", () => upgrade(installation));
      expectReplaced(before, await allPods(), NEXT_IMAGE);
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "a rollback replaces every pod, and no event is refused or lost",
    async () => {
      const before = await allPods();
      const account = await underLoad(installation, "helm rollback", async () => {
        await installation.helmCommand("rollback games 1 --wait --timeout 10m");
        await untilRolledOut(installation);
      });
      expectReplaced(before, await allPods(), IMAGE);
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "a token that is added to the Secret becomes valid without a restart, and becomes invalid when it is removed",
    async () => {
      const { chat } = installation;
      const before = await chat.secretEntry("chat-bridge-core", "CORE_TOKENS");
      const pods = await allPods();
      const alice = "a-token-of-alice-for-tests";
      // While only one core has read the changed file, a sign-in can succeed although the other core rejects the
      // session.
      async function signedIn(): Promise<boolean> {
        try {
          const ask = (url: string, cookie: string) => askApi(url, "/session", { cookie });
          const { json } = await withDashboard(installation, alice, ask);
          return (json as { tokenName?: string }).tokenName === "alice";
        } catch {
          return false;
        }
      }
      const account = await underLoad(installation, "a token is added and removed", async () => {
        await setEntry("chat-bridge-core", "CORE_TOKENS", `${before},operator:alice=${alice}`);
        await until("the token is valid", signedIn, SECRET_SEEN_WITHIN_MS);
        await setEntry("chat-bridge-core", "CORE_TOKENS", before);
        await until("the token is invalid", async () => !(await signedIn()), SECRET_SEEN_WITHIN_MS);
      });
      expect(uidsOf(await allPods())).toEqual(uidsOf(pods));
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "the token of the edges can be replaced without a restart, and no event is refused or lost",
    async () => {
      const { chat } = installation;
      const before = await chat.secretEntry("chat-bridge-core", "CORE_TOKENS");
      const old = await tokenOf(installation, "edge");
      const next = "a-new-token-of-the-edges-for-tests";
      const pods = await allPods();
      const count = before.split(",").length;
      const account = await underLoad(installation, "the token of the edges is replaced", async () => {
        await untilLogged(chat, ["core"], `tokens were read again: ${count + 1} tokens`, () =>
          setEntry("chat-bridge-core", "CORE_TOKENS", `${before},edge=${next}`),
        );
        await untilLogged(chat, ["edge", "dashboard"], "core accepts the new token of CORE_TOKEN_FILE", () =>
          setEntry("chat-bridge-edge", "CORE_TOKEN", next),
        );
        await untilLogged(chat, ["core"], `tokens were read again: ${count} tokens`, () =>
          setEntry("chat-bridge-core", "CORE_TOKENS", before.replace(`edge=${old}`, `edge=${next}`)),
        );
      });
      expect(uidsOf(await allPods())).toEqual(uidsOf(pods));
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "all pods get a new key in SECRETS_KEY through `rollout restart`, and no event is refused or lost",
    async () => {
      const { chat } = installation;
      const key = await chat.secretEntry("chat-bridge-core", "SECRETS_KEY");
      const before = await allPods();
      await setEntry("chat-bridge-core", "SECRETS_KEY", `${randomBytes(32).toString("hex")},${key}`);
      const account = await underLoad(installation, "rollout restart", async () => {
        await chat.kubectl(["rollout", "restart", ...PROCESSES.map((each) => `deployment/${each}`)]);
        await untilRolledOut(installation);
      });
      expectReplaced(before, await allPods(), IMAGE);
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "an upgrade of the game replaces its pods, and the game answers every command once",
    async () => {
      const { chat } = installation;
      const container = { name: "game", image: NEXT_IMAGE };
      const metadata = { annotations: { "chat-bridge-test/image": "next" } };
      const patch = { spec: { template: { metadata, spec: { containers: [container] } } } };
      const selector = "app.kubernetes.io/name=game";
      const before = await chat.pods(selector);
      const account = await underLoad(installation, "upgrade of the game", async () => {
        await chat.kubectl(["patch", "deployment", "game", "--patch", JSON.stringify(patch)]);
        await chat.rolledOut("deployment/game");
      });
      const after = (await chat.pods(selector)).filter(({ metadata }) => !metadata.deletionTimestamp);
      expectReplaced(before, after, NEXT_IMAGE);
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "`helm uninstall` leaves only the objects that existed before",
    async () => {
      expect(await objectsIn(installation.chat)).not.toEqual(objectsBefore);
      await installation.helmCommand("uninstall games --wait --timeout 5m");
      expect(await objectsIn(installation.chat)).toEqual(objectsBefore);
    },
    LONG_MS,
  );
});
