import { verify } from "../../kit/signature";
import { testBrowser, untilCount, type Visitor } from "../harness/browser";
import { call } from "../harness/core-clients";
import { sharedPush } from "../harness/push";
import { startReceiver } from "../harness/receiver";

const push = sharedPush();
const browser = testBrowser();
let visitor: Visitor;
beforeAll(async () => {
  visitor = await browser.visitSignedIn(push.service.dashboardUrl);
});

test("the test button sends a test event to the stored address, and says in words what the receiver answered", async () => {
  const { id } = await push.workspaces.make({ name: "Ops with a test" });
  push.names.set("ops-test.bridge.test", ["127.0.0.1"]);
  const receiver = await startReceiver({ certificate: push.certificate, names: ["ops-test.bridge.test"] });
  const { page } = visitor;
  await page.goto(`${push.service.dashboardUrl}/workspaces/${id}/settings`);
  const card = page.getByRole("region", { name: "Operator events" });
  const send = card.getByRole("button", { name: "Send test event" });
  const field = card.getByLabel("Failures and recoveries are reported to");
  await untilCount(send, 0);
  await field.fill(receiver.url);
  await card.getByRole("button", { name: "Set address" }).click();
  // Nothing has been sent yet, so the page must not claim that a test event was sent.
  await page.getByText("The address is set. Send a test event to check it.").waitFor();
  await send.click();
  await card.getByText(/^The receiver accepted the test event: it answered with 20\d\.$/).waitFor();
  expect((await receiver.nth(1)).body.toString()).toContain('"type":"test"');
  await field.fill("https://ops-test.bridge.test/not-stored-yet");
  expect(await send.isDisabled()).toBe(true);
  await field.fill(receiver.url);
  await receiver.close();
  await send.click();
  await card.getByText(/^The receiver did not accept the test event: /).waitFor();
  const { workspaces } = push.service.clients;
  for (let i = 0; i < 3; i++) await call(workspaces, workspaces.sendTestOperatorEvent, { workspaceId: id });
  await send.click();
  await card
    .getByText(/^Too many tests of the workspace's address were sent: try again in \d+ seconds/)
    .waitFor();
});

test("the form for operator events sets an address, shows its secret once, and clears the address", async () => {
  const { id } = await push.workspaces.make({ name: "Ops" });
  push.names.set("ops.bridge.test", ["127.0.0.1"]);
  const receiver = await startReceiver({ certificate: push.certificate, names: ["ops.bridge.test"] });
  const { page } = visitor;
  await page.goto(`${push.service.dashboardUrl}/workspaces/${id}/settings`);
  const card = page.getByRole("region", { name: "Operator events" });
  const field = card.getByLabel("Failures and recoveries are reported to");
  await field.fill("https://192.168.0.1/");
  await card.getByRole("button", { name: "Set address" }).click();
  await card.getByText(/192\.168\.0\.1 is not a public address/).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");

  await field.fill(receiver.url);
  await card.getByRole("button", { name: "Set address" }).click();
  const secret = card.locator("[data-secret]");
  const first = (await secret.textContent()) ?? "";
  await card.getByRole("button", { name: "New secret" }).click();
  await card.locator("[data-secret]", { hasNotText: first }).waitFor();
  const second = (await secret.textContent()) ?? "";
  const { workspaces } = push.service.clients;
  await call(workspaces, workspaces.sendTestOperatorEvent, { workspaceId: id });
  const request = await receiver.nth(1);
  for (const each of [first, second]) {
    expect(verify(String(request.headers["service-signature"]), request.body, each)).toBeUndefined();
  }

  await page.reload();
  await card.getByRole("button", { name: "Clear address" }).waitFor();
  await untilCount(secret, 0);
  await card.getByRole("button", { name: "Clear address" }).click();
  await card.getByRole("button", { name: "Clear address" }).waitFor({ state: "detached" });
  expect((await push.workspaces.get(id)).workspace?.operatorEventsAddress).toBe("");
  await receiver.close();
});
