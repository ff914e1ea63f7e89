import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startConsumer, type Consumer } from "../../../test/harness/consumer";
import { packKit } from "../harness/kit-package";
import { sharedPush } from "../../../test/harness/push";
import { textEvent } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";

const push = sharedPush();
let consumer: Consumer;
const kit = packKit();
beforeAll(async () => {
  consumer = await startConsumer(push.service.clients.games, { group: "bridge-readme" }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());

const environmentOf = (id: string, secret: string) => {
  return { BASE_URL: push.service.url, WORKSPACE_ID: id, SIGNING_SECRET: secret };
};

test("the package has its code, types, README and licence; exports that need no Markdown parser can be imported; the command runs", () => {
  const folder = join(kit.folder, "node_modules/chat-bridge-kit");
  expect(readdirSync(folder).toSorted()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const script = `
    const { exports } = require("chat-bridge-kit/package.json");
    const { existsSync } = require("node:fs");
    for (const [name, { types }] of Object.entries(exports)) {
      if (types !== undefined && !existsSync(${JSON.stringify(folder)} + types.slice(1))) throw new Error(types);
      if (!name.includes("message-text")) require(name.replace(".", "chat-bridge-kit"));
    }
    console.log(Object.keys(exports).length);`;
  const printed = execFileSync(process.execPath, ["-e", script], { cwd: kit.folder, encoding: "utf8" });
  expect(Number(printed)).toBeGreaterThan(10);
  const command = join(folder, "dist/check/main.js");
  const list = execFileSync(process.execPath, [command, "--list"], { cwd: kit.folder, encoding: "utf8" });
  expect(list).toMatch(/^Rules for a bridge:\n {2}\w/);
});

test("the README's examples compile with strict options, and the README has no relative links", () => {
  // `packKit` has already compiled the examples: it throws if they do not compile.
  expect(kit.examples).toEqual(expect.arrayContaining(["poll-bridge.mts", "push-bridge.mts"]));
  expect(kit.examples).toHaveLength(4);
  expect(kit.readme).not.toContain("```js");
  expect(kit.readme).not.toMatch(/\]\((?!https?:|#)/);
});

test("a TypeScript version that does not read `exports` finds the same types as a version that does", () => {
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
    if (types !== undefined) expect([entry, found.replace("*", name)]).toEqual([entry, types]);
  }
});

test("the README's polling bridge shows published events, sends typed lines, and stops gracefully", async () => {
  const { id, secret } = await push.workspaces.make();
  await push.publish(textEvent(id, "while you were away"));
  const environment = environmentOf(id, secret);
  const bridge = kit.start("poll-bridge.mjs", environment);
  await until("the bridge shows the message", () => bridge.output().includes("message.create c1: while you"));
  bridge.type("hello from a terminal");
  await until("the game receives the typed line", () =>
    consumer.seen.some(({ text }) => text === "hello from a terminal"),
  );
  expect(await bridge.stop()).toBe(0);
  expect(bridge.output()).toBe("message.create c1: while you were away\n");

  await push.publish(textEvent(id, "later"));
  const again = kit.start("poll-bridge.mjs", environment);
  await until("the bridge shows the later message", () => again.output().includes("later"));
  await again.stop();
  expect(again.output()).toBe("message.create c1: later\n");
});

test("the README's push bridge shows published events, sends typed lines, and stops gracefully", async () => {
  const { id, secret } = await push.workspaces.make();
  const { keyPath, certPath } = push.certificate;
  const tls = { TLS_KEY: keyPath, TLS_CERT: certPath, PORT: "0" };
  const bridge = kit.start("push-bridge.mjs", { ...environmentOf(id, secret), ...tls });
  const port = await until("the bridge listens", () => /^port (\d+)$/m.exec(bridge.output())?.[1]);
  push.names.set("guide.bridge.test", ["127.0.0.1"]);
  await push.workspaces.setTargetUrl(id, `https://guide.bridge.test:${port}/`);
  await push.publish(textEvent(id, "hello"));
  await until("the bridge shows the message", () => bridge.output().includes("message.create c1: hello"));
  expect((await push.logged(id, 1)).map(({ status }) => status)).toEqual([204]);
  bridge.type("typed");
  await until("the game receives the typed line", () => consumer.seen.some(({ text }) => text === "typed"));
  expect(await bridge.stop()).toBe(0);
});
