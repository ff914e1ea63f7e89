import { DESKTOP, PHONE, testBrowser } from "../harness/browser";
import { joinChatPage } from "../harness/chat-player";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { expectLight, recordTexts } from "../harness/loaded-texts";
import { expectInOrder, expectTabOrder } from "../harness/reading-order";
import { expectUsable } from "../harness/usable";

const browser = testBrowser();
const ZOOMED = { width: 320, height: 640 };
const SIZES = [ZOOMED, DESKTOP, PHONE];

let demo: DemoChat;
beforeAll(async () => {
  demo = await startDemoChat();
});
afterAll(() => demo.close());

test("the page for joining the chat loads only compressed texts, each once, and works at every size and with the keyboard alone", async () => {
  const { page } = await browser.visit("about:blank");
  const loaded = recordTexts(page);
  await page.goto(demo.url);
  await page.getByLabel("Your name").waitFor();
  await expectLight(page, loaded);
  await expectUsable(page, "sweep joining", SIZES);
  await expectInOrder(page, SIZES);
  await expectTabOrder(page, [DESKTOP, PHONE]);
});

test("the chat's page loads only compressed texts, each once, and works at every size and with the keyboard alone", async () => {
  const { page, type, sees } = await joinChatPage(browser, demo.url, "Ada", DESKTOP);
  await type("Hello");
  await sees("Hello");
  const loaded = recordTexts(page);
  await page.reload();
  await sees("Hello");
  await expectLight(page, loaded);
  await expectUsable(page, "sweep chat", SIZES);
  await expectInOrder(page, SIZES);
  await expectTabOrder(page, [DESKTOP, PHONE]);
});
