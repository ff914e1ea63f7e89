import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkBridge } from "../../../kit/check/push/check-bridge";
import { checkPoller } from "../../../kit/check/poll/check-poller";
import type { CheckResult } from "../../../kit/check/result";
import { testFolder } from "../../../test/harness/folder";
import { plainHost } from "../../../test/harness/plain-host";
import { freePort } from "../../../test/harness/processes";
import { HANG_MS } from "../../../test/harness/wait";
import { startBridgeProcess, type BridgeProcess } from "../../common/test/bridge-process";
import { joinIrc, type IrcMember } from "./harness/irc-member";
import { startNgircd, type IrcServer } from "./harness/irc-server";

const SECRET = "the secret of the check";
const WORKSPACE = "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f";
const USER = "nick:ann";
const folder = testFolder();
let server: IrcServer;
let ann: IrcMember;
let observation: Awaited<ReturnType<typeof plainHost>>;
let bridge: BridgeProcess | undefined;

beforeAll(async () => {
  server = await startNgircd(folder);
  ann = await joinIrc(server, "Ann", "#games");
  observation = await plainHost((_request, response) =>
    response.end(JSON.stringify({ messages: seen(), edits: false })),
  );
});
afterEach(() => bridge?.stop("SIGKILL"));
afterAll(async () => {
  ann.leave();
  await observation.close();
  await server.stop("SIGKILL");
});

/** Returns the lines that the member has seen, in the form in which the checker reads shown messages. */
function seen() {
  return ann.lines
    .filter(({ from }) => from === "games")
    .map(({ target, text }) =>
      target === "#games" ? { channel: target, text } : { channel: `dm:${USER}`, text, to: USER },
    );
}

/**
 * Starts the bridge between the checker and the IRC server. The checker publishes faster than a game would, so the
 * limits for lines are high.
 */
async function startBridge(more: Readonly<Record<string, string>>): Promise<void> {
  const state = mkdtempSync(join(folder, "state-"));
  // This file says that the bridge has reported the member before, because only reported members get messages.
  writeFileSync(join(state, "reported.jsonl"), JSON.stringify({ user: USER }));
  bridge = startBridgeProcess("irc", {
    WORKSPACE_ID: WORKSPACE,
    SIGNING_SECRET: SECRET,
    STATE_FOLDER: state,
    IRC_HOST: server.host,
    IRC_PORT: String(server.port),
    IRC_TLS: "off",
    IRC_CHANNELS: "games",
    IRC_BURST_LINES: "100",
    IRC_LINE_MS: "10",
    IRC_UPDATE_SECONDS: "1",
    ...more,
  });
  await bridge.logs("joined a channel");
}

const options = () => ({
  secrets: [SECRET],
  workspace: WORKSPACE,
  channel: "#games",
  user: USER,
  observe: new URL(observation.url),
  withinMs: 30_000,
});

function expectPassed({ rules }: CheckResult): void {
  const faults = rules.flatMap((rule) =>
    rule.verdict === "failed" || rule.verdict === "not reached" ? [`${rule.id}: ${rule.found}`] : [],
  );
  expect(faults).toEqual([]);
  const passed = rules.filter(({ verdict }) => verdict === "passed");
  expect(passed.length).toBeGreaterThan(15);
}

test("a bridge that receives pushes passes the check", async () => {
  const port = await freePort();
  await startBridge({ BASE_URL: "http://127.0.0.1:1", MODE: "push", LISTEN: `127.0.0.1:${port}` });
  await bridge?.logs("connected to the service");
  const url = new URL(`http://127.0.0.1:${port}/events`);
  expectPassed(await checkBridge({ ...options(), url, answerWithinMs: HANG_MS }));
});

test("a bridge that polls passes the check", async () => {
  const result = await checkPoller({
    ...options(),
    onListening: ({ baseUrl }) => void startBridge({ BASE_URL: baseUrl }),
  });
  expectPassed(result);
});
