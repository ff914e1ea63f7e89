import { openApiDocument } from "../../edge/openapi/document";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { poll } from "../harness/bridge";
import { create, dm, ephemeral, MESSAGE_ID, update, type ContentInit } from "../harness/contents";
import { startDashboardEdge } from "../harness/dashboard";
import { contractOf } from "../harness/openapi";
import { sharedPush } from "../harness/push";

const push = sharedPush();
const { service } = push;

// Inbound events are tested in test/unit/openapi-document.test.ts and test/e2e/inbound-fields.test.ts.
const document = openApiDocument();
/** Validators for the schemas of the OpenAPI document. These validators also reject undocumented fields. */
const closed = contractOf(document, true);

const buttons = [
  { label: "a", press: { $case: "action" as const, value: "b" } },
  { label: "c", press: { $case: "url" as const, value: "https://a.example/" } },
];
const FULL = {
  kind: MessageKind.CARD,
  text: "hi",
  rows: [{ buttons }],
  image: "https://a.example/a.png",
  awaitsReply: true,
  data: { any: ["thing"] },
};
const CONTENTS: readonly ContentInit[] = [
  create("c1"),
  create("c1", FULL),
  create("c1", { kind: MessageKind.ICEBREAKER, text: "hi" }),
  update("dm:u1", { ...FULL, id: MESSAGE_ID }),
  ephemeral("c1", "u1"),
  dm("u1", FULL),
];

// contract: poll-page-fields, message-fields
test("pages with every type of event that games publish match the OpenAPI document in every field", async () => {
  const workspace = await service.workspaces.make();
  const isPage = closed.component("EventPage");
  const expectDocumented = async (query: string, count: number) => {
    const { status, headers, json } = await poll(service.url, workspace, query);
    expect([status, isPage(json), isPage.errors]).toEqual([200, true, null]);
    expect(json).toHaveProperty("events.length", count);
    for (const [name, isValid] of Object.entries(closed.headers("/hooks/{workspaceId}/events", "get", 200))) {
      expect([name, isValid(headers[name])]).toEqual([name, true]);
    }
  };
  await expectDocumented("", 0);
  await push.publish(...CONTENTS.map((content) => ({ workspaceId: workspace.id, content })));
  await expectDocumented("limit=100", CONTENTS.length);
  await expectDocumented("after=latest", 0);
});

// contract: envelope-fields, message-fields
test("pushes of every type match the webhooks of the OpenAPI document in every field", async () => {
  const { workspaceId, nth } = await push.bridge();
  await push.publish(...CONTENTS.map((content) => ({ workspaceId, content })));
  await nth(CONTENTS.length);
  await push.ping(workspaceId);
  const types = new Set<string>();
  for (let n = 1; n <= CONTENTS.length + 1; n++) {
    const { body, headers } = await nth(n);
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

test("the dashboard's listener serves the OpenAPI document to clients without a session; the document contains the service's address for bridges", async () => {
  const publicUrl = "https://hooks.example";
  const { edge, url } = await startDashboardEdge(service.core.port, { PUBLIC_URL: publicUrl });
  const answer = await fetch(`${url}/openapi.json`);
  const type = answer.headers.get("content-type");
  expect([answer.status, type]).toEqual([200, "application/json; charset=utf-8"]);
  expect(await answer.json()).toEqual(openApiDocument(publicUrl));
  await edge.stop();
});
