import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CARD, create } from "../../../test/harness/contents";
import { startConsumer, type Consumer, type Seen } from "../../../test/harness/consumer";
import { packedKit } from "../harness/kit-package";
import { freePort } from "../../../test/harness/processes";
import { sharedPush } from "../../../test/harness/push";
import { textEvent } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";

const push = sharedPush();
let consumer: Consumer;
const kit = packedKit();
const examples = kit.compileExamples();
beforeAll(async () => {
  consumer = await startConsumer(push.service.clients.games, { group: "bridge-readme" }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());

const environmentOf = (id: string, secret: string) => {
  return { BASE_URL: push.service.url, WORKSPACE_ID: id, SIGNING_SECRET: secret };
};

/** Returns the type of an inbound event, and its text or action. */
function kindOf({ received: { event } }: Seen): string {
  if (event?.kind === undefined) return "";
  const { $case, value } = event.kind;
  return `${$case} ${$case === "action" ? value.action : value.text}`;
}

test("the package contains the kit's code, types, README and licence; all exports can be imported; the command runs", () => {
  const folder = join(kit.folder, "node_modules/chat-bridge-kit");
  expect(readdirSync(folder).toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "dist",
    "package.json",
    "template",
  ]);
  const script = `
    const { exports } = require("chat-bridge-kit/package.json");
    const { existsSync } = require("node:fs");
    for (const [name, { types }] of Object.entries(exports)) {
      if (types !== undefined && !existsSync(${JSON.stringify(folder)} + types.slice(1))) throw new Error(types);
      require(name.replace(".", "chat-bridge-kit"));
    }
    console.log(Object.keys(exports).length);`;
  const printed = execFileSync(process.execPath, ["-e", script], { cwd: kit.folder, encoding: "utf8" });
  expect(Number(printed)).toBeGreaterThan(10);
  const command = join(folder, "dist/kit/check/main.js");
  const list = execFileSync(process.execPath, [command, "--list"], { cwd: kit.folder, encoding: "utf8" });
  expect(list).toMatch(/^Rules for a bridge:\n {2}\w/);
});

test("the README's examples compile with strict options, and no page of the package contains a relative link", () => {
  // `compileExamples` throws if the examples do not compile.
  expect(examples).toEqual(expect.arrayContaining(["poll-bridge.mts", "push-bridge.mts"]));
  expect(examples).toHaveLength(6);
  expect(kit.readme).not.toContain("```js");
  const template = readFileSync(join(kit.folder, "node_modules/chat-bridge-kit/template/README.md"), "utf8");
  for (const page of [kit.readme, template]) {
    expect(page).not.toMatch(/\]\((?!https?:|#)|\]: (?!https?:)|(?:href|src)="(?!https?:|#)/);
  }
});

test("a TypeScript version that ignores the package's `exports` finds the same types as a version that reads them", () => {
  const { exports, typesVersions } = JSON.parse(
    readFileSync(join(kit.folder, "node_modules/chat-bridge-kit/package.json"), "utf8"),
  ) as {
    exports: Record<string, { types?: string }>;
    typesVersions: Record<"*", Record<string, readonly string[]>>;
  };
  const paths = typesVersions["*"];
  for (const [entry, { types }] of Object.entries(exports)) {
    const name = entry.replace("./", "");
    const [found = ""] = paths[name] ?? paths["*"] ?? [];
    // For the root import, an old TypeScript version reads the field `types` of package.json, not `typesVersions`.
    if (types !== undefined && entry !== ".")
      expect([entry, found.replace("*", name)]).toEqual([entry, types]);
  }
});

test("the README's polling bridge shows published events, sends typed lines, and stops gracefully", async () => {
  const { id, secret } = await push.workspaces.make();
  await push.publish(textEvent(id, "while you were away"));
  const environment = environmentOf(id, secret);
  const bridge = kit.start("poll-bridge.mjs", environment);
  await until("the bridge shows the message", () => bridge.output().includes("c1: while you"));
  const kinds = () => consumer.seen.filter(({ workspaceId }) => workspaceId === id).map(kindOf);
  bridge.type("!start 3");
  await until("the game receives the command", () => kinds().includes("command start 3"));
  const rows = [{ buttons: [{ label: "Join", press: { $case: "action" as const, value: "join" } }] }];
  await push.publish({ workspaceId: id, content: create("terminal", { ...CARD, rows }) });
  await until("the bridge shows the button", () => bridge.output().includes("terminal: hi\n  1. Join\n"));
  bridge.type("#1");
  await until("the game receives the press", () => kinds().includes("action join"));
  bridge.type("hello from a terminal");
  await until("the game receives the message", () => kinds().includes("message hello from a terminal"));
  expect(await bridge.stop()).toBe(0);
  expect(bridge.output()).toBe("c1: while you were away\nterminal: hi\n  1. Join\n");

  await push.publish(textEvent(id, "later"));
  const again = kit.start("poll-bridge.mjs", environment);
  await until("the bridge shows the later message", () => again.output().includes("later"));
  await again.stop();
  expect(again.output()).toBe("c1: later\n");
});

test("the README's push bridge shows published events, sends a command, and stops gracefully", async () => {
  const { id, secret } = await push.workspaces.make();
  const { keyPath, certPath } = push.certificate;
  const port = await freePort();
  const tls = { TLS_KEY: keyPath, TLS_CERT: certPath, PORT: String(port) };
  push.names.set("guide.bridge.test", ["127.0.0.1"]);
  await push.workspaces.setTargetUrl(id, `https://guide.bridge.test:${port}/events`);
  const bridge = kit.start("push-bridge.mjs", { ...environmentOf(id, secret), ...tls });
  await until("the bridge has sent its command", () => bridge.output().includes("accepted"));
  await push.publish(textEvent(id, "hello"));
  await until("the bridge shows the message", () => bridge.output().includes("hello"));
  expect((await push.logged(id, 1)).map(({ status }) => status)).toEqual([204]);
  expect(await bridge.stop()).toBe(0);
});
