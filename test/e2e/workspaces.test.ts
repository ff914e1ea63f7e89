import { status } from "@grpc/grpc-js";
import { DeliveryMode, Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { openTestStore, texts } from "../harness/store";
import { HANG_MS, until } from "../harness/wait";
import { expectRejected, type CreateInit, type UpdateInit } from "../harness/workspace-api";

const service = sharedService();
const api = service.workspaces;

const pollStatus = async (id: string, secret: string) => (await poll(service.url, { id, secret })).status;

/** Blank names, and names with control characters, line breaks or text-direction controls. */
const BAD_NAMES = [
  " ",
  "\u200b\u3164",
  "a\0",
  "a\nb",
  "a\u007f",
  "a\u009fb",
  "a\u2028b",
  "\u202eb",
  "a\u2069",
];

const UNKNOWN = "11111111-2222-4333-8444-555555555555";
const { FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND } = status;

describe("new workspaces", () => {
  // time: smoke
  test("a new workspace of the custom platform is connected, can be polled, and has one secret", async () => {
    const before = Date.now();
    const { workspace, signingSecret } = await api.create({ name: "Ann's", ownerEmail: "ann@a.example" });
    expect(workspace).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/) as string,
      name: "Ann's",
      ownerEmail: "ann@a.example",
      platform: Platform.CUSTOM,
      connected: true,
      targetUrl: "",
      mode: DeliveryMode.POLL,
      secrets: [{ createdAt: workspace?.createdAt, expiresAt: undefined }],
      createdAt: expect.any(Date) as Date,
      operatorEventsAddress: "",
      missingKey: "",
      operatorEventsMissingKey: "",
    });
    expect(Math.abs(Number(workspace?.createdAt) - before)).toBeLessThan(HANG_MS);
    expect(Buffer.from(signingSecret, "base64url")).toHaveLength(32);
    expect(await pollStatus(workspace?.id ?? "", signingSecret)).toBe(200);
  });

  test("a new workspace of the native platform cannot be polled, and has no secret and no target URL", async () => {
    const native = await api.make({ platform: Platform.NATIVE });
    expect(native).toMatchObject({
      platform: Platform.NATIVE,
      connected: false,
      mode: DeliveryMode.UNSPECIFIED,
      secrets: [],
      secret: "",
    });
    expect(await pollStatus(native.id, "")).toBe(404);
    const setting = api.setTargetUrl(native.id, "https://8.8.8.8/");
    await expectRejected(setting, FAILED_PRECONDITION, "custom platform");
    await expectRejected(api.connect(native.id), FAILED_PRECONDITION, "custom platform");
    await expectRejected(api.rotate(native.id), FAILED_PRECONDITION, "connected");
  });

  test.each<[string, CreateInit]>([
    ["name", { name: "" }],
    ["name", { name: "n".repeat(129) }],
    ["owner_email", { ownerEmail: "nobody" }],
    ["owner_email", { ownerEmail: "ann@a.example\0" }],
    ["owner_email", { ownerEmail: "a@b@c.example" }],
    ["owner_email", { ownerEmail: "a b@c.example" }],
    ["owner_email", { ownerEmail: "a@b.example,c@d.example" }],
    ["owner_email", { ownerEmail: "a@b.example\r\nBcc: c@d.example" }],
    ["owner_email", { ownerEmail: `${"a".repeat(245)}@b.example` }],
    ["platform", { platform: 7 as Platform }],
    ["target_url", { targetUrl: "http://8.8.8.8/" }],
    ["target_url", { targetUrl: "https://10.0.0.1/" }],
    ["target_url", { platform: Platform.NATIVE, targetUrl: "https://8.8.8.8/" }],
  ])(
    "an invalid new workspace is rejected with INVALID_ARGUMENT and an error that names %s: %j",
    async (field, request) => {
      await expectRejected(api.create(request), INVALID_ARGUMENT, field);
    },
  );

  test("a new workspace with a blank name, or with control characters in its name or email, is rejected", async () => {
    for (const name of BAD_NAMES) await expectRejected(api.create({ name }), INVALID_ARGUMENT, "name");
    await expectRejected(api.create({ ownerEmail: "ann@\u202ea.example" }), INVALID_ARGUMENT, "owner_email");
  });

  test("a workspace can have a name of 128 characters, and an email address of 254 characters", async () => {
    const ownerEmail = `${"a".repeat(244)}@b.example`;
    const name = "\u{1f600}".repeat(128);
    expect(await api.make({ name: "\u200fשלום 👨\u200d👩\u200d👧" })).toHaveProperty("id");
    expect(await api.make({ name, ownerEmail })).toMatchObject({ name, ownerEmail });
  });
});

describe("updating", () => {
  test("an update changes only the fields that are set in the request", async () => {
    const { id } = await api.make({ name: "old", ownerEmail: "old@a.example" });
    for (const [change, ownerEmail] of [
      [{ name: "new" }, "old@a.example"],
      [{ ownerEmail: "new@a.example" }, "new@a.example"],
      [{ ownerEmail: "" }, ""],
    ] as const) {
      expect((await api.update(id, change)).workspace).toMatchObject({ name: "new", ownerEmail });
      expect((await api.get(id)).workspace).toMatchObject({ name: "new", ownerEmail });
    }
  });

  test.each<[string, UpdateInit]>([
    ["name", { name: "" }],
    ["name", { name: "n".repeat(129) }],
    ["name", { name: "a\nb" }],
    ["owner_email", { ownerEmail: "nobody" }],
    ["owner_email", { ownerEmail: "ann@a.example\0" }],
  ])(
    "an invalid update fails with INVALID_ARGUMENT, names %s and changes nothing: %j",
    async (field, change) => {
      const { id } = await api.make({ name: "old", ownerEmail: "old@a.example" });
      await expectRejected(api.update(id, change), INVALID_ARGUMENT, field);
      expect((await api.get(id)).workspace).toMatchObject({ name: "old", ownerEmail: "old@a.example" });
    },
  );

  test("concurrent updates of different fields are all kept", async () => {
    const { id } = await api.make({ name: "old" });
    await Promise.all([
      api.update(id, { name: "new" }),
      api.update(id, { ownerEmail: "new@a.example" }),
      api.setTargetUrl(id, "https://8.8.8.8/events"),
    ]);
    expect((await api.get(id)).workspace).toMatchObject({
      name: "new",
      ownerEmail: "new@a.example",
      targetUrl: "https://8.8.8.8/events",
    });
  });
});

// contract: poll-403, workspace-modes
test("a workspace with a target URL is in push mode, and its polls are answered with 403; without a target URL, the workspace can be polled", async () => {
  const targetUrl = "https://8.8.8.8/events?a=b";
  const { id, secret, ...made } = await api.make({ targetUrl });
  expect(made).toMatchObject({ targetUrl, mode: DeliveryMode.PUSH });
  for (const [url, mode, polled] of [
    ["", DeliveryMode.POLL, 200],
    [targetUrl, DeliveryMode.PUSH, 403],
  ] as const) {
    expect((await api.setTargetUrl(id, url)).workspace).toMatchObject({ targetUrl: url, mode });
    expect(await pollStatus(id, secret)).toBe(polled);
  }
});

test("deleting a workspace also deletes all its held events; polls and new events for the workspace are then rejected", async () => {
  const { id, secret } = await api.make();
  await publish(service.clients, textEvent(id, "held"));
  expect(await pollStatus(id, secret)).toBe(200);
  await api.delete(id);
  expect(await pollStatus(id, secret)).toBe(404);
  expect((await api.list(1_000)).workspaces.map((workspace) => workspace.id)).not.toContain(id);
  const [result] = await publish(service.clients, textEvent(id, "late"));
  expect(result?.outcome?.$case).toBe("refused");
  const store = await openTestStore(service.redis.url);
  expect(await texts(store, "KEYS", `*${id}*`)).toEqual([]);
  await store.close();
});

test.each<[string, (id: string) => Promise<unknown>]>([
  ["GetWorkspace", (id) => api.get(id)],
  ["UpdateWorkspace", (id) => api.update(id, { name: "new" })],
  ["ConnectWorkspace", (id) => api.connect(id)],
  ["DisconnectWorkspace", (id) => api.disconnect(id)],
  ["DeleteWorkspace", (id) => api.delete(id)],
  ["RotateSigningSecret", (id) => api.rotate(id)],
  ["SetTargetUrl", (id) => api.setTargetUrl(id, "https://8.8.8.8/")],
  ["SetTargetUrl with an empty URL", (id) => api.setTargetUrl(id, "")],
])("%s fails with NOT_FOUND for an unknown, deleted or invalid workspace id", async (_rpc, run) => {
  const deleted = await api.make();
  await api.delete(deleted.id);
  for (const id of [UNKNOWN, "nonsense", "", deleted.id]) await expectRejected(run(id), NOT_FOUND, "");
});

test("a workspace is found by its id in any letter case", async () => {
  const { id } = await api.make();
  expect((await api.get(id.toUpperCase())).workspace).toHaveProperty("id", id);
});

describe("listing", () => {
  /**
   * Makes a workspace that is newer than all others, because workspaces made at the same time have no defined order.
   */
  const makeNewer = (): Promise<string> =>
    until("a newer workspace is made", async () => {
      const [newest] = (await api.list(1)).workspaces;
      const { id, createdAt } = await api.make();
      if (Number(createdAt) > Number(newest?.createdAt ?? 0)) return id;
      return void (await api.delete(id));
    });

  // The order across shards, and all page sizes, are tested in test/store/workspaces.test.ts.
  test("ListWorkspaces returns workspaces newest first, in pages, and each page starts where the previous page ended", async () => {
    const [third, second, first] = [await makeNewer(), await makeNewer(), await makeNewer()];
    const page = await api.list(1);
    expect(page.workspaces.map(({ id }) => id)).toEqual([first]);
    const next = await api.list(2, page.nextPageToken);
    expect(next.workspaces.map(({ id }) => id)).toEqual([second, third]);
  });

  test("ListWorkspaces returns 100 workspaces when no page size is given", async () => {
    const missing = 101 - (await api.list(1_000)).workspaces.length;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => api.make()));
    const page = await api.list();
    expect([page.workspaces.length, page.nextPageToken === ""]).toEqual([100, false]);
  });

  test.each([
    ["page_size", 1_001, ""],
    ["page_token", 10, "nonsense"],
    ["page_token", 10, UNKNOWN],
  ])(
    "an invalid page size or page token is rejected with INVALID_ARGUMENT and an error that names %s: %j, %j",
    (field, size, token) => expectRejected(api.list(size, token), INVALID_ARGUMENT, field),
  );
});
