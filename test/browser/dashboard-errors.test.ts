import type { Page } from "playwright-core";
import { DELIVERY_RESULTS, type DeliveryResult, RESULT_MEANINGS } from "../../contract/deliveries";
import { closeWithoutAnswer, sayNothing, status } from "../harness/behaviours";
import { testBrowser, untilCount } from "../harness/browser";
import { update } from "../harness/contents";
import { freePort } from "../harness/processes";
import { sharedPush, type PushedBridge } from "../harness/push";
import { startReceiver, type Receiver } from "../harness/receiver";
import type { Certificate } from "../harness/test-ca";

const push = sharedPush();
const browser = testBrowser();
const replacements: Receiver[] = [];
afterAll(() => Promise.all(replacements.map((each) => each.close())));

interface Breakage {
  readonly result: DeliveryResult;
  readonly how: string;
  /** The text of the failure's badge in the delivery log. */
  readonly called: string;
  /** The text that says what happened and what to do. */
  readonly sentence: string;
  /** The step at which a test event fails; `why` matches the reason that the page shows. */
  readonly step: string;
  readonly why: RegExp;
  breakIt(bridge: PushedBridge): void | Promise<void>;
}

const STEPS =
  "Name looked up|Address is allowed|Connected|TLS established|Signed event sent|Answered 2xx".split("|");

const tls = (how: string, why: RegExp, breakIt: Breakage["breakIt"]): Breakage => ({
  result: "tls",
  how,
  called: "TLS failed",
  sentence:
    "The TLS handshake failed. Serve HTTPS on the port of the target URL. The certificate must name the host of the URL, be from a public authority, include the full chain, and not be expired.",
  step: "TLS established",
  why,
  breakIt,
});

const BREAKAGES: readonly Breakage[] = [
  {
    result: "dns",
    how: "a name that is no longer in DNS",
    called: "Name not found",
    sentence:
      "The host's name could not be looked up. Check the spelling of the target URL and the host's DNS records.",
    step: "Name looked up",
    why: /the name [0-9a-f-]+\.bridge\.test could not be looked up/,
    breakIt: ({ name }) => push.names.set(name, "NXDOMAIN"),
  },
  {
    result: "refused-address",
    how: "a private address",
    called: "Address not public",
    sentence:
      "The host has an address that is not public. Give the bridge a public address, or clear the target URL and let the bridge poll.",
    step: "Address is allowed",
    why: /is at 10\.0\.0\.1, which is not a public address \(private\)/,
    breakIt: ({ name }) => push.names.set(name, ["10.0.0.1"]),
  },
  {
    result: "connect",
    how: "a bridge that is not running",
    called: "No connection",
    sentence:
      "No connection could be made. Start the bridge, check the port of the target URL, and open that port in the firewall.",
    step: "Connected",
    why: /ECONNREFUSED/,
    breakIt: (bridge) => bridge.close(),
  },
  tls("an expired certificate", /the certificate has expired; renew it/, (bridge) =>
    replace(bridge, push.ca.issueExpired([bridge.name])),
  ),
  tls(
    "a self-signed certificate",
    /the certificate is self-signed; get one from a public authority/,
    (bridge) => replace(bridge, push.ca.selfSigned([bridge.name])),
  ),
  tls(
    "a certificate for another host",
    /the certificate is for another host; get one that names this host/,
    (bridge) => replace(bridge, push.ca.issueForWrongName()),
  ),
  tls("plain HTTP", /does not speak TLS; is it plain HTTP\?/, (bridge) => replace(bridge)),
  {
    result: "status",
    how: "an answer with status 500",
    called: "Rejected by bridge 500",
    sentence:
      "The bridge answered with 500 instead of 2xx. Check the bridge's own log: the error is in the bridge itself or in a proxy in front of the bridge.",
    step: "Answered 2xx",
    why: /answered with 500 instead of a 2xx/,
    breakIt: (bridge) => bridge.behave(status(500)),
  },
  {
    result: "body",
    how: "a crash instead of an answer",
    called: "Invalid response",
    sentence:
      "The event was sent, but the bridge's response was cut off or was not HTTP. Check the bridge's log for a crash, and check that any proxy in front of the bridge forwards responses.",
    step: "Answered 2xx",
    why: /the answer broke off or was not HTTP/,
    breakIt: (bridge) => bridge.behave(closeWithoutAnswer()),
  },
  // This row is last, because its push fails only after the whole timeout of 5 seconds.
  {
    result: "timeout",
    how: "no answer",
    called: "Timed out",
    sentence:
      "The bridge accepted the connection, but did not answer within 5 seconds. Make it answer with 2xx immediately, before slow work.",
    step: "Answered 2xx",
    why: /the bridge did not answer within 5 seconds/,
    breakIt: (bridge) => bridge.behave(sayNothing()),
  },
];

/** Closes the bridge, and starts a server on the same port, with a different certificate or without TLS. */
async function replace({ name, port, close }: PushedBridge, certificate?: Certificate): Promise<void> {
  await close();
  const other = await startReceiver({ port, names: [name], ...(certificate && { certificate }) });
  replacements.push(other);
}

/** Starts a bridge, breaks it after a first push, and publishes an event. Resolves when the failure is in the log. */
async function brokenBridge({ breakIt }: Breakage): Promise<PushedBridge> {
  // The port is from `freePort`, so no other test uses the port after the bridge is closed.
  const bridge = await push.bridge({ port: await freePort() });
  await push.ping(bridge.workspaceId);
  await breakIt(bridge);
  await push.publish({ workspaceId: bridge.workspaceId, content: update("c1") });
  await push.logged(bridge.workspaceId, 2);
  return bridge;
}

const bridges = new Map<Breakage, Promise<PushedBridge>>();
let page: Page;
beforeAll(async () => {
  for (const breakage of BREAKAGES) {
    const bridge = brokenBridge(breakage);
    bridge.catch(() => "the test of this breakage reports the error");
    bridges.set(breakage, bridge);
  }
  ({ page } = await browser.visitSignedIn(push.service.dashboardUrl));
});

test("the tests cover every error class of the delivery log", () => {
  const failures = DELIVERY_RESULTS.filter((result) => RESULT_MEANINGS[result].outcome === "failed");
  expect(new Set(BREAKAGES.map(({ result }) => result))).toEqual(new Set(failures));
  expect(failures).toHaveLength(7);
});

// time: smoke
test.each(BREAKAGES)(
  "the page shows why a push fails and what to do: $result, caused by $how",
  async (breakage) => {
    const { result, called, sentence, step, why } = breakage;
    const { workspaceId } = (await bridges.get(breakage)) ?? {};
    await page.goto(`${push.service.dashboardUrl}/workspaces/${workspaceId}`);
    await page.locator(".health-label").getByText("Failing").waitFor();

    // The health and the log show the failed push.
    const inSentence = result === "tls" ? called : called.charAt(0).toLowerCase() + called.slice(1);
    expect(await page.locator(".health-sentence").innerText()).toMatch(
      new RegExp(`^The last push failed .*: ${inSentence.replace(/ \d+$/, "")}\\.$`),
    );
    expect(await page.locator(".health-advice").innerText()).toBe(
      `What to do: ${sentence} Then send a test event: it shows every step.`,
    );
    const row = page.locator(".log-row", { hasText: "message.update" });
    expect(await row.locator(".badge").innerText()).toBe(called);
    await row.getByRole("button", { expanded: false }).click();
    const details = page.locator(".log-details");
    expect(await details.locator(".advice").innerText()).toBe(sentence);
    await details.getByText(result, { exact: true }).waitFor();

    // A test event shows the step that fails.
    await page.getByRole("button", { name: "Send test event" }).click();
    const failed = page.locator(".steps li.failed");
    await failed.getByText(step).waitFor();
    expect(await failed.locator(".under").innerText()).toMatch(why);
    await untilCount(page.locator(".steps li.done"), STEPS.indexOf(step));
    await untilCount(page.locator(".steps li.not-reached"), 5 - STEPS.indexOf(step));
    expect(await page.getByRole("status").locator(".notice").innerText()).toBe(sentence);
  },
);
