import { startBrowser, type TestBrowser } from "../harness/browser";
import { declineRematch, playWholeGame, seatPlayers } from "../harness/chat-player";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";

let demo: DemoChat;
let browser: TestBrowser;
beforeAll(async () => {
  demo = await startDemoChat({ REVEAL_SECONDS: "5", QUESTION_SECONDS: "60" });
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
  await demo.close();
});
jest.setTimeout(300_000);

// contract: push-request
test("three players in three tabs play a whole game over a bridge that is pushed to, and its network is cut in between", async () => {
  const { visitor, players, faults } = await seatPlayers(browser, demo.url, ["Ada", "Bob", "Cyd"]);
  const [ada] = players;
  await ada?.page.getByRole("radio", { name: /^Is pushed to/ }).click();
  await Promise.all(players.map(({ page }) => page.getByText("Bridge: Pushed to").waitFor()));
  await playWholeGame(players);
  await declineRematch(players);
  const wire = ada?.page.getByRole("complementary", { name: "The bridge" });
  await wire?.locator("summary").filter({ hasText: /^Push/ }).first().click();
  expect(await wire?.getByLabel("Request").innerText()).toMatch(
    /^POST \/pushes\ncontent-type: application\/json\nservice-signature: t=\d+,v1=[0-9a-f]{8}…\nservice-event-id: evt_/,
  );
  expect(await wire?.getByLabel("Answer").innerText()).toContain("204");
  await ada?.page.getByRole("radio", { name: /^Polls/ }).click();
  await Promise.all(players.map(({ page }) => page.getByText("Bridge: Polling").waitFor()));
  expect(faults).toEqual([]);
  await visitor.leave();
});
