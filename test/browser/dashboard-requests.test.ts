import { createHmac } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import { nowSeconds, poll, post, send, signatureOf } from "../harness/bridge";
import { DESKTOP, PHONE, testBrowser } from "../harness/browser";
import { sharedService } from "../harness/shared-service";
import type { TestWorkspace } from "../harness/service";
import { expectUsable } from "../harness/usable";

const EVENT = JSON.stringify({ type: "command", channel: "c1", user: { id: "u1" }, text: "start" });

const service = sharedService();
const browser = testBrowser();

async function openNew(options = {}, name = "Refused"): Promise<{ page: Page; workspace: TestWorkspace }> {
  const workspace = await service.workspaces.make({ name });
  const { page } = await browser.visitSignedIn(service.dashboardUrl, `/workspaces/${workspace.id}`, options);
  await page.getByText("Live", { exact: true }).waitFor();
  return { page, workspace };
}
const cardOf = (page: Page) => page.getByRole("region", { name: "Requests from the bridge" });

const fail = (why: string): never => {
  throw new Error(why);
};
const hmac = (key: string | Buffer, text: string): string =>
  createHmac("sha256", key).update(text).digest("hex");
/** Posts the event with the signature header that `sign` makes from the secret and the time. */
function postSigned({ id, secret }: TestWorkspace, sign: (secret: string, t: number) => string) {
  const headers = { "Service-Signature": sign(secret, nowSeconds()) };
  return send(service.url, `/hooks/${id}`, { method: "POST", body: EVENT, headers });
}
const python = EVENT.replaceAll('":', '": ').replaceAll(',"', ', "');

// time: ordering
test.each<[string, number, (workspace: TestWorkspace) => Promise<{ readonly status: number }>, string]>([
  [
    "without a signature",
    401,
    ({ id }) => send(service.url, `/hooks/${id}`, { method: "POST", body: EVENT }),
    "The request has no Service-Signature header.",
  ],
  [
    "with the secret decoded as base64",
    401,
    (workspace) =>
      postSigned(workspace, (key, t) => `t=${t},v1=${hmac(Buffer.from(key, "base64"), `${t}.${EVENT}`)}`),
    "The bridge decoded the secret as base64.",
  ],
  [
    "with a signature of the body only",
    401,
    (workspace) => postSigned(workspace, (key, t) => `t=${t},v1=${hmac(key, EVENT)}`),
    "The bridge signed the text without the timestamp.",
  ],
  [
    "with a signature of JSON that was serialized again",
    401,
    (workspace) => postSigned(workspace, (key, t) => `t=${t},v1=${hmac(key, `${t}.${python}`)}`),
    "The bridge signed different JSON than it sent",
  ],
  [
    "with a line break after the secret",
    401,
    (workspace) => postSigned(workspace, (key, t) => `t=${t},v1=${hmac(`${key}\n`, `${t}.${EVENT}`)}`),
    "The bridge signed with the secret and a line break after it.",
  ],
  [
    "with a digest in base64",
    401,
    (workspace) =>
      postSigned(workspace, (key, t) => {
        const digest = createHmac("sha256", key).update(`${t}.${EVENT}`).digest("base64");
        return `t=${t},v1=${digest}`;
      }),
    "The digest is in base64.",
  ],
  [
    "with another secret",
    401,
    (workspace) => postSigned(workspace, (_key, t) => signatureOf("another secret", EVENT, t)),
    "The digest does not match",
  ],
  [
    "by a clock that is 66 minutes behind",
    409,
    (workspace) => postSigned(workspace, (key, t) => signatureOf(key, EVENT, t - 66 * 60)),
    "The bridge's clock is 66 minutes behind",
  ],
  [
    "without a required field",
    400,
    (workspace) => post(service.url, workspace, { type: "command", user: { id: "u" }, text: "" }),
    "channel is required.",
  ],
  [
    "that is not JSON",
    400,
    (workspace) => post(service.url, workspace, "{'type': 'command'}"),
    "The body is not JSON: the strings of the body are in single quotes",
  ],
])(
  "a newcomer's first request %s (%d) is explained on the page, without a reload",
  async (what, status, sendOne, words) => {
    const { page, workspace } = await openNew();
    const began = performance.now();
    expect((await sendOne(workspace)).status).toBe(status);
    await cardOf(page).getByText(words).waitFor();
    process.stderr.write(`explained ${what} after ${Math.round(performance.now() - began)} ms\n`);
    await cardOf(page).getByText(`${status} ×1`).waitFor();
    const step = page.locator(".next-steps li", { hasText: "The bridge sends a signed request" });
    await step.getByText(`The last request was refused with ${status}: ${words}`).waitFor();
    expect(await step.getAttribute("class")).toBe("open");
  },
);

// time: ordering
test("for a missing field, the card says what to add and links to the reference of the events", async () => {
  const { page, workspace } = await openNew();
  await post(service.url, workspace, { type: "command", user: { id: "u" }, text: "" });
  const card = cardOf(page);
  await card.getByText("Add channel to the body.").waitFor();
  await card.getByRole("link", { name: "event reference" }).click();
  await page.getByRole("heading", { name: "Event reference", level: 1 }).waitFor();
});

// time: ordering
test("accepted requests and refusals are counted live, and an accepted request completes the setup step", async () => {
  const { page, workspace } = await openNew();
  await post(service.url, workspace, { type: "command" });
  await cardOf(page).getByText("Last hour: 0 accepted, 1 refused").waitFor();
  await post(service.url, workspace, EVENT);
  await cardOf(page).getByText("Last hour: 1 accepted, 1 refused").waitFor();
  await page.locator(".next-steps li.done", { hasText: "The bridge sends a signed request" }).waitFor();
  await poll(service.url, workspace);
  await cardOf(page).getByText("Last hour: 2 accepted, 1 refused").waitFor();
});

// time: ordering
test("the signature check works with the keyboard alone, says whether a signature is valid, and names the mistake", async () => {
  const { page, workspace } = await openNew({ viewport: PHONE });
  const t = nowSeconds();
  await cardOf(page).getByText("Check a signature").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
  await page.keyboard.type(EVENT);
  await page.keyboard.press("Tab");
  await page.keyboard.type(`t=${t},v1=${hmac(workspace.secret, EVENT)}`);
  await page.keyboard.press("Enter");
  const card = cardOf(page);
  await card.getByText("The bridge signed the text without the timestamp.").waitFor();
  expect(await card.getByRole("group", { name: "Signed text" }).innerText()).toBe(`${t}.${EVENT}`);

  const header = card.getByLabel("Service-Signature");
  await header.fill(signatureOf(workspace.secret, EVENT, t));
  expect(await card.getByText("The bridge signed the text").count()).toBe(0);
  await header.press("Enter");
  await card.getByText("The digest fits the newest secret.").waitFor();

  await card.getByRole("radio", { name: "Poll" }).check();
  await card.getByLabel("Query string").fill("after=latest");
  await header.fill(signatureOf(workspace.secret, "?after=latest", t));
  await header.press("Enter");
  await card.getByText("The bridge signed the ? before the query string.").waitFor();
  expect(await page.content()).not.toContain(workspace.secret);
});

// time: ordering
test("on a laptop, the card fills the page's width between the steps and the log, and shows the fix beside the reason", async () => {
  const { page, workspace } = await openNew();
  await send(service.url, `/hooks/${workspace.id}`, { method: "POST", body: EVENT });
  const card = cardOf(page);
  const boxOf = async (element: Locator) =>
    (await element.boundingBox()) ?? fail("the element is not visible");
  const reason = card.getByText("The request has no Service-Signature header.");
  const fix = card.getByText("Sign every request");
  await fix.waitFor();
  const [health, steps, test, requests, log] = await Promise.all(
    [".health", ".next-steps", ".test-event", ".requests", ".log-card"].map((each) =>
      boxOf(page.locator(each)),
    ),
  );
  expect([requests?.x, requests?.width]).toEqual([health?.x, health?.width]);
  const endOf = (box = { y: Infinity, height: 0 }): number => box.y + box.height;
  expect(requests?.y).toBeGreaterThanOrEqual(Math.max(endOf(steps), endOf(test)));
  expect(log?.y).toBeGreaterThanOrEqual(endOf(requests));
  const [left, right] = [await boxOf(reason), await boxOf(fix)];
  expect(right.x).toBeGreaterThanOrEqual(left.x + left.width);
  expect(Math.abs(right.y - left.y)).toBeLessThan(left.height);

  await page.setViewportSize(PHONE);
  expect((await boxOf(fix)).y).toBeGreaterThan((await boxOf(reason)).y);
});

// time: ordering
test("with many refusals and an open check, the card is usable at every width and in both themes, and never renders untrusted text as HTML", async () => {
  const { page, workspace } = await openNew({}, '<b>שלום</b> & "quotes"');
  const hostile = JSON.stringify({
    type: "command",
    "<img src=x>\u202e": 1,
    channel: "c",
    user: { id: "u" },
    text: "",
  });
  await post(service.url, workspace, hostile);
  await postSigned(workspace, (key, t) => `t=${t},v1=${hmac(key, EVENT)}`);
  await send(service.url, `/hooks/${workspace.id}`, { method: "POST", body: EVENT });
  await postSigned(workspace, (key, t) => signatureOf(key, EVENT, t - 66 * 60));
  await post(service.url, workspace, `"${"x".repeat(70_000)}"`);
  const card = cardOf(page);
  for (const text of ["401 ×2", "409 ×1", "413 ×1", "400 ×1"]) await card.getByText(text).waitFor();
  await card.getByText("<img src=x>").first().waitFor();
  await card.getByText("Check a signature").click();
  await card.getByLabel("Exact body").fill(EVENT);
  await card.getByLabel("Service-Signature").fill(signatureOf("other", EVENT));
  await card.getByRole("button", { name: "Check the signature" }).click();
  await card
    .getByText("The digest does not match")
    .nth(1)
    .or(card.locator(".playground-result"))
    .first()
    .waitFor();
  const narrow = { width: 320, height: 640 };
  await expectUsable(page, "requests", [narrow, PHONE, { width: 640, height: 900 }, DESKTOP]);
});
