import { DeliveryResult, PushStep } from "../../proto/gen/chatbridge/v1/workspace";
import {
  drip,
  flood,
  garbage,
  raw,
  redirect,
  reset,
  sayNothing,
  status,
  type Behaviour,
} from "../harness/behaviours";
import type { NameAnswer } from "../harness/names";
import { cardUpdate, sharedPush, type PushedBridge } from "../harness/push";
import type { ReceiverOptions, Welcome } from "../harness/receiver";
import { until } from "../harness/wait";

const { SUCCESS, DNS, REFUSED_ADDRESS, CONNECT, TLS, TIMEOUT, STATUS, BODY } = DeliveryResult;
const { NAME, ADDRESS, SEND } = PushStep;
const STEPS: readonly PushStep[] = [NAME, ADDRESS, PushStep.CONNECT, PushStep.TLS, SEND, PushStep.STATUS];
const DEADLINE_MS = 5_000;
const LOOPBACK = "127.0.0.1";

/** A fault of a bridge, and the expected result of a push to this bridge. */
interface Row {
  readonly what: string;
  readonly arrange: (bridge: PushedBridge) => unknown;
  readonly options?: () => ReceiverOptions;
  /** The result of the push. If the result depends on timing, a list of the possible results. */
  readonly result: DeliveryResult | readonly DeliveryResult[];
  readonly status?: number;
  /** The bridge's address; undefined if the connection might break before core knows the address. */
  readonly address?: string;
  /** The step at which a test event fails, and a pattern for the step's message to the owner. */
  readonly step: PushStep | readonly PushStep[];
  readonly words: RegExp;
}

const push = sharedPush();

const answer = (behaviour: Behaviour) => (bridge: PushedBridge) => bridge.behave(behaviour);
const welcome = (how: Welcome) => (bridge: PushedBridge) => bridge.welcome(how);
const name = (record: NameAnswer) => (bridge: PushedBridge) => push.names.set(bridge.name, record);
/** Sends the bytes, then closes the connection. */
const breakOff = (bytes: string): Behaviour => ({ answer: ({ stream }) => void stream.end(bytes) });
const UPGRADE = "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\n";
const LENGTH = "Content-Length: 100\r\n";
const CHUNK = `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`;

type Kind = Omit<Row, "what" | "arrange">;
function row(what: string, arrange: Row["arrange"], kind: Kind, more: Partial<Kind> = {}): Row {
  return { what, arrange, ...kind, ...more };
}
const unnamed: Kind = { result: DNS, step: NAME, words: /could not be looked up/ };
const noTls: Kind = { result: TLS, step: PushStep.TLS, words: /TLS handshake failed/ };
const atAnswer = { address: LOOPBACK, step: PushStep.STATUS };
const broken: Kind = { ...atAnswer, result: BODY, words: /broke off or was not HTTP/ };
const refused = (code: number, words: RegExp): Kind => ({ ...atAnswer, result: STATUS, status: code, words });
const FAILURES: readonly Row[] = [
  row("has a name that does not exist in DNS", name("NXDOMAIN"), unnamed, { words: /looked up.*spelling/ }),
  row("has a name for which DNS never answers", name("silence"), unnamed),
  row("has a name without an address", name([]), unnamed),
  row("has a private address", name(["10.0.0.1"]), {
    result: REFUSED_ADDRESS,
    step: ADDRESS,
    words: /is at 10\.0\.0\.1.*not a public address \(private\)/,
  }),
  row("is not listening", (bridge) => bridge.close(), {
    result: CONNECT,
    step: PushStep.CONNECT,
    words: /ECONNREFUSED.*check that the bridge is running/,
  }),
  row("resets the connection", welcome("reset"), {
    result: [CONNECT, TLS],
    step: [PushStep.CONNECT, PushStep.TLS],
    words: /ECONNRESET/,
  }),
  row("closes the connection", welcome("close"), noTls),
  row("does not speak TLS", welcome("garbage"), noTls, { words: /handshake failed.*does not speak TLS/ }),
  row("has an expired certificate", () => {}, noTls, {
    options: () => ({ certificate: push.ca.issueExpired(["*.bridge.test"]) }),
    words: /CERT_HAS_EXPIRED.*the certificate has expired/,
  }),
  row("resets the connection instead of answering", answer(reset()), broken),
  row("answers with bytes that are not HTTP", answer(garbage()), broken),
  row(
    "answers with endless headers",
    answer(raw(`HTTP/1.1 200 OK\r\nX-Huge: ${"x".repeat(1_000_000)}\r\n\r\n`)),
    broken,
  ),
  row("switches protocols", answer(raw(UPGRADE)), broken),
  row("closes the connection in the middle of the headers", answer(breakOff(OK + LENGTH)), broken),
  row(
    "answers with two different Content-Lengths",
    answer(raw(`${OK}${LENGTH}Content-Length: 0\r\n\r\n`)),
    broken,
  ),
  row("answers with 500", answer(status(500)), refused(500, /answered with 500 instead of a 2xx/)),
  row("redirects", answer(redirect("https://x.test/", 307)), refused(307, /307.*redirects are not followed/)),
];

const late = { result: TIMEOUT, address: LOOPBACK };
const shaking: Kind = { ...late, step: PushStep.TLS, words: /handshake was not completed within 5 seconds/ };
const unanswered: Kind = { ...late, ...atAnswer, words: /did not answer within 5 seconds/ };
const STALLS: readonly Row[] = [
  row("accepts the connection and sends nothing", welcome("silence"), shaking),
  row("sends the TLS handshake byte by byte", welcome("drip"), shaking),
  row("reads the request, then sends nothing", answer(sayNothing()), unanswered),
  row("sends its headers byte by byte", answer(drip("HTTP/1.1 200 OK\r\nX-Slow: ", "x", 300)), unanswered),
  row("sends interim answers only", answer(drip("", "HTTP/1.1 103 Early Hints\r\n\r\n", 300)), unanswered),
  // A minute is far longer than the deadline. With a short delay, a core that stalls at the deadline might read the
  // answer before its timer fires.
  row("answers after a minute", answer(status(200, { afterMs: 60_000 })), unanswered),
];

type Outcome = Awaited<ReturnType<typeof attempt>>;

/**
 * Pushes an event that is not retried, and a test event. Returns the log line of the first event, and core's answer to
 * the test event.
 */
async function attempt({ arrange, options }: Pick<Row, "arrange" | "options">) {
  const bridge = await push.bridge(options?.());
  await arrange(bridge);
  const [event] = await push.publish(cardUpdate(bridge.workspaceId));
  const test = await push.ping(bridge.workspaceId);
  const log = await push.logged(bridge.workspaceId, 2);
  return { test, line: log.find(({ eventId }) => eventId === event?.eventId) };
}

function expectOutcome({ line, test }: Outcome, row: Row): void {
  const { result, status: code = 0, address, step, words } = row;
  for (const delivery of [line, test.delivery]) {
    expect(delivery).toMatchObject({ attempt: 1, status: code });
    expect([result].flat()).toContain(delivery?.result);
    if (address !== undefined) expect(delivery?.address).toBe(address);
    if (result === TIMEOUT) expect(delivery?.latencyMs).toBeGreaterThan(DEADLINE_MS - 200);
  }
  expect([step].flat()).toContain(test.failedStep);
  expect(test.failure).toMatch(words);
  // The completed steps are exactly the steps before the failed step.
  expect(test.steps.map((each) => each.step)).toEqual(STEPS.slice(0, STEPS.indexOf(test.failedStep)));
}

const ROWS = [...STALLS, ...FAILURES];
let outcomes: readonly Outcome[];
beforeAll(async () => {
  outcomes = await Promise.all(ROWS.map(attempt));
});
const outcomeOf = (of: Row) => outcomes[ROWS.indexOf(of)] ?? Promise.reject(new Error("no such row"));

// time: smoke
// contract: push-deadline, push-2xx
describe("an attempt and a test event time out after 5 seconds when the bridge", () => {
  test.each(STALLS)("$what", async (each) => expectOutcome(await outcomeOf(each), each));
});

describe("an attempt and a test event fail when the bridge", () => {
  test.each(FAILURES)("$what", async (each) => expectOutcome(await outcomeOf(each), each));
});

const NO_CONTENT = "HTTP/1.1 204 No Content\r\n";
/**
 * Bridges that send a complete head with a 2xx status. More forms of answers are tested in
 * test/unit/push-answer.test.ts.
 */
const SUCCESSES: readonly (readonly [what: string, status: number, behaviour: Behaviour])[] = [
  ["sends 100 Continue first", 204, raw(`HTTP/1.1 100 Continue\r\n\r\n${NO_CONTENT}\r\n`)],
  ["sends a body after a 204", 204, raw(`${NO_CONTENT}Content-Length: 2\r\n\r\nok`)],
  ["announces a body and sends none", 200, raw(`${OK}${LENGTH}\r\n`)],
  ["sends one byte of the body per second", 200, drip(`${OK}${LENGTH}\r\n`, "x", 1_000)],
  ["closes the connection in the middle of a chunked body", 200, breakOff(CHUNK)],
  ["sends a long body", 200, flood()],
  ["sends a long body of a declared length", 200, flood({ declared: true })],
];

// contract: push-2xx
test.each(SUCCESSES)(
  "an attempt and a test event succeed when the bridge %s",
  async (_what, code, behaviour) => {
    const bridge = await push.bridge();
    bridge.behave(behaviour);
    const test = await push.ping(bridge.workspaceId);
    expect(test.steps.map(({ step }) => step)).toEqual(STEPS);
    for (const count of [2, 3]) {
      await push.publish(cardUpdate(bridge.workspaceId));
      await push.logged(bridge.workspaceId, count);
    }
    for (const line of await push.deliveries(bridge.workspaceId)) {
      expect(line).toMatchObject({ attempt: 1, result: SUCCESS, status: code });
    }
  },
);

test("core closes the connection while a bridge is still sending an endless body", async () => {
  const endless = flood();
  const bridge = await push.bridge();
  bridge.behave(endless);
  await push.publish(cardUpdate(bridge.workspaceId));
  await until("the connection is closed", () => bridge.connections[0]?.closedAt !== undefined);
  expect(endless.sent).toBeLessThan(30_000_000);
});
