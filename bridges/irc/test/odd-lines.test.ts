import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { startConsumer } from "../../../test/harness/consumer";
import { testFolder } from "../../../test/harness/folder";
import { freshWorkspace, sharedService } from "../../../test/harness/shared-service";
import { until } from "../../../test/harness/wait";
import { startBridgeProcess } from "../../common/test/bridge-process";
import { startFakeServer } from "./harness/fake-server";

const folder = testFolder();
const service = sharedService();
const workspace = freshWorkspace(service);

const COMMANDS =
  "PRIVMSG NOTICE JOIN PART KICK QUIT NICK ACCOUNT INVITE PONG MODE TOPIC CAP AWAY CHGHOST TAGMSG BATCH SETNAME WALLOPS " +
  "001 005 311 312 313 318 319 324 330 332 333 352 353 354 366 367 376 401 403 404 433 437 442 470 471 473 474 477 730 900 904";
const word = fc.oneof(
  fc.constantFrom(
    "games",
    "#games",
    "ann",
    ":",
    "347",
    "*",
    "=",
    "0",
    "LS",
    "lines-1",
    "CHANTYPES=",
    "@+ann",
  ),
  fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\r\n\0]/g, "")),
);
const source = fc.constantFrom(
  "",
  ":ann!a@host ",
  ":games!games@host ",
  ":irc.test ",
  ": ",
  ":! ",
  "@time=x;account= :ann!a@host ",
);
/** Lines of a server with missing, additional and odd parameters. */
const line = fc
  .tuple(source, fc.constantFrom(...COMMANDS.split(" ")), fc.array(word, { maxLength: 5 }), fc.boolean())
  .map(([from, command, params, hasLast]) => {
    const last = hasLast && params.length > 0 ? ` :${params.pop()}` : "";
    return `${from}${[command, ...params].join(" ")}${last}`;
  });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

test("malformed lines from the server do not stop the bridge", async () => {
  const server = await startFakeServer({ account: "games", password: "password" });
  closing.push(server.close);
  const consumer = await startConsumer(service.clients.games, { group: "irc-odd" }).opened();
  consumer.ackAll();
  closing.push(() => consumer.cancel());
  const bridge = startBridgeProcess("irc", {
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: mkdtempSync(join(folder, "state-")),
    IRC_HOST: "127.0.0.1",
    IRC_PORT: String(server.port),
    IRC_TLS: "off",
    IRC_CHANNELS: "games",
    IRC_BURST_LINES: "100",
    IRC_LINE_MS: "1",
  });
  closing.push(() => bridge.stop("SIGKILL"));
  await bridge.logs("joined a channel");
  for (const odd of fc.sample(line, { seed: 7, numRuns: 5_000 })) server.say(odd);
  // The odd lines may have removed the bridge from the channel, or closed the connection.
  await until("a command is reported", () => {
    server.say(":games!games@host JOIN #games games :games");
    server.say(":ann!a@host PRIVMSG #games :!play after all");
    expect(bridge.errors).not.toContain("TypeError");
    return consumer.seen.find(({ text }) => text === "after all");
  });
  expect(bridge.logged("skipped a line of the server that cannot be read")).not.toEqual([]);
  expect(await bridge.stop()).toBe(0);
});
