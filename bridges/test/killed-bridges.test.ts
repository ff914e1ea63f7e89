import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { MessageCreate, MessageUpdate, OutboundEvent } from "../../kit/events";
import { pushTo, SECRET } from "../../kit/test/harness/kit-receiver";
import { testFolder } from "../../test/harness/folder";
import { KILL_STEPS, killAt } from "../../test/harness/kill-at";
import { freePort } from "../../test/harness/processes";
import { head, message, WORKSPACE } from "../../test/harness/sample-events";
import { until } from "../../test/harness/wait";
import { startBridgeProcess, type BridgeProcess } from "../common/test/bridge-process";
import { joinIrc, type IrcMember } from "../irc/test/harness/irc-member";
import { startNgircd, type IrcServer } from "../irc/test/harness/irc-server";
import type { MatrixMember } from "../matrix/test/harness/matrix-member";
import { startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../matrix/test/harness/synapse";
import type { XmppMember } from "../xmpp/test/harness/xmpp-member";
import { startProsody, type XmppServer } from "../xmpp/test/harness/xmpp-server";
import { chatSettings, openRoom, ROOM } from "../xmpp/test/harness/xmpp-stage";
import { createTestCa } from "../../test/harness/test-ca";

const folder = testFolder();
let synapse: TestSynapse;
let irc: IrcServer;
let [ann, games]: MatrixMember[] = [];
let cid: IrcMember;
let room = "";
const ca = createTestCa();
let xmpp: XmppServer;
let dan: XmppMember;

beforeAll(async () => {
  [synapse, irc, xmpp] = await Promise.all([startSynapse(), startNgircd(folder), startProsody(folder, ca)]);
  [dan] = (await openRoom(xmpp, ["ann"])) as [XmppMember];
  [ann, games] = await Promise.all([synapse.member("ann"), synapse.member("games")]);
  room = await ann.createRoom({ name: "Quiz night" }, games.id);
  await games.join(room);
  cid = await joinIrc(irc, "cid", "#games");
}, SYNAPSE_WITHIN_MS);
afterAll(async () => {
  cid?.leave();
  dan?.leave();
  await irc?.stop();
  await xmpp?.stop("SIGKILL");
  ca.close();
  await synapse?.close();
});

/**
 * The chats. `settings` are the settings of a chat's bridge, and `texts` resolves to what a member has seen in the
 * channel.
 */
const CHATS = {
  irc: {
    channel: () => "#games",
    settings: async () => ({
      IRC_HOST: irc.host,
      IRC_PORT: String(irc.port),
      IRC_TLS: "off",
      IRC_CHANNELS: "games",
      IRC_LINE_MS: "50",
    }),
    isReady: "joined a channel",
    texts: async (): Promise<readonly string[]> => cid.lines.map(({ text }) => text),
  },
  matrix: {
    channel: () => room,
    settings: async () => ({ MATRIX_HOMESERVER: synapse.url, MATRIX_ACCESS_TOKEN: games?.token ?? "" }),
    isReady: "signed in to the homeserver",
    texts: async (): Promise<readonly string[]> =>
      ((await ann?.messages(room)) ?? []).map(({ body }) => body.trim()),
  },
  xmpp: {
    channel: () => ROOM,
    settings: async () => chatSettings(xmpp),
    isReady: "joined a room",
    texts: async (): Promise<readonly string[]> => dan.messages.map(({ body }) => body),
  },
};

/**
 * Returns a bridge in push mode, which the test can restart any number of times with the same state folder and port.
 */
async function setUp(name: keyof typeof CHATS) {
  const { settings, isReady } = CHATS[name];
  const port = await freePort();
  const environment = {
    BASE_URL: "http://127.0.0.1:9",
    WORKSPACE_ID: WORKSPACE,
    SIGNING_SECRET: SECRET,
    STATE_FOLDER: mkdtempSync(join(folder, "state-")),
    MODE: "push",
    LISTEN: `127.0.0.1:${port}`,
    ...(await settings()),
  };
  return {
    async start(more: Record<string, string> = {}): Promise<BridgeProcess> {
      const bridge = startBridgeProcess(name, { ...environment, ...more });
      await bridge.logs(isReady);
      await bridge.ready();
      return bridge;
    },
    /** Resolves to whether the bridge has accepted the event. */
    push: (event: OutboundEvent) =>
      pushTo(`http://127.0.0.1:${port}`, event).then(
        ({ status }) => status === 204,
        () => false,
      ),
  };
}

let events = 0;
/** Returns an event that posts a text. The id of the event is unique. */
function post(channel: string, text = ""): MessageCreate {
  events += 1;
  return { ...head(events), type: "message.create", channel, message: { ...message(events), text } };
}

/** Returns an event that changes the text of a message. */
function update({ channel, message: { id } }: MessageCreate, text = ""): OutboundEvent {
  const event = post(channel, text);
  return { ...event, type: "message.update", message: { ...event.message, id } };
}

describe.each(["irc", "matrix", "xmpp"] as const)("the bridge for %s, in push mode,", (name) => {
  const { channel, texts } = CHATS[name];

  test.each(Object.entries(KILL_STEPS))("that is killed %s shows the event once", async (_when, step) => {
    const { start, push } = await setUp(name);
    const text = `event of ${name} ${step}`;
    const event = post(channel(), text);
    const killed = await start(killAt(step));
    const isAccepted = await push(event);
    expect(await killed.exited).toBeNull();
    const next = await start();
    // The service retries a push that got no answer.
    if (!isAccepted) expect(await push(event)).toBe(true);
    const last = `after ${text}`;
    expect(await push(post(channel(), last))).toBe(true);
    await until("the last event is shown", async () => (await texts()).includes(last));
    expect((await texts()).filter((each) => each === text)).toHaveLength(1);
    expect(await next.stop()).toBe(0);
  });
});

test.each([
  "after the chat shows the event, before the kit records this",
  "while the kit records that the chat shows the event",
  "before the event is removed",
] as const)("the Matrix bridge, if it is killed %s, posts a new question once", async (step) => {
  const { start, push } = await setUp("matrix");
  const shows = async (text: string) => (await CHATS.matrix.texts()).includes(text);
  const lobby = post(room, `lobby, killed ${step}`);
  const first = await start();
  expect(await push(lobby)).toBe(true);
  await until("the lobby is shown", () => shows(lobby.message.text));
  await first.stop();

  const text = `question, killed ${step}`;
  const event = update(lobby, text) as MessageUpdate;
  const question = { ...event, message: { ...event.message, kind: "question", awaitsReply: true } };
  const killed = await start(killAt(KILL_STEPS[step]));
  const isAccepted = await push(question);
  expect(await killed.exited).toBeNull();
  const next = await start();
  if (!isAccepted) expect(await push(question)).toBe(true);
  const last = `after ${text}`;
  expect(await push(post(room, last))).toBe(true);
  await until("the last event is shown", () => shows(last));
  const texts = await CHATS.matrix.texts();
  expect(texts.filter((each) => each === text || each === lobby.message.text)).toEqual([
    lobby.message.text,
    text,
  ]);
  // An update of the question edits the new message.
  expect(await push(update(lobby, `answer, killed ${step}`))).toBe(true);
  await until("the answer replaces the question", async () => !(await shows(text)));
  expect(await shows(lobby.message.text)).toBe(true);
  expect(await next.stop()).toBe(0);
});

test("the IRC bridge, if it is killed in the middle of a message, continues with the next line and shows all accepted events", async () => {
  const { start, push } = await setUp("irc");
  const killed = await start({ IRC_BURST_LINES: "1", IRC_LINE_MS: "300" });
  const lines = Array.from({ length: 8 }, (_, i) => `line ${i} of a long message`);
  for (const text of [`\`\`\`\n${lines.join("\n")}\n\`\`\``, "a short message"]) {
    expect(await push(post("#games", text))).toBe(true);
  }
  await cid.sees("line 2 of");
  await killed.stop("SIGKILL");
  const shown = async () => {
    const all = new Set([...lines, "a short message"]);
    return (await CHATS.irc.texts()).filter((text) => all.has(text));
  };
  expect((await shown()).length).toBeLessThan(lines.length);
  const next = await start();
  await cid.sees("a short message");
  expect(await shown()).toEqual([...lines, "a short message"]);
  expect(await next.stop()).toBe(0);
});

test.each(["SIGKILL", "SIGTERM"] as const)(
  "the Matrix bridge, if %s stops it during an outage of the homeserver, shows all accepted events afterwards",
  async (signal) => {
    const { start, push } = await setUp("matrix");
    const stopped = await start();
    const [before, changed, after] = ["shown before", "changed during", "posted during"].map(
      (words) => `${words} the outage, ${signal}`,
    );
    const shows = async (text = "") => (await CHATS.matrix.texts()).includes(text);
    const first = post(room, before);
    expect(await push(first)).toBe(true);
    await until("the message is shown", () => shows(before));
    await synapse.stop("SIGKILL");
    expect(await push(update(first, changed))).toBe(true);
    expect(await push(post(room, after))).toBe(true);
    await stopped.stop(signal);
    await synapse.start();
    const next = await start();
    await until("all events are shown", async () => (await shows(changed)) && (await shows(after)));
    expect(await shows(before)).toBe(false);
    expect(await next.stop()).toBe(0);
  },
);
