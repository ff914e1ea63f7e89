import { PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import { DisconnectWorkspaceRequest, Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { create, heldFor, published } from "../harness/contents";
import { call, createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();

const held = (workspace: TestWorkspace) => heldFor(service.url, workspace);

describe("an idempotency key", () => {
  test("makes sending again harmless: the first answer comes back and nothing is published", async () => {
    const own = await createWorkspace(service.clients);
    const first = { ...textEvent(own.id, "first"), idempotencyKey: "k" };
    const second = { ...textEvent(own.id, "second"), idempotencyKey: "k", lifetime: { seconds: 5 } };
    const [one] = await publish(service.clients, first);
    const [two] = await publish(service.clients, second);
    expect(published(two)).toEqual({ ...published(one), repeated: true });
    expect(published(one).repeated).toBe(false);
    expect(await held(own)).toHaveLength(1);
  });

  test("counts within one call too", async () => {
    const own = await createWorkspace(service.clients);
    const event = { ...textEvent(own.id, "x"), idempotencyKey: "k".repeat(128) };
    const [one, two, three] = await publish(service.clients, event, event, textEvent(own.id, "y"));
    expect([published(one).repeated, published(two)]).toEqual([false, { ...published(one), repeated: true }]);
    expect(published(three).sequence).toBeGreaterThan(published(one).sequence);
    expect(await held(own)).toHaveLength(2);
  });

  test("is the workspace's own", async () => {
    const others = [await createWorkspace(service.clients), await createWorkspace(service.clients)];
    const events = others.map(({ id }) => ({ ...textEvent(id, "x"), idempotencyKey: "same" }));
    const results = (await publish(service.clients, ...events)).map(published);
    expect(results.map(({ repeated }) => repeated)).toEqual([false, false]);
  });

  test("is not taken by an event that was refused", async () => {
    const own = await createWorkspace(service.clients);
    const rest = { workspaceId: own.id, idempotencyKey: "k" };
    const [bad] = await publish(service.clients, { ...rest, content: create("") });
    const [good] = await publish(service.clients, { ...rest, content: create("c1") });
    expect([bad?.outcome?.$case, published(good).repeated]).toEqual(["refused", false]);
  });
});

describe("a workspace that has no bridge is answered as unknown", () => {
  const unknown = {
    $case: "refused",
    value: {
      reason: PublishRefusal.UNKNOWN_WORKSPACE,
      field: "workspace_id",
      message: expect.any(String) as string,
    },
  };

  test.each([
    ["that there is not", "11111111-2222-4333-8444-555555555555"],
    ["whose id is no uuid", "nonsense"],
    ["without an id", ""],
  ])("one %s", async (_name, id) => {
    expect((await publish(service.clients, textEvent(id, "x")))[0]?.outcome).toEqual(unknown);
  });

  test("one of a native platform", async () => {
    const own = await createWorkspace(service.clients, { platform: Platform.NATIVE });
    expect((await publish(service.clients, textEvent(own.id, "x")))[0]?.outcome).toEqual(unknown);
  });

  test("one that was disconnected, also under a key that was used before", async () => {
    const { clients } = service;
    const own = await createWorkspace(clients);
    const event = { ...textEvent(own.id, "x"), idempotencyKey: "k" };
    published((await publish(clients, event))[0]);
    const request = DisconnectWorkspaceRequest.create({ workspaceId: own.id });
    await call(clients.workspaces, clients.workspaces.disconnectWorkspace, request);
    expect((await publish(clients, event))[0]?.outcome).toEqual(unknown);
  });
});
