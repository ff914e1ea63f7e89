import { PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import { Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { create, heldFor, published } from "../harness/contents";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await service.workspaces.make();
});

describe("an idempotency key", () => {
  test("makes publishing again harmless: the first answer comes back and nothing is published", async () => {
    const first = { ...textEvent(workspace.id, "first"), idempotencyKey: "k".repeat(128) };
    const second = { ...first, ...textEvent(workspace.id, "second"), lifetime: { seconds: 5 } };
    const [one, two, other] = await publish(service.clients, first, second, textEvent(workspace.id, "other"));
    const [three] = await publish(service.clients, second);
    expect(published(one).repeated).toBe(false);
    for (const again of [two, three]) expect(published(again)).toEqual({ ...published(one), repeated: true });
    expect(published(other).sequence).toBeGreaterThan(published(one).sequence);
    expect(await heldFor(service.url, workspace)).toMatchObject([
      { id: published(one).eventId, message: { text: "first" } },
      { message: { text: "other" } },
    ]);
  });

  test("belongs to one workspace", async () => {
    const ids = [workspace.id, (await service.workspaces.make()).id];
    const events = ids.map((id) => ({ ...textEvent(id, "x"), idempotencyKey: "same" }));
    const results = (await publish(service.clients, ...events)).map(published);
    expect(results.map(({ repeated }) => repeated)).toEqual([false, false]);
  });

  test("is not used up by an event that was refused", async () => {
    const rest = { workspaceId: workspace.id, idempotencyKey: "k" };
    const [bad] = await publish(service.clients, { ...rest, content: create("") });
    const [good] = await publish(service.clients, { ...rest, content: create("c1") });
    expect([bad?.outcome?.$case, published(good).repeated]).toEqual(["refused", false]);
  });
});

test.each<[string, () => Promise<string> | string]>([
  ["that does not exist", () => "11111111-2222-4333-8444-555555555555"],
  ["whose id is no uuid", () => "nonsense"],
  ["without an id", () => ""],
  ["of a native platform", async () => (await service.workspaces.make({ platform: Platform.NATIVE })).id],
  [
    "that was disconnected, even under a key that was used before",
    async () => {
      published(
        (await publish(service.clients, { ...textEvent(workspace.id, "x"), idempotencyKey: "k" }))[0],
      );
      await service.workspaces.disconnect(workspace.id);
      return workspace.id;
    },
  ],
])("publishing to a workspace %s is refused as unknown", async (_what, find) => {
  const [result] = await publish(service.clients, { ...textEvent(await find(), "x"), idempotencyKey: "k" });
  const message = expect.any(String) as string;
  expect(result?.outcome).toEqual({
    $case: "refused",
    value: { reason: PublishRefusal.UNKNOWN_WORKSPACE, field: "workspace_id", message },
  });
});
