import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DESKTOP, PHONE, testBrowser, untilCount } from "../harness/browser";
import { joinChatPage } from "../harness/chat-player";
import { create } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { expectUsable } from "../harness/usable";

const run = promisify(execFile);
const browser = testBrowser();
let demo: DemoChat;
beforeAll(async () => void (demo = await startDemoChat()));
afterAll(() => demo.close());

test("the bridge's panel is closed at first; the page remembers whether it is open", async () => {
  const { page, bridge, openBridge } = await joinChatPage(browser, demo.url, "Ada", DESKTOP);
  await untilCount(bridge, 0);
  await openBridge();
  await bridge.getByRole("heading", { name: "The bridge" }).waitFor();
  await page.reload();
  await bridge.getByRole("heading", { name: "The bridge" }).waitFor();
  await bridge.getByRole("button", { name: "Close" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "#general" }).waitFor();
  await untilCount(bridge, 0);
});

test("an entry of the panel shows how its request was signed, and commands that send the request again", async () => {
  const { page, bridge, openBridge, type } = await joinChatPage(browser, demo.url, "Bob", DESKTOP);
  await type("it's “quoted”");
  await openBridge();
  const report = bridge
    .getByRole("listitem")
    .filter({ hasText: /^Report/ })
    .first();
  await report.locator("summary").click();
  const request = await report.getByLabel("Request").innerText();
  expect(request).toMatch(
    /^POST \/hooks\/[0-9a-f-]+\ncontent-type: application\/json\nservice-signature: t=/,
  );
  expect(request).toContain(`"text": "it's “quoted”"`);
  const parts = await report.locator("dl").innerText();
  const [, t = "none"] = /t=(\d+),v1=[0-9a-f]{8}…/.exec(request) ?? [];
  expect(parts).toContain(`${t}: `);
  expect(parts).toContain(`${t}.{"type":"message"`);
  expect(parts).toContain("HMAC-SHA256");
  await expectUsable(page, "an entry of the wire", [DESKTOP, PHONE]);

  await report.getByRole("button", { name: "Copy as curl" }).click();
  await report.getByText("Copied.").waitFor();
  const commands = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(commands).not.toContain(demo.workspace.secret);
  const env = { ...process.env, SIGNING_SECRET: demo.workspace.secret, BASE_URL: demo.service.url };
  const { stdout } = await run("sh", ["-c", commands], { env });
  expect(stdout).toMatch(/^HTTP\/1\.1 202[^]*\{"ok":true\}$/);

  // Later polls are listed above this one.
  const poll = bridge.getByRole("listitem").filter({ hasText: /^Poll/ }).last();
  await poll.locator("summary").click();
  await poll.getByText("query string").waitFor();
  await poll.getByRole("button", { name: "Copy as curl" }).click();
  await poll.getByText("Copied.").waitFor();
  const again = await run("sh", ["-c", await page.evaluate<string>("navigator.clipboard.readText()")], {
    env,
  });
  expect(again.stdout).toMatch(/^HTTP\/1\.1 200[^]*"events":/);
});

test("while the network is cut, a press and a typed message wait; once it is restored, both are sent, and held events arrive", async () => {
  const { page, bridge, openBridge, game, type, seesInGame, sees } = await joinChatPage(
    browser,
    demo.url,
    "Cyd",
    DESKTOP,
  );
  await openBridge();
  const buttons = [{ label: "Go", press: { $case: "action", value: "test:go" } as const }];
  const show = (kind: MessageKind, text: string) =>
    publish(demo.service.clients, {
      workspaceId: demo.workspace.id,
      content: create("general", { kind, text, rows: [{ buttons }] }),
    });
  await show(MessageKind.GAME_START, "Ready?");
  await seesInGame("Ready?");
  await bridge.getByRole("button", { name: "Cut the network" }).click();
  await bridge.getByText("Nothing gets through.").waitFor();
  await game.getByRole("button", { name: "Go" }).click();
  await type("typed during the cut");
  await page.getByText("Sending to the service …").waitFor();
  await game.locator("[aria-busy=true]").waitFor();
  await show(MessageKind.CARD, "held during the cut");
  const reports = bridge.getByRole("listitem").filter({ hasText: /^Report/ });
  await reports.filter({ hasText: "no answer" }).nth(1).waitFor();
  await bridge.getByRole("button", { name: "Repair" }).click();
  await sees("held during the cut");
  await page.getByText("Sending to the service …").waitFor({ state: "detached" });
  for (const what of ["action", "message"]) {
    await reports.filter({ hasText: what }).filter({ hasText: "202" }).first().waitFor();
  }
  await untilCount(page.getByText("Not sent"), 0);
});
