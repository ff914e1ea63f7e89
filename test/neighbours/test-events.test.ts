import { ListChangesRequest, ChangeKind } from "../../proto/gen/chatbridge/v1/workspace";
import { connectTenant, type TenantClient } from "../../bench/neighbours/tenant-client";
import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();
let client: TenantClient;
beforeAll(() => {
  client = connectTenant(street.place(), street.tenant("names"));
});
afterAll(() => client.close());

// time: ordering
test("if an operator address never answers, tests of this address that exceed the tenant's share are refused, and other operator events are not delayed", async () => {
  const { taken, report } = await street.attack("operator-events", ["operator event"]);
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});

// time: ordering
test("if a bridge never answers, test events for this bridge that exceed the tenant's share are refused, and other tenants are not disturbed", async () => {
  const { taken, report } = await street.attack("test-events");
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});

test("test events do not displace a new secret or a new name from the log of changes", async () => {
  const { workspaces, operator } = client;
  const { id: workspaceId } = street.tenant("names").polled;
  await operator(workspaces.rotateSigningSecret, { workspaceId });
  await operator(workspaces.updateWorkspace, { workspaceId, name: "new name", ownerEmail: undefined });
  for (let i = 0; i < 200; i++) await operator(workspaces.sendTestEvent, { workspaceId });
  const { changes } = await operator(workspaces.listChanges, ListChangesRequest.create({ workspaceId }));
  const kinds = changes.map(({ kind }) => kind);
  expect(kinds).toEqual(
    expect.arrayContaining([ChangeKind.SECRET_ROTATED, ChangeKind.RENAMED, ChangeKind.TEST_EVENT_SENT]),
  );
});
