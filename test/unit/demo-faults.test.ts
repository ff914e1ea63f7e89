import * as fc from "fast-check";
import { REAL_TIMING } from "../../kit/back-off";
import { sign, verify } from "../../kit/signature";
import { createFaults } from "../../demo/chat/link/faults";
import { createDashboardLinks } from "../../demo/chat/server/dashboard-links";
import { BREAKS } from "../../demo/chat/shapes";
import { eventIdsIn } from "../../demo/chat/wire/wire-log";
import { forAll } from "../harness/for-all";
import { createLogger } from "../../runtime/logger";
import { status } from "../harness/behaviours";
import { startReceiver } from "../harness/receiver";
import { WORKSPACE } from "../harness/sample-events";

const SECRET = "the-secret";
const NOW = Date.parse("2026-01-01T12:00:00Z");
const BODY = Buffer.from("{}");

test("a simulated fault of the secret or clock affects only the direction for which it was started; a repair fixes both directions", () => {
  for (const how of BREAKS) {
    const faults = createFaults(SECRET, { ...REAL_TIMING, now: () => NOW });
    const faultOf = ({ secrets, timing }: typeof faults.pushes) =>
      verify(sign(BODY, SECRET, NOW), BODY, secrets(WORKSPACE) as string, timing.now());
    const expected = how === "secret" ? "wrong" : how === "clock" ? "stale" : undefined;
    faults.begin("pushes", how);
    expect([how, faultOf(faults.pushes), faultOf(faults.reports)]).toEqual([how, expected, undefined]);
    faults.begin("reports", how);
    expect([how, faultOf(faults.pushes), faultOf(faults.reports)]).toEqual([how, expected, expected]);
    faults.end();
    expect([how, faultOf(faults.pushes), faultOf(faults.reports)]).toEqual([how, undefined, undefined]);
  }
});

const ulid = fc.string({
  unit: fc.constantFrom(..."0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
  minLength: 26,
  maxLength: 26,
});
const eventId = ulid.map((text) => `evt_${text}`);
const bytesOf = (content: unknown) => Buffer.from(JSON.stringify(content));

test("the ids of the events in a push or a page are found, but no ids in the texts or the data of messages", () => {
  forAll(fc.tuple(fc.array(eventId, { maxLength: 120 }), fc.jsonValue(), eventId), ([ids, data, other]) => {
    const event = (id: string) => ({ id, message: { text: `"id":"${other}"`, data: { data, id: other } } });
    expect(eventIdsIn(bytesOf({ events: ids.map(event), next: null }))).toEqual(ids.slice(0, 100));
    for (const id of ids) expect(eventIdsIn(bytesOf(event(id)))).toEqual([id]);
  });
});

test("a body that is not an event or a page has no ids", () => {
  forAll(
    fc.oneof(
      fc.string(),
      fc.json(),
      fc.jsonValue().map((id) => JSON.stringify({ id })),
    ),
    (text) => {
      expect(eventIdsIn(Buffer.from(text))).toEqual([]);
    },
  );
});

describe("links to the dashboard", () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  const PAGE = `/workspaces/${WORKSPACE}`;
  const EVENT = "evt_01J00000000000000000000000";

  /** Returns the links of a chat whose dashboard gives the same answer to every request. */
  async function linksTo(code: number, answer: object, now = Date.now) {
    const receiver = await startReceiver();
    closing.push(receiver.close);
    receiver.behave(status(code, { body: JSON.stringify(answer) }));
    const url = receiver.urlOf("127.0.0.1", "");
    const config = { workspaceId: WORKSPACE, dashboard: { url, token: "the-token" } };
    return { url, receiver, links: createDashboardLinks(config, createLogger("test", "silent"), now) };
  }
  const LINK = { path: `${PAGE}#visit=code`, workspaces: [WORKSPACE] };

  test("a link to the dashboard signs the member in, and opens the page of the workspace or of an event", async () => {
    const { url, receiver, links } = await linksTo(201, LINK);
    expect(links.page).toBe(url + PAGE);
    expect(await links.linkFor("u1", null)).toBe(`${url}${PAGE}#visit=code`);
    await links.linkFor("u1", EVENT);
    const asked = receiver.requests.map(({ path, headers, body }) => [
      path,
      headers.authorization,
      JSON.parse(body.toString()) as unknown,
    ]);
    const ofPage = (next: string) => ["/api/sign-in-links", "Bearer the-token", { next, keepSession: true }];
    expect(asked).toEqual([ofPage(PAGE), ofPage(`${PAGE}/events/${EVENT}`)]);
  });

  test.each([
    ["is not limited", 201, { ...LINK, workspaces: null }],
    ["is limited to another workspace", 201, { ...LINK, workspaces: ["another"] }],
    ["is limited to several workspaces", 201, { ...LINK, workspaces: [WORKSPACE, "another"] }],
    ["comes with an answer of an older release", 201, { path: LINK.path }],
    ["is unknown to core", 401, { message: "no" }],
  ])("if the token %s, the link does not sign in", async (_what, code, answer) => {
    const { url, links } = await linksTo(code, answer);
    expect(await links.linkFor("u1", null)).toBe(url + PAGE);
  });

  // time: controlled
  test("in each minute, a member gets at most 20 sign-in links, and all members together get at most 60", async () => {
    let now = 0;
    const { url, receiver, links } = await linksTo(201, LINK, () => now);
    const ask = async (member: string, count: number) => {
      const all = await Promise.all(Array.from({ length: count }, () => links.linkFor(member, null)));
      return all.filter((link) => link !== url + PAGE).length;
    };
    expect(await ask("u1", 30)).toBe(20);
    expect([await ask("u2", 15), await ask("u3", 15), await ask("u4", 15)]).toEqual([15, 15, 10]);
    expect(receiver.requests).toHaveLength(60);
    now = 60_000;
    expect(await ask("u1", 30)).toBe(20);
  });
});
