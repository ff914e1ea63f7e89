import { poll, post } from "../harness/bridge";
import { createWorkspace, publish, startService, textEvent, type TestService } from "../harness/service";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

test("a signed POST is accepted and a signed poll serves what was published", async () => {
  const workspace = await createWorkspace(service.clients);
  const posted = await post(service.url, workspace, {
    type: "command",
    channel: "c1",
    user: { id: "u1" },
    text: "",
  });
  expect([posted.status, posted.json]).toEqual([202, { ok: true }]);
  await publish(service.clients, textEvent(workspace.id, "hello"));
  const page = await poll(service.url, workspace);
  expect(page.json).toMatchObject({
    events: [{ type: "message.create", message: { text: "hello" } }],
    hasMore: false,
  });
});
