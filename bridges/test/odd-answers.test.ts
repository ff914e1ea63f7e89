import { existsSync, mkdtempSync } from "node:fs";
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
import { startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../matrix/test/harness/synapse";
import { createTestCa } from "../../test/harness/test-ca";
import type { XmppMember } from "../xmpp/test/harness/xmpp-member";
import { ROOMS, startProsody, type XmppServer } from "../xmpp/test/harness/xmpp-server";
import { chatSettings, openRoom } from "../xmpp/test/harness/xmpp-stage";

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
  const seen = await judge(service, ODD_ANSWERS, { start: startIrc, lanes: 8, channel: () => "#games" });
  expect(seen).toEqual(expectedVerdicts(ODD_ANSWERS));
});

test("the IRC bridge logs a refusal of its first poll and exits", async () => {
  const stops = ODD_ANSWERS.filter(({ poll }) => poll === "stop");
  expect(await judgeStops(service, stops, startIrc)).toEqual(expectedStops(stops));
});

describe("the Matrix bridge", () => {
  const LANES = 8;
  let synapse: TestSynapse;
  let ann: Awaited<ReturnType<TestSynapse["member"]>>;
  /** The access token of each room's bridge, keyed by room. Each lane tests one bridge in its own room. */
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    synapse = await startSynapse();
    ann = await synapse.member("ann");
    for (let lane = 0; lane < LANES; lane += 1) {
      const bot = await synapse.member(`bot${lane}`);
      const room = await ann.createRoom({}, bot.id);
      await bot.join(room);
      tokens.set(room, bot.token);
    }
  }, SYNAPSE_WITHIN_MS);
  afterAll(() => synapse?.close());

  async function startMatrix(baseUrl: string, workspace: OddWorkspace): Promise<Running> {
    const { channel: room } = workspace;
    const settings = settingsOf(baseUrl, workspace);
    const bridge = startBridgeProcess("matrix", {
      ...settings,
      MATRIX_HOMESERVER: synapse.url,
      MATRIX_ACCESS_TOKEN: tokens.get(room) ?? tokens.values().next().value ?? "",
    });
    let hasExited = false;
    void bridge.exited.then(() => (hasExited = true));
    let texts: readonly string[] = [];
    let isOver = false;
    const watch = async (): Promise<boolean> => {
      texts = (await ann.messages(room)).map(({ body }) => body);
      return isOver;
    };
    // The bridge ignores messages that precede its first sync position.
    const isListening = () => hasExited || existsSync(join(settings.STATE_FOLDER, "sync.json"));
    const listening = until("the bridge follows the room, or has exited", isListening);
    const watched = tokens.has(room) ? until("the test is over", watch, Infinity) : undefined;
    return {
      output: () => texts.join("\n") + bridge.output(),
      send: (text) => void listening.then(() => ann.say(room, `!play ${text}`)),
      exited: bridge.exited,
      async stop() {
        isOver = true;
        await watched;
        await bridge.stop("SIGKILL");
      },
    };
  }

  // time: ordering
  test("continues after every odd answer", async () => {
    const rooms = [...tokens.keys()];
    const channel = (lane: number) => rooms[lane] ?? "";
    // If the kit drops a command, the Matrix bridge repeats the report until the command is 5 minutes old.
    const rows = ODD_ANSWERS.map((row) => (row.send === "wait" ? { ...row, send: "retry" as const } : row));
    const seen = await judge(service, rows, { start: startMatrix, lanes: LANES, channel });
    expect(seen).toEqual(expectedVerdicts(rows));
  });

  test("logs a refusal of its first poll and exits", async () => {
    const stops = ODD_ANSWERS.filter(({ poll }) => poll === "stop");
    expect(await judgeStops(service, stops, startMatrix)).toEqual(expectedStops(stops));
  });
});

describe("the XMPP bridge", () => {
  const LANES = 8;
  const ca = createTestCa();
  const roomOf = (lane: number): string => `lane${lane}@${ROOMS}`;
  let server: XmppServer;
  let ann: XmppMember;

  beforeAll(async () => {
    server = await startProsody(folder, ca);
    [ann] = (await openRoom(server, ["ann"], roomOf(0))) as [XmppMember];
    for (let lane = 1; lane < LANES; lane += 1) {
      await ann.join(roomOf(lane));
      await ann.configure({}, roomOf(lane));
    }
  });
  afterAll(async () => {
    ann.leave();
    await server.stop("SIGKILL");
    ca.close();
  });

  async function startXmpp(baseUrl: string, workspace: OddWorkspace): Promise<Running> {
    const room = workspace.channel.includes("@") ? workspace.channel : roomOf(0);
    const bridge = startBridgeProcess("xmpp", {
      ...settingsOf(baseUrl, workspace),
      ...chatSettings(server),
      XMPP_ROOMS: room,
    });
    let hasExited = false;
    void bridge.exited.then(() => (hasExited = true));
    const hasJoined = () => hasExited || bridge.logged("joined a room").length > 0;
    const joined = until("the bridge has joined, or has exited", hasJoined);
    const shown = () => ann.messages.filter(({ sender }) => sender === room).map(({ body }) => body);
    return {
      output: () => shown().join("\n") + bridge.output(),
      send: (text) => void joined.then(() => ann.say(`!play ${text}`, room)),
      exited: bridge.exited,
      stop: () => bridge.stop("SIGKILL"),
    };
  }

  /** Returns, for each lane, the verdicts' key of the first row that answers a poll. */
  function firstPolls(): ReadonlySet<string> {
    const lanes = Array.from({ length: LANES }, (_, lane) =>
      ODD_ANSWERS.filter((_row, index) => index % LANES === lane),
    );
    const firsts = lanes.map((rows) => rows.find(({ poll }) => poll === "ok" || poll === "retry"));
    return new Set(firsts.map((row) => `poll: ${row?.name}`));
  }

  // time: ordering
  test("continues after every odd answer", async () => {
    const seen = await judge(service, ODD_ANSWERS, { start: startXmpp, lanes: LANES, channel: roomOf });
    const expected = expectedVerdicts(ODD_ANSWERS);
    // The first page can arrive before the bridge has joined the room. Until the bridge has joined, the kit polls the
    // page again.
    const isFirst = ([what]: [string, string]) => firstPolls().has(what);
    const joined = Object.entries(seen).map((entry): [string, string] =>
      isFirst(entry) && entry[1] === "several retries" ? [entry[0], expected[entry[0]] ?? ""] : entry,
    );
    expect(Object.fromEntries(joined)).toEqual(expected);
  });

  test("logs a refusal of its first poll and exits", async () => {
    const stops = ODD_ANSWERS.filter(({ poll }) => poll === "stop");
    expect(await judgeStops(service, stops, startXmpp)).toEqual(expectedStops(stops));
  });
});
