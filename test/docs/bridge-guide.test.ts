import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHttpClient } from "../../kit/check/http-client";
import { createObservedChat } from "../../kit/check/events/observed-chat";
import { checkPoller } from "../../kit/check/poll/check-poller";
import { checkBridge } from "../../kit/check/push/check-bridge";
import { nowSeconds, send, signatureOf } from "../harness/bridge";
import { startConsumer, type Consumer } from "../harness/consumer";
import { create, dm, update } from "../harness/contents";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { testWith } from "../harness/installed";
import { plainHost } from "../harness/plain-host";
import { startProgram } from "../harness/program";
import { sharedPush } from "../harness/push";
import { textEvent } from "../harness/service";
import { HANG_MS, until } from "../harness/wait";

const GUIDE = "docs/bridge-guide.md";
/** Timeout in ms. The first compilation with Go takes a long time. */
const COMPILE_MS = 400_000;

const push = sharedPush();
let consumer: Consumer;
const folder = testFolder();
beforeAll(async () => {
  consumer = await startConsumer(push.service.clients.games, { group: "bridge-guide" }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());

/** Saves the guide's program whose first line contains `name`. */
const save = (language: string, name: string) =>
  writeFileSync(join(folder, name), docProgram(GUIDE, language, name));

const start = (command: readonly [string, ...string[]], environment: Record<string, string>) =>
  startProgram(command, { cwd: folder, environment });

const environmentOf = (
  { id, secret }: { readonly id: string; readonly secret: string },
  baseUrl = push.service.url,
) => ({
  BASE_URL: baseUrl,
  WORKSPACE_ID: id,
  SIGNING_SECRET: secret,
});

// contract: signature-hmac, post-202
testWith(["openssl", "version"], ["curl", "--version"])(
  "the guide's shell command posts an event that the service accepts and a game receives",
  async () => {
    const workspace = await push.workspaces.make();
    save("sh", "send.sh");
    const command = docBlocks(GUIDE, "sh").find((block) => block.includes("| sh send.sh")) ?? "";
    const env = { PATH: process.env["PATH"], ...environmentOf(workspace) };
    const printed = execFileSync("sh", ["-c", command], { cwd: folder, env, encoding: "utf8" });
    expect(printed).toBe('{"ok":true}\n202\n');
    await until("the game receives the event", () => consumer.seen.some(({ text }) => text === "help"));
  },
);

// contract: kit-highest-update
testWith(["python3", "--version"])(
  "the guide's Python bridge shows held events once, applies updates, sends typed lines, and keeps its cursor",
  async () => {
    const workspace = await push.workspaces.make();
    const { id: workspaceId } = workspace;
    save("python", "bridge.py");
    const [first] = await push.publish(textEvent(workspaceId, "while you were away"));
    const { messageId = "" } = first ?? {};
    for (const text of ["older", "newer"]) {
      await push.publish({ workspaceId, content: update("c1", { id: messageId, text, kind: 1 }) });
    }
    await push.publish({ workspaceId, content: dm("u1", { text: "for you alone", kind: 1 }) });
    const bridge = start(["python3", "bridge.py"], environmentOf(workspace));
    await until("the bridge shows all events", () => bridge.output().includes("dm:u1: for you alone\n"));
    expect(bridge.output()).toBe("c1: while you were away\nc1 (edited): newer\ndm:u1: for you alone\n");
    bridge.type("from Python");
    await until("the game receives the line", () => consumer.seen.some(({ text }) => text === "from Python"));
    const cursor = join(folder, "cursor.txt");
    const isKept = () => existsSync(cursor) && /^\d+$/.test(readFileSync(cursor, "utf8"));
    await until("the bridge has saved its cursor", isKept);
    await bridge.stop();

    await push.publish(textEvent(workspaceId, "later"));
    const again = start(["python3", "bridge.py"], environmentOf(workspace));
    await until("the bridge shows the new event", () => again.output().includes("\n"));
    expect(again.output()).toBe("c1: later\n");
    await again.stop();

    const environment = { ...environmentOf(workspace), SIGNING_SECRET: "x" };
    const refused = start(["python3", "bridge.py"], environment);
    await until("the bridge prints the status 401", () => refused.output().includes("polling is over: 401"));
  },
);

// contract: kit-refused-create
testWith(["python3", "--version"])(
  "while the chat refuses one channel's messages, the guide's Python bridge shows other channels, even after a full page of refused messages, and keeps its cursor",
  async () => {
    const workspace = await push.workspaces.make();
    const { id: workspaceId } = workspace;
    const cursor = join(folder, "cursor.txt");
    const silence = join(folder, "silent");
    rmSync(cursor, { force: true });
    writeFileSync(silence, "");
    const program = docProgram(GUIDE, "python", "bridge.py");
    // The chat refuses messages in the channel c1 while the file `silent` exists.
    const shows = '        print(f"{where}: {message';
    const refuses = 'where == "c1" and pathlib.Path("silent").exists()';
    expect(program.split(shows)).toHaveLength(2);
    const silent = program.replace(
      shows,
      `        if ${refuses}:\n            raise OSError("silent")\n${shows}`,
    );
    writeFileSync(join(folder, "silent-bridge.py"), silent);
    const waiting = Array.from({ length: 110 }, (_, i) => `text ${i + 1}`);
    for (let i = 0; i < waiting.length; i += 50) {
      await push.publish(...waiting.slice(i, i + 50).map((text) => textEvent(workspaceId, text)));
    }
    await push.publish({ workspaceId, content: create("c2", { text: "another channel", kind: 1 }) });
    const bridge = start(["python3", "silent-bridge.py"], environmentOf(workspace));
    await until("the other channel is shown", () => bridge.output().includes("c2: another channel\n"));
    await until("a second round begins", () => bridge.output().split("refused by the chat").length > 2);
    expect(existsSync(cursor)).toBe(false);
    rmSync(silence);
    await until("all messages are shown", () => bridge.output().includes(`c1: ${waiting.at(-1)}\n`));
    await until("the bridge has saved its cursor", () => existsSync(cursor));
    const shown = bridge
      .output()
      .split("\n")
      .filter((line) => /^c\d: /.test(line));
    expect(shown).toEqual(["c2: another channel", ...waiting.map((text) => `c1: ${text}`)]);
    await bridge.stop();
  },
);

// time: smoke
testWith(["python3", "--version"])(
  "the guide's Python bridge passes the check's rules for polls, and applies an update that arrived before its create",
  async () => {
    save("python", "bridge.py");
    const polls =
      "has-more page-forged retry-after unknown-type gap update-held poll-query poll-signed poll-fresh";
    let bridge: ReturnType<typeof start> | undefined;
    const { rules } = await checkPoller({
      secrets: ["s"],
      only: polls.split(" "),
      onListening({ baseUrl, workspace }) {
        rmSync(join(folder, "cursor.txt"), { force: true });
        bridge = start(["python3", "bridge.py"], environmentOf({ id: workspace, secret: "s" }, baseUrl));
      },
    });
    expect(rules.filter(({ verdict }) => verdict === "failed")).toEqual([]);
    expect(bridge?.output()).toMatch(
      /: created after its update\n.* \(edited\): .*: updated before it was created\n/,
    );
    await bridge?.stop();
  },
);

// For the rule `hold-ends`, the check sends an update and, 7 seconds later, the create of the same message. When the
// create arrives, the bridge must already have dropped the update.
// contract: push-2xx
testWith(["go", "version"])(
  "the guide's Go bridge passes every rule of the check, and shows pushed events",
  async () => {
    const workspace = await push.workspaces.make();
    const { id: workspaceId, secret } = workspace;
    save("go", "push.go");
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, GOTOOLCHAIN: "local" };
    execFileSync("go", ["build", "-o", "push", "push.go"], { cwd: folder, env, stdio: "pipe" });
    const bridge = start([join(folder, "push")], {
      SIGNING_SECRET: secret,
      LISTEN: "127.0.0.1:0",
      OBSERVE: "1",
      TLS_CERT: push.certificate.certPath,
      TLS_KEY: push.certificate.keyPath,
    });
    const port = await until("the bridge listens", () => /listening on .*:(\d+)/.exec(bridge.output())?.[1]);

    const base = `https://127.0.0.1:${port}`;
    const [url, observe] = [new URL("/events", base), new URL("/observe", base)];
    const { rules } = await checkBridge({ url, observe, secrets: [secret], insecureLoopback: true });
    expect(rules.filter(({ verdict }) => verdict !== "passed")).toEqual([]);

    push.names.set("go.bridge.test", ["127.0.0.1"]);
    await push.workspaces.setTargetUrl(workspaceId, `https://go.bridge.test:${port}/events`);
    await push.publish({ workspaceId, content: create("c1", { text: "pushed", kind: 1 }) });
    await until("the bridge shows the pushed event", () => bridge.output().includes("c1: pushed\n"));
    expect((await push.logged(workspaceId, 1)).map(({ status }) => status)).toEqual([204]);
  },
  COMPILE_MS,
);

testWith(["python3", "--version"])(
  "the guide's Python function accepts a signature with the old or the new secret, and no other",
  () => {
    save("python", "verify.py");
    const raw = "{}";
    const signed = signatureOf("old", raw);
    const both = `${signatureOf("new", raw)},${signed.slice(signed.indexOf("v1="))}`;
    const headers = [
      signed,
      both,
      signatureOf("other", raw),
      signatureOf("old", "[]"),
      signatureOf("old", raw, nowSeconds() - 301),
      signed.replace("v1=", "v2="),
      `${signed} `,
    ];
    const program = `import json, sys; from verify import verify
print(json.dumps([verify(header, b"{}", ["new", "old"]) for header in json.loads(sys.argv[1])]))`;
    const printed = execFileSync("python3", ["-c", program, JSON.stringify(headers)], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(JSON.parse(printed)).toEqual([true, true, false, false, false, false, false]);
  },
);

test("the Date header of a 409 contains the service's time, as the guide says", async () => {
  const { id, secret } = await push.workspaces.make();
  const stale = { "Service-Signature": signatureOf(secret, "", nowSeconds() - 600) };
  const { status, headers } = await send(push.service.url, `/hooks/${id}/events`, { headers: stale });
  expect(status).toBe(409);
  expect(Math.abs(Date.parse(headers.date ?? "") - Date.now())).toBeLessThan(HANG_MS);
});

test("the check accepts the guide's example of an observation", async () => {
  const observation = docBlocks(GUIDE, "json").find((block) => block.includes('"messages"')) ?? "";
  const host = await plainHost((_request, response) => response.end(observation));
  const url = new URL(host.url);
  const client = createHttpClient(url, { timeoutMs: HANG_MS });
  try {
    const chat = createObservedChat({ url, client, secrets: ["s"], withinMs: HANG_MS });
    expect((await chat.read()).map(({ channel }) => channel)).toEqual(["general", "general", "dm:u1"]);
  } finally {
    client.close();
    await host.close();
  }
});
