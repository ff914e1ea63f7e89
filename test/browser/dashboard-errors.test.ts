import type { Page } from "playwright-core";
import { adviceFor, outcomeOf, RESULT_WORDS } from "../../dashboard/words/advice";
import { RESULTS, type Result } from "../../edge/dashboard/shapes";
import { closeWithoutAnswer, sayNothing, status } from "../harness/behaviours";
import { testBrowser } from "../harness/browser";
import { update } from "../harness/contents";
import { freePort } from "../harness/processes";
import { sharedPush, type PushedBridge } from "../harness/push";
import { startReceiver, type Receiver } from "../harness/receiver";
import type { Certificate } from "../harness/test-ca";

const push = sharedPush();
const browser = testBrowser();
const replacements: Receiver[] = [];
afterAll(() => Promise.all(replacements.map((each) => each.close())));

type Break = (bridge: PushedBridge) => void | Promise<void>;
const STEPS = [
  "Name looked up",
  "Address is public",
  "Connected",
  "TLS agreed",
  "Event sent",
  "Answered 2xx",
];

/** What the delivery log calls it, how the bridge breaks, the steps that a test event gets past, and why no further. */
const BREAKAGES: readonly (readonly [Result, string, number, RegExp, Break])[] = [
  [
    "dns",
    "a name that is not in DNS any more",
    0,
    /the name [0-9a-f-]+\.bridge\.test could not be looked up/,
    ({ name }) => push.names.set(name, "NXDOMAIN"),
  ],
  [
    "refused-address",
    "a private address",
    1,
    /is at 10\.0\.0\.1, which is not a public address \(private\)/,
    ({ name }) => push.names.set(name, ["10.0.0.1"]),
  ],
  ["connect", "a bridge that does not run", 2, /ECONNREFUSED/, (bridge) => bridge.close()],
  [
    "tls",
    "an expired certificate",
    3,
    /the certificate has expired; renew it/,
    (bridge) => replace(bridge, push.ca.issueExpired([bridge.name])),
  ],
  [
    "tls",
    "a self-signed certificate",
    3,
    /the certificate is self-signed; get one from a public authority/,
    (bridge) => replace(bridge, push.ca.selfSigned([bridge.name])),
  ],
  [
    "tls",
    "a certificate of another host",
    3,
    /the certificate is of another host; get one that names this host/,
    (bridge) => replace(bridge, push.ca.issueForWrongName()),
  ],
  ["tls", "plain HTTP", 3, /does not speak TLS; is it plain HTTP\?/, (bridge) => replace(bridge)],
  ["status", "a 500", 5, /answered 500 where any 2xx is expected/, ({ behave }) => behave(status(500))],
  ["body", "a crash", 5, /broke off or was not HTTP/, ({ behave }) => behave(closeWithoutAnswer())],
  // The last, as it takes the whole deadline.
  [
    "timeout",
    "no answer",
    5,
    /did not give an answer within 5 seconds/,
    ({ behave }) => behave(sayNothing()),
  ],
];

/** Has another server answer in the bridge's place, on its port: with another certificate, or without TLS. */
async function replace({ name, port, close }: PushedBridge, certificate?: Certificate): Promise<void> {
  await close();
  const other = await startReceiver({ port, names: [name], ...(certificate && { certificate }) });
  replacements.push(other);
}

/** A bridge that worked until it was broken: the failure of its last event is in the log. */
async function brokenBridge(breakIt: Break): Promise<PushedBridge> {
  // Nobody else takes the port once the bridge is closed.
  const bridge = await push.bridge({ port: await freePort() });
  await push.ping(bridge.workspaceId);
  await breakIt(bridge);
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  await push.logged(bridge.workspaceId, 2);
  return bridge;
}

const bridges = new Map<string, Promise<PushedBridge>>();
let page: Page;
beforeAll(async () => {
  for (const [, how, , , breakIt] of BREAKAGES) {
    const bridge = brokenBridge(breakIt);
    bridge.catch(() => "its own test fails");
    bridges.set(how, bridge);
  }
  ({ page } = await browser.visitSignedIn(push.service.dashboardUrl));
});

test("every error class of the delivery log is among them", () => {
  const failures = RESULTS.filter((result) => outcomeOf(result) === "failed");
  expect(new Set(BREAKAGES.map(([result]) => result))).toEqual(new Set(failures));
  expect(failures).toHaveLength(7);
});

// time: smoke
test.each(BREAKAGES)(
  "the page says why a push fails and what to do: %s, by %s",
  async (result, how, doneSteps, why) => {
    const { workspaceId } = (await bridges.get(how)) ?? {};
    const answered = result === "timeout" ? 0 : 500;
    const sentence = adviceFor({ result, status: answered, address: "127.0.0.1" }) ?? "";
    await page.goto(`${push.service.dashboardUrl}/workspaces/${workspaceId}`);
    await page.locator(".health-label").getByText("Failing").waitFor();

    // The push of an event shows in the health and in the log.
    const words = new RegExp(`^The last push failed .*: ${RESULT_WORDS[result]}\\.$`, "i");
    expect(await page.locator(".health-sentence").innerText()).toMatch(words);
    expect(await page.locator(".health-advice").innerText()).toBe(
      `What to do: ${sentence} Then send a test event: it shows every step.`,
    );
    const row = page.locator(".log tbody tr", { hasText: "message.update" });
    const badge = RESULT_WORDS[result] + (result === "status" ? " 500" : "");
    expect(await row.locator(".badge").innerText()).toBe(badge);
    await row.getByRole("button", { name: /^Details of message\.update/ }).click();
    const details = page.locator(".log-details");
    expect(await details.locator(".advice").innerText()).toBe(sentence);
    await details.getByText(result, { exact: true }).waitFor();

    // A test event shows the step.
    await page.getByRole("button", { name: "Send test event" }).click();
    const failed = page.locator(".steps li.failed");
    await failed.getByText(STEPS[doneSteps] ?? "?").waitFor();
    expect(await failed.locator(".under").innerText()).toMatch(why);
    expect(await page.locator(".steps li.done").count()).toBe(doneSteps);
    expect(await page.locator(".steps li.not-reached").count()).toBe(5 - doneSteps);
    expect(await page.getByRole("status").locator(".notice").innerText()).toBe(sentence);
  },
);
