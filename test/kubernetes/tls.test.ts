import { testFolder } from "../harness/folder";
import { createTestCa, type TestCa } from "../harness/test-ca";
import { until } from "../harness/wait";
import { expectNoRefusal } from "./bridge-pod";
import {
  CORE,
  createInstallation,
  expectReplaced,
  install,
  startBridge,
  startGame,
  underLoad,
  upgrade,
  type Installation,
} from "./installation";
import { untilLogged } from "./pod-logs";
import { describeInCluster, NEXT_IMAGE } from "./settings";

const LONG_MS = 1_200_000;
const VALUES = {
  tls: {
    serverSecret: "core-tls",
    caSecret: "core-ca",
    clientCaSecret: "callers-ca",
    clientSecret: "edge-tls",
  },
  redis: { tls: true, ca: { secret: "redis-ca" } },
};
/** Settings with the paths of the certificates in the game's pods, where game.yaml mounts the certificates. */
const GAME_TLS = {
  CORE_TLS_CA: "/tls/ca.crt",
  CORE_TLS_CERT: "/tls/tls.crt",
  CORE_TLS_KEY: "/tls/tls.key",
};

describeInCluster("the chart with mutual TLS between the processes, and with TLS to Redis", () => {
  const folder = testFolder();
  const callersCa = createTestCa();
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation(folder);
    await createCertificates(installation, callersCa);
    await installation.startRedis("redis", "redis-tls.yaml");
    await install(installation, VALUES);
    await startGame(installation, GAME_TLS);
    await startBridge(installation);
  }, LONG_MS);
  afterAll(async () => {
    callersCa.close();
    await installation.destroy();
  }, LONG_MS);

  test(
    "no event is refused or lost during an upgrade under load",
    async () => {
      const pods = () => installation.chat.pods("app.kubernetes.io/instance=games");
      const before = await pods();
      const account = await underLoad(installation, "mutual TLS: helm upgrade", () =>
        upgrade(installation, VALUES),
      );
      expectReplaced(before, await pods(), NEXT_IMAGE);
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "certificates can be replaced in their Secrets without a restart, and no event is refused or lost",
    async () => {
      const { chat } = installation;
      const pods = () => chat.pods("app.kubernetes.io/instance=games");
      const before = new Set((await pods()).map(({ metadata }) => metadata.uid));
      const account = await underLoad(installation, "mutual TLS: new certificates", async () => {
        await untilLogged(chat, ["core"], "certificates were read again", () =>
          chat.secret("core-tls", issueForCore(installation)),
        );
        await untilLogged(chat, ["edge", "dashboard"], "certificates were read again", () =>
          chat.secret("edge-tls", pair(callersCa.issue(["edge"]))),
        );
      });
      expect(new Set((await pods()).map(({ metadata }) => metadata.uid))).toEqual(before);
      expectNoRefusal(account);
    },
    LONG_MS,
  );

  test(
    "a game without a certificate cannot connect to core",
    async () => {
      const { chat } = installation;
      await chat.secret("game-tls", { "ca.crt": installation.ca.cert });
      const patch = JSON.stringify({ data: { CORE_TLS_CERT: null, CORE_TLS_KEY: null } });
      await chat.kubectl(["patch", "secret", "game-settings", "--patch", patch]);
      await chat.kubectl(["delete", "pod", "-l", "app.kubernetes.io/name=game"]);
      const reason = /certificate|ECONNRESET|no connection|handshake/i;
      expect(await gameLog(installation)).toMatch(reason);
      const pods = await chat.pods("app.kubernetes.io/name=game");
      const isReady = pods.map(
        ({ status }) => status.conditions?.find(({ type }) => type === "Ready")?.status,
      );
      expect(isReady).toEqual(["False", "False"]);
    },
    LONG_MS,
  );
});

const pair = ({ cert, key }: { readonly cert: Buffer; readonly key: Buffer }) => ({
  "tls.crt": cert,
  "tls.key": key,
});

function issueForCore({ chat, ca }: Installation) {
  return pair(ca.issue([CORE, `${CORE}-grpc`].map((service) => `${service}.${chat.name}.svc`)));
}

/**
 * Creates the Secrets with the certificates. One CA issues those of core and Redis, and another CA those of core's
 * callers.
 */
async function createCertificates(installation: Installation, callersCa: TestCa): Promise<void> {
  const { chat, data, ca } = installation;
  await chat.secret("core-tls", issueForCore(installation));
  await chat.secret("core-ca", { "ca.crt": ca.cert });
  await chat.secret("callers-ca", { "ca.crt": callersCa.cert });
  await chat.secret("edge-tls", pair(callersCa.issue(["edge"])));
  await chat.secret("game-tls", { ...pair(callersCa.issue(["game"])), "ca.crt": ca.cert });
  await chat.secret("redis-ca", { "ca.crt": ca.cert });
  await data.secret("redis-tls", pair(ca.issue([`redis.${data.name}.svc`])));
}

/** Waits until the game's pods have logged a line, and returns their log. */
async function gameLog({ chat }: Installation): Promise<string> {
  const args = ["logs", "-l", "app.kubernetes.io/name=game", "--tail=20"];
  return until("the game logs", async () => (await chat.kubectl(args).catch(() => "")) || undefined);
}
