import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../test/harness/folder";
import { until } from "../../test/harness/wait";
import {
  expectedStops,
  expectedVerdicts,
  judge,
  judgeStops,
  type Running,
} from "../../test/odd-answers/judge";
import { startOddService, type OddService, type OddWorkspace } from "../../test/odd-answers/odd-service";
import { ODD_ANSWERS } from "../../test/odd-answers/rows";
import { startBridgeProcess } from "../common/test/bridge-process";
import { startFakeServer } from "../irc/test/harness/fake-server";

const folder = testFolder();
let service: OddService;
beforeAll(async () => {
  service = await startOddService();
});
afterAll(() => service.close());

const settingsOf = (baseUrl: string, { id, secret }: OddWorkspace) => ({
  BASE_URL: baseUrl,
  WORKSPACE_ID: id,
  SIGNING_SECRET: secret,
  STATE_FOLDER: mkdtempSync(join(folder, "state-")),
});

/** Starts the IRC bridge with its own small IRC server. */
async function startIrc(baseUrl: string, workspace: OddWorkspace): Promise<Running> {
  const server = await startFakeServer({ account: "games", password: "a long password" });
  const bridge = startBridgeProcess("irc", {
    ...settingsOf(baseUrl, workspace),
    IRC_HOST: "127.0.0.1",
    IRC_PORT: String(server.port),
    IRC_TLS: "off",
    IRC_CHANNELS: "games",
    IRC_LINE_MS: "1",
  });
  let hasExited = false;
  void bridge.exited.then(() => (hasExited = true));
  const hasJoined = () => hasExited || server.received.some((line) => line.startsWith("JOIN #games"));
  const joined = until("the bridge has joined, or has exited", hasJoined);
  return {
    output: () => server.received.join("\n") + bridge.output(),
    send: (text) => void joined.then(() => server.say(`:Ann!ann@host PRIVMSG #games :!play ${text}`)),
    exited: bridge.exited,
    async stop() {
      await bridge.stop("SIGKILL");
      server.close();
    },
  };
}

// time: ordering
test("the IRC bridge continues after every odd answer", async () => {
  const seen = await judge(service, ODD_ANSWERS, { start: startIrc, lanes: 8, channel: "#games" });
  expect(seen).toEqual(expectedVerdicts(ODD_ANSWERS));
});

test("the IRC bridge logs a refusal of its first poll and exits", async () => {
  const stops = ODD_ANSWERS.filter(({ poll }) => poll === "stop");
  expect(await judgeStops(service, stops, startIrc)).toEqual(expectedStops(stops));
});
