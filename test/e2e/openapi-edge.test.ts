import * as fc from "fast-check";
import { openApiDocument } from "../../edge/openapi";
import { poll, post } from "../harness/bridge";
import { create, dm, ephemeral, MESSAGE_ID, update, type ContentInit } from "../harness/contents";
import { startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { nearMissesOf } from "../harness/from-schema";
import { contractOf, inboundEvents, inboundRule } from "../harness/openapi";
import { sharedPush } from "../harness/push";
import { createWorkspace, publish, type TestWorkspace } from "../harness/service";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";

jest.setTimeout(120_000);

const push = sharedPush();
const { service } = push;
let workspaces: readonly TestWorkspace[];
beforeAll(async () => {
  workspaces = await Promise.all(Array.from({ length: 8 }, () => createWorkspace(service.clients)));
});

const document = openApiDocument();
/** Where fields that are not documented are faults. */
const closed = contractOf(document, true);
const documentAllows = inboundRule(document);

let sent = 0;
/** From many addresses and for many workspaces, so that no limit is met. */
async function answerTo(body: unknown): Promise<{ readonly status: number; readonly json: unknown }> {
  const workspace = workspaces[++sent % workspaces.length] ?? { id: "", secret: "" };
  const text = JSON.stringify(body);
  return post(service.url, workspace, text, { from: `127.0.0.${(sent % 100) + 2}` });
}

// contract: inbound-types, error-schema
test("the edge takes every event that the document allows", async () => {
  // With an id of its own: a repeat would be taken without a look at its fields.
  const events = fc.tuple(inboundEvents(document), fc.uuid()).map(([event, id]) => ({ ...event, id }));
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(events, async (event) => {
      const { status, json } = await answerTo(event);
      expect([event, status]).toEqual([event, documentAllows(event) ? 202 : 400]);
      expect(closed.answer("/hooks/{workspaceId}", "post", status)(json)).toBe(true);
      seen.add(status);
    }),
    { numRuns: 200 },
  );
  expect(seen).toContain(202);
});

// contract: inbound-unknown-fields, inbound-required, check-7
test("the edge refuses every near miss that the document does not allow, with a field, and takes the others", async () => {
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(inboundEvents(document).chain(nearMissesOf), async (body) => {
      const { status, json } = await answerTo(body);
      expect([body, status]).toEqual([body, documentAllows(body) ? 202 : 400]);
      expect(closed.answer("/hooks/{workspaceId}", "post", status)(json)).toBe(true);
      if (status === 400) expect(json).toHaveProperty("field");
      seen.add(status);
    }),
    { numRuns: 300 },
  );
  expect(seen).toEqual(new Set([202, 400]));
});

const FULL = {
  kind: MessageKind.CARD,
  text: "hi",
  rows: [
    {
      buttons: [
        { label: "a", press: { $case: "action" as const, value: "b" } },
        { label: "c", press: { $case: "url" as const, value: "https://a.example/" } },
      ],
    },
  ],
  image: "https://a.example/a.png",
  awaitsReply: true,
  data: { any: ["thing"] },
};
const CONTENTS: readonly ContentInit[] = [
  create("c1"),
  create("c1", FULL),
  create("c1", { kind: MessageKind.ICEBREAKER, text: "" }),
  update("dm:u1", { ...FULL, id: MESSAGE_ID }),
  ephemeral("c1", "u1"),
  dm("u1", FULL),
];

// contract: poll-page-fields, message-fields
test("pages are as the document has them, to the last field, with events of every type", async () => {
  const bridge = await push.bridge({ polls: true });
  const workspace = { id: bridge.workspaceId, secret: bridge.secret };
  const isPage = closed.component("EventPage");
  const isDocumented = async (query: string) => {
    const { status, headers, json } = await poll(service.url, workspace, query);
    expect([status, isPage(json), isPage.errors]).toEqual([200, true, null]);
    for (const [name, isValid] of Object.entries(closed.headers("/hooks/{workspaceId}/events", "get", 200))) {
      expect([name, isValid(headers[name])]).toEqual([name, true]);
    }
    return json as { readonly events: readonly { readonly type: string }[] };
  };
  await isDocumented("");
  await publish(service.clients, ...CONTENTS.map((content) => ({ workspaceId: workspace.id, content })));
  expect((await isDocumented("limit=100")).events).toHaveLength(CONTENTS.length);
  await isDocumented("after=latest");
});

// contract: envelope-fields, message-fields
test("pushes are as the document's webhooks have them, to the last field", async () => {
  const bridge = await push.bridge();
  await publish(
    service.clients,
    ...CONTENTS.map((content) => ({ workspaceId: bridge.workspaceId, content })),
  );
  await bridge.nth(CONTENTS.length);
  await push.ping(bridge.workspaceId);
  const requests = [];
  for (let n = 1; n <= CONTENTS.length + 1; n++) requests.push(await bridge.nth(n));
  const types = new Set<string>();
  for (const { body, headers } of requests) {
    const event = JSON.parse(body.toString()) as { readonly type: string };
    types.add(event.type);
    const { parameters = [], requestBody } = document.webhooks[event.type]?.post ?? {};
    const ref = requestBody?.content["application/json"].schema.$ref ?? "";
    const isDocumented = closed.component(ref.slice(ref.lastIndexOf("/") + 1));
    expect([isDocumented(event), isDocumented.errors]).toEqual([true, null]);
    for (const { name } of parameters) expect(headers[name.toLowerCase()]).toMatch(/\S/);
  }
  expect([...types].toSorted()).toEqual(Object.keys(document.webhooks).toSorted());
});

describe("the dashboard's listener", () => {
  let dashboard: DashboardEdge;
  beforeAll(async () => {
    dashboard = await startDashboardEdge(service.core.port, { PUBLIC_URL: "https://hooks.example" });
  });
  afterAll(() => dashboard.edge.stop());

  test("serves the document, with the address that bridges are to use", async () => {
    const answer = await fetch(`${dashboard.url}/openapi.json`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "application/json; charset=utf-8",
    ]);
    expect(await answer.json()).toEqual(openApiDocument("https://hooks.example"));
  });

  test.each([
    ["/docs", "text/html; charset=utf-8", "<h1>"],
    ["/docs.css", "text/css; charset=utf-8", "body {"],
  ])("serves %s to whoever asks, without a session", async (path, type, content) => {
    const answer = await fetch(`${dashboard.url}${path}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await answer.text()).toContain(content);
  });
});
