import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startConsumer } from "../../../test/harness/consumer";
import { testFolder } from "../../../test/harness/folder";
import { freshWorkspace, sharedService } from "../../../test/harness/shared-service";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import { startFakeServer } from "./harness/fake-server";
import { startBridgeProcess, type BridgeProcess } from "../../common/test/bridge-process";
import { joinIrc } from "./harness/irc-member";
import { startInspircd, startNgircd, type IrcServer } from "./harness/irc-server";

const folder = testFolder();
const service = sharedService();
const workspace = freshWorkspace(service);
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function bridgeTo(
  { host, port, caPath }: Pick<IrcServer, "host" | "port" | "caPath">,
  more = {},
): BridgeProcess {
  const bridge = startBridgeProcess("irc", {
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: mkdtempSync(join(folder, "state-")),
    IRC_HOST: host,
    IRC_PORT: String(port),
    ...(caPath === undefined ? { IRC_TLS: "off" } : { IRC_CA: caPath }),
    IRC_CHANNELS: "games",
    ...more,
  });
  closing.push(() => bridge.stop("SIGKILL"));
  return bridge;
}

async function newServer(start: () => Promise<IrcServer>): Promise<IrcServer> {
  const server = await start();
  closing.push(() => server.stop("SIGKILL"));
  return server;
}

const FAKE_LOGIN = { account: "games", password: "a long password" };
async function newFakeServer() {
  const server = await startFakeServer(FAKE_LOGIN);
  closing.push(server.close);
  return { ...server, host: "127.0.0.1", caPath: undefined };
}
const SASL = { IRC_SASL: "plain", IRC_SASL_ACCOUNT: "games" };

test("the bridge does not connect to a server whose certificate it does not trust, and keeps trying", async () => {
  const [ca, other] = [createTestCa(), createTestCa()];
  closing.push(ca.close, other.close);
  const server = await newServer(() => startInspircd(folder, ca.issue(["127.0.0.1"]), ca.certPath));
  const bridge = bridgeTo({ ...server, caPath: other.certPath });
  const { problem } = await bridge.logs("no connection to the IRC server: trying again");
  expect(problem).toMatch(/certificate/);
  const { status, body } = await bridge.health();
  expect(status).toBe(503);
  expect(body).toMatchObject({ ok: false, connections: { irc: { isConnected: false, problem } } });
});

test("if the nick is in use, the bridge uses a different nick, and changes to the wanted nick as soon as it is free", async () => {
  const server = await newServer(() => startNgircd(folder));
  const squatter = await joinIrc(server, "games", "#other");
  const ann = await joinIrc(server, "Ann", "#games");
  const bridge = bridgeTo(server);
  await bridge.ready();
  ann.say("hello", "games_");
  squatter.client.raw("JOIN #games");
  await squatter.inChannel();
  squatter.leave();
  const nicks: string[] = [];
  ann.client.on("nick", ({ new_nick: nick }) => nicks.push(nick));
  await until("the bridge has its nick", () => nicks.includes("games"));
  ann.leave();
});

test("the bridge rejoins a channel after a kick, accepts an allowed invitation, and rejoins the channel of the invitation after a restart", async () => {
  const server = await newServer(() => startNgircd(folder));
  const ann = await joinIrc(server, "Ann", "#games");
  const eve = await joinIrc(server, "Eve", "#games");
  const more = { IRC_ALLOW_INVITES: "nick:ann", STATE_FOLDER: mkdtempSync(join(folder, "state-")) };
  const bridge = bridgeTo(server, more);
  await bridge.ready();
  const joins: string[] = [];
  ann.client.on("join", ({ nick, channel }) => nick === "games" && joins.push(channel));
  ann.client.raw("KICK #games games :out");
  await until("the bridge is back", () => joins.includes("#games"));

  for (const { client } of [ann, eve]) client.raw("JOIN #quiz");
  eve.client.raw("JOIN #eves");
  eve.client.raw("INVITE games #eves");
  await bridge.logs("ignored an invitation: IRC_ALLOW_INVITES does not allow it");
  ann.client.raw("INVITE games #quiz");
  await until("the bridge is in #quiz", () => joins.includes("#quiz"));
  expect(await bridge.stop()).toBe(0);
  await bridgeTo(server, more).ready();
  await until("the bridge is in #quiz again", () => joins.filter((each) => each === "#quiz").length === 2);
  ann.leave();
  eve.leave();
});

test("after a kick, the bridge forgets a channel to which it was invited, and returns only after another invitation", async () => {
  const server = await newServer(() => startNgircd(folder));
  const ann = await joinIrc(server, "Ann", "#quiz");
  const state = mkdtempSync(join(folder, "state-"));
  const more = { IRC_ALLOW_INVITES: "nick:Ann", STATE_FOLDER: state };
  const bridge = bridgeTo(server, more);
  await bridge.ready();
  const joins: string[] = [];
  ann.client.on("join", ({ nick, channel }) => nick === "games" && joins.push(channel));
  const saved = (): unknown => JSON.parse(readFileSync(join(state, "channels.json"), "utf8"));

  ann.client.raw("INVITE games #quiz");
  await until("the bridge is in #quiz", () => joins.length === 1);
  expect(saved()).toEqual(["#quiz"]);
  ann.client.raw("KICK #quiz games :goodbye");
  await bridge.logs(
    "removed from a channel of an invitation: the bridge returns only after another invitation",
  );
  expect(saved()).toEqual([]);
  expect(await bridge.stop()).toBe(0);
  const restarted = bridgeTo(server, more);
  await restarted.ready();
  const { rooms } = (await restarted.health()).body as { rooms: unknown };
  expect(rooms).toEqual([{ id: "#games", name: "#games" }]);
  await ann.roundTrip();
  expect(joins).toHaveLength(1);

  ann.client.raw("INVITE games #quiz");
  await until("the bridge is in #quiz again", () => joins.length === 2);
  ann.leave();
});

test("after a forced part, the bridge forgets a channel to which it was invited; after a kick, it rejoins a channel in its settings", async () => {
  const server = await newFakeServer();
  const bridge = bridgeTo(server, { IRC_ALLOW_INVITES: "*" });
  await bridge.ready();
  server.say(":Ann!a@host INVITE games #parted");
  await until("the bridge joins", () => server.received.includes("JOIN #parted"));
  server.say(":games!games@host PART #parted :SAPART");
  server.say(":games!games@host KICK #games games :out");
  await bridge.logs("removed from a channel: joining again");
  const { rooms } = (await bridge.health()).body as { rooms: readonly { id: string }[] };
  expect(rooms.map(({ id }) => id)).toEqual(["#games"]);
  await until(
    "the bridge joins",
    () => server.received.filter((line) => line === "JOIN #games").length === 2,
  );
});

test("an account in IRC_ALLOW_INVITES is not case-sensitive, and allows even a member who shares no channel with the bridge", async () => {
  const server = await newFakeServer();
  const bridge = bridgeTo(server, { IRC_ALLOW_INVITES: "account:AnnSmith" });
  await bridge.ready();
  server.say(":Ann!a@host JOIN #games AnnSmith :Ann");
  server.say(":Ann!a@host INVITE games #one");
  await until("the bridge joins", () => server.received.includes("JOIN #one"));

  const isAsked = (nick: string) => until("the bridge asks", () => server.received.includes(`WHOIS ${nick}`));
  server.say(":Eve!e@host INVITE games #eves");
  await isAsked("Eve");
  server.say(":irc.test 311 games Eve e host * :Eve");
  server.say(":irc.test 330 games Eve Eve :is logged in as");
  server.say(":irc.test 318 games Eve :End");
  await bridge.logs("ignored an invitation: IRC_ALLOW_INVITES does not allow it");
  server.say(":Away!a@host INVITE games #two");
  await isAsked("Away");
  server.say(":irc.test 311 games Away a host * :Ann");
  server.say(":irc.test 330 games Away ANNSMITH :is logged in as");
  server.say(":irc.test 318 games Away :End");
  await until("the bridge joins", () => server.received.includes("JOIN #two"));
  expect(server.received).not.toContain("JOIN #eves");
});

test("the bridge logs in with SASL, and uses a member's account as the member's id", async () => {
  const server = await newFakeServer();
  const group = "irc-accounts";
  const consumer = await startConsumer(service.clients.games, { group, consumer: "one" }).opened();
  closing.push(() => consumer.cancel());
  const bridge = bridgeTo(server, { ...SASL, IRC_SASL_PASSWORD: FAKE_LOGIN.password });
  await bridge.ready();
  const userOf = async (number: number) => {
    const deliveries = await consumer.sees(number);
    return deliveries[number - 1]?.received.event?.user;
  };
  server.say("@account=AnnSmith :Ann!a@host PRIVMSG #games :!play");
  expect(await userOf(1)).toMatchObject({ id: "account:annsmith", name: "Ann" });
  server.say(":Bob!b@host JOIN #games * :Bob");
  server.say(":Bob!b@host PRIVMSG #games :!play");
  expect(await userOf(2)).toMatchObject({ id: "nick:bob", name: "Bob" });
  server.say(":Bob!b@host NICK Robert");
  server.say(":Robert!b@host PRIVMSG #games :!play");
  expect(await userOf(3)).toMatchObject({ id: "nick:bob", name: "Robert" });
  expect(server.received.filter((line) => line.startsWith("WHOIS"))).toEqual([]);
});

test("if the login fails, the bridge joins no channel, logs the reason, and never logs the password", async () => {
  const server = await newFakeServer();
  const bridge = bridgeTo(server, { ...SASL, IRC_SASL_PASSWORD: "a wrong password" });
  const { problem } = await bridge.logs("no connection to the IRC server: trying again");
  expect(problem).toContain("check IRC_SASL_ACCOUNT and its password");
  await until("the bridge has tried again", () => server.connections() >= 2);
  expect(server.received.filter((line) => line.startsWith("JOIN"))).toEqual([]);
  expect(JSON.stringify(bridge.log)).not.toContain("a wrong password");
});

test("if the server bans the bridge, the bridge logs the server's reason", async () => {
  const server = await newFakeServer();
  const bridge = bridgeTo(server, { ...SASL, IRC_SASL_PASSWORD: FAKE_LOGIN.password });
  await bridge.ready();
  server.hangUp("ERROR :Closing Link: games (K-Lined: no bots)");
  const { problem } = await bridge.logs("no connection to the IRC server: trying again");
  expect(problem).toContain("K-Lined: no bots");
});
