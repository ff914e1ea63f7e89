import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { startBrowser, type TestBrowser } from "../harness/browser";
import { declineRematch, playWholeGame, seatPlayers } from "../harness/chat-player";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { until } from "../harness/wait";

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

// contract: text-escaped, kit-dm
test("three players in three tabs play a whole game over a bridge that polls, and its network is cut in between", async () => {
  const { visitor, players, faults } = await seatPlayers(browser, demo.url, [
    "Ada",
    "Bob *the* builder",
    "Cyd",
  ]);
  await playWholeGame(players);
  await declineRematch(players);
  const [ada] = players;
  const wire = ada?.page.getByRole("complementary", { name: "The bridge" });
  expect(await wire?.getByText("Push", { exact: true }).count()).toBe(0);
  await wire?.locator("summary").filter({ hasText: /event/ }).first().click();
  const request = await wire?.getByLabel("Request").innerText();
  expect(request).toMatch(
    /^GET \/hooks\/[0-9a-f-]+\/events(\?after=\d+)?\nservice-signature: t=\d+,v1=[0-9a-f]{8}…/,
  );
  expect(await ada?.page.getByText("Bob *the* builder").first().isVisible()).toBe(true);
  expect(faults).toEqual([]);
  await visitor.leave();
});

test("a tab that is loaded again is the same member, and sees what it saw", async () => {
  const { visitor, players, faults } = await seatPlayers(browser, demo.url, ["Dot"]);
  const [dot] = players;
  await dot?.type("**still** here");
  await dot?.sees("here");
  await dot?.page.reload();
  await dot?.sees("here");
  expect(await dot?.page.getByRole("log").locator("strong", { hasText: "still" }).count()).toBe(1);
  expect(await dot?.page.getByRole("navigation").getByText("Dot").count()).toBe(1);
  expect(faults).toEqual([]);
  await visitor.leave();
});

test("what is typed while a message travels is the next one, and what could not be sent is there again", async () => {
  const { visitor, players } = await seatPlayers(browser, demo.url, ["Fay"]);
  const [fay] = players;
  if (fay === undefined) throw new Error("somebody is to be there");
  const field = fay.page.getByRole("textbox");
  const held: (() => void)[] = [];
  await fay.page.route("**/api/say", async (route) => {
    await new Promise<void>((resolve) => held.push(resolve));
    const { text } = route.request().postDataJSON() as { text: string };
    if (text === "three") await route.fulfill({ status: 503, json: { message: "Not now." } });
    else await route.continue();
  });
  const release = async (): Promise<void> => {
    await until("a message travels", () => held.length > 0);
    held.shift()?.();
  };
  await fay.type("one");
  await fay.type("two");
  await field.fill("three");
  await release();
  await fay.sees("one");
  await release();
  await fay.sees("two");
  expect(await field.inputValue()).toBe("three");
  const said = await fay.page.getByRole("log").getByRole("article").allInnerTexts();
  expect(said.findIndex((text) => text.includes("one"))).toBeLessThan(
    said.findIndex((text) => text.includes("two")),
  );
  await field.press("Enter");
  await field.fill("four");
  await release();
  await fay.page.getByText("Not now.").waitFor();
  expect(await field.inputValue()).toBe("three\nfour");
  await visitor.leave();
});

// contract: message-buttons, message-image
test("the image of a message is shown, a link button opens its URL and sends nothing, and text is never HTML", async () => {
  const { visitor, players, faults } = await seatPlayers(browser, demo.url, ["Eve"]);
  const [eve] = players;
  if (eve === undefined) throw new Error("somebody is to be there");
  await publish(demo.service.clients, {
    workspaceId: demo.workspace.id,
    content: {
      $case: "messageCreate",
      value: {
        channel: "general",
        message: {
          kind: MessageKind.CARD,
          text: "A flag: <img src=x onerror=alert(1)> [no](javascript:alert(1))\nand **more**",
          image: `${demo.picturesUrl}/japan.png`,
          rows: [
            { buttons: [{ label: "About it", press: { $case: "url", value: "https://flags.example/" } }] },
          ],
        },
      },
    },
  });
  const message = eve.page.getByRole("article").filter({ hasText: "A flag:" });
  await message.waitFor();
  const isLoaded = "document.querySelector('article img')?.naturalWidth === 480";
  await until("it is loaded", () => eve.page.evaluate<boolean>(isLoaded), 30_000);
  expect(await message.locator("img").count()).toBe(1);
  expect(await message.innerText()).toContain("<img src=x onerror=alert(1)> [no](javascript:alert(1))");
  const link = message.getByRole("link", { name: /^About it/ });
  expect(await link.getAttribute("href")).toBe("https://flags.example/");
  expect(await link.getAttribute("rel")).toContain("noopener");
  expect(await message.getByRole("button").count()).toBe(0);
  expect(faults).toEqual([]);
  await visitor.leave();
});
