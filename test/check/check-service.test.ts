import { randomUUID } from "node:crypto";
import { checkService } from "../../bridge/check/service/check-service";
import type { CheckResult } from "../../bridge/check/result";
import { create, dm, ephemeral, update } from "../harness/contents";
import { createWorkspace, publish, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { createWorkspaceApi } from "../harness/workspace-api";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const failed = ({ rules }: CheckResult) => rules.filter(({ verdict }) => verdict === "failed");
const unseen = ({ rules }: CheckResult) =>
  rules.filter(({ verdict }) => verdict === "unseen").map(({ id }) => id);

function check(change: Partial<Parameters<typeof checkService>[0]> = {}): Promise<CheckResult> {
  const { id, secret } = workspace;
  return checkService({ url: new URL(service.url), workspace: id, secrets: [secret], ...change });
}

// contract: order, poll-query-400, poll-signed-response
test("our service keeps every rule, with held events of all types and while the secret is rotated", async () => {
  const contents = [create("c1"), update("c1"), ephemeral("c1", "u1"), dm("u1")];
  await publish(service.clients, ...contents.map((content) => ({ workspaceId: workspace.id, content })));
  const { signingSecret } = await createWorkspaceApi(service.clients.workspaces).rotate(workspace.id);
  const result = await check({ secrets: [signingSecret, workspace.secret] });
  expect(failed(result)).toEqual([]);
  expect(unseen(result)).toEqual(["same-404", "repeats", "workspace-limit", "address-limit"]);
  expect(result.ok).toBe(true);
}, 120_000);

test("of a workspace with a target URL what concerns polling is unseen, and nothing is broken", async () => {
  const pushed = await createWorkspace(service.clients, { targetUrl: "https://8.8.8.8/" });
  const result = await check({ workspace: pushed.id, secrets: [pushed.secret] });
  expect(failed(result)).toEqual([]);
  expect(result.rules.find(({ id }) => id === "poll-mode")).toMatchObject({ note: "it has a target URL" });
  expect(unseen(result)).toEqual(
    expect.arrayContaining([
      "poll-query",
      "poll-query-signed",
      "page-signed",
      "poll-latest",
      "held-events",
      "cursors",
    ]),
  );
}, 120_000);

// contract: check-2, check-6
test("our service refuses what goes over its limits as the contract has it", async () => {
  const own = await createWorkspace(service.clients);
  const only = ["workspace-limit", "address-limit"];
  const result = await check({ workspace: own.id, secrets: [own.secret], withLimits: true, only });
  expect(failed(result)).toEqual([]);
  expect(result.rules.map(({ id }) => id)).toEqual(["accepts", ...only]);
}, 120_000);

test.each<[string, () => Partial<Parameters<typeof checkService>[0]>, RegExp]>([
  ["a wrong secret", () => ({ secrets: ["another"] }), /answered 401.*the dashboard showed/],
  ["an unknown workspace", () => ({ workspace: randomUUID() }), /answered 404.*no such workspace/],
  ["an address where nothing is", () => ({ url: new URL("http://127.0.0.1:1/") }), /ECONNREFUSED.*base URL/],
])("%s is told at once, and all other rules are skipped", async (_what, change, told) => {
  const result = await check(change());
  const [first, ...others] = result.rules;
  expect(first?.verdict === "failed" && `${first.found} ${first.mend}`).toMatch(told);
  expect(new Set(others.map(({ verdict }) => verdict))).toEqual(new Set(["skipped"]));
  expect(result.ok).toBe(false);
});
