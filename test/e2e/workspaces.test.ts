import { status } from "@grpc/grpc-js";
import { DeliveryMode, Platform } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { HANG_MS } from "../harness/wait";
import { refusal, type CreateInit, type UpdateInit } from "../harness/workspace-api";

const service = sharedService();
const api = service.workspaces;

const pollStatus = async (id: string, secret: string) => (await poll(service.url, { id, secret })).status;

/** Blank ones, and some that change what is around them. */
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

describe("a new workspace", () => {
  // time: smoke
  test("of the custom platform is connected, polls, and has one secret", async () => {
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
    });
    expect(Math.abs(Number(workspace?.createdAt) - before)).toBeLessThan(HANG_MS);
    expect(Buffer.from(signingSecret, "base64url")).toHaveLength(32);
    expect(await pollStatus(workspace?.id ?? "", signingSecret)).toBe(200);
  });

  test("with a target URL is a push workspace", async () => {
    expect(await api.make({ targetUrl: "https://8.8.8.8/events" })).toMatchObject({
      targetUrl: "https://8.8.8.8/events",
      mode: DeliveryMode.PUSH,
    });
  });

  test("of a native platform has no hooks, no secret and no target URL", async () => {
    const native = await api.make({ platform: Platform.NATIVE });
    expect(native).toMatchObject({
      platform: Platform.NATIVE,
      connected: false,
      mode: DeliveryMode.UNSPECIFIED,
      secrets: [],
      secret: "",
    });
    expect(await pollStatus(native.id, "")).toBe(404);
    await expect(api.setTargetUrl(native.id, "https://8.8.8.8/")).rejects.toMatchObject(
      refusal(status.FAILED_PRECONDITION, "custom platform"),
    );
    await expect(api.connect(native.id)).rejects.toMatchObject(
      refusal(status.FAILED_PRECONDITION, "custom platform"),
    );
    await expect(api.rotate(native.id)).rejects.toMatchObject(
      refusal(status.FAILED_PRECONDITION, "connected"),
    );
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
  ])("is refused with INVALID_ARGUMENT that names %s: %j", async (field, request) => {
    await expect(api.create(request)).rejects.toMatchObject(refusal(status.INVALID_ARGUMENT, field));
  });

  test("is refused with a blank name, and with one that changes what is around it", async () => {
    for (const name of BAD_NAMES) {
      await expect(api.create({ name })).rejects.toMatchObject(refusal(status.INVALID_ARGUMENT, "name"));
    }
    const ownerEmail = "ann@\u202ea.example";
    const error = refusal(status.INVALID_ARGUMENT, "owner_email");
    await expect(api.create({ ownerEmail })).rejects.toMatchObject(error);
  });

  test("may have a name of 128 characters, and an e-mail address of 254", async () => {
    const ownerEmail = `${"a".repeat(244)}@b.example`;
    const name = "\u{1f600}".repeat(128);
    expect(await api.make({ name: "\u200fשלום 👨\u200d👩\u200d👧" })).toHaveProperty("id");
    expect(await api.make({ name, ownerEmail })).toMatchObject({ name, ownerEmail });
  });
});

describe("updating", () => {
  test("changes what is set and leaves what is unset", async () => {
    const { id } = await api.make({ name: "old", ownerEmail: "old@a.example" });
    expect((await api.update(id, { name: "new" })).workspace).toMatchObject({
      name: "new",
      ownerEmail: "old@a.example",
    });
    expect((await api.update(id, { ownerEmail: "new@a.example" })).workspace).toMatchObject({
      name: "new",
      ownerEmail: "new@a.example",
    });
    expect((await api.update(id, { ownerEmail: "" })).workspace).toMatchObject({
      name: "new",
      ownerEmail: "",
    });
    expect((await api.get(id)).workspace).toMatchObject({ name: "new", ownerEmail: "" });
  });

  test.each<[string, UpdateInit]>([
    ["name", { name: "" }],
    ["name", { name: "n".repeat(129) }],
    ["name", { name: "a\nb" }],
    ["owner_email", { ownerEmail: "nobody" }],
    ["owner_email", { ownerEmail: "ann@a.example\0" }],
  ])("is refused with INVALID_ARGUMENT that names %s: %j, and changes nothing", async (field, change) => {
    const { id } = await api.make({ name: "old", ownerEmail: "old@a.example" });
    await expect(api.update(id, change)).rejects.toMatchObject(refusal(status.INVALID_ARGUMENT, field));
    expect((await api.get(id)).workspace).toMatchObject({ name: "old", ownerEmail: "old@a.example" });
  });

  test("at the same time from several sides keeps every change", async () => {
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

test("a deleted workspace is gone, with its hooks and all that was held for it", async () => {
  const { id, secret } = await api.make();
  await publish(service.clients, textEvent(id, "held"));
  await api.delete(id);
  expect(await pollStatus(id, secret)).toBe(404);
  expect((await api.list(1_000)).workspaces.map((workspace) => workspace.id)).not.toContain(id);
  const [result] = await publish(service.clients, textEvent(id, "late"));
  expect(result?.outcome?.$case).toBe("refused");
});

describe.each([
  ["an unknown workspace", UNKNOWN],
  ["an id that is no uuid", "nonsense"],
  ["no id", ""],
  ["a deleted workspace", "deleted"],
])("%s is NOT_FOUND", (_name, given) => {
  test.each<[string, (id: string) => Promise<unknown>]>([
    ["GetWorkspace", (id) => api.get(id)],
    ["UpdateWorkspace", (id) => api.update(id, { name: "new" })],
    ["ConnectWorkspace", (id) => api.connect(id)],
    ["DisconnectWorkspace", (id) => api.disconnect(id)],
    ["DeleteWorkspace", (id) => api.delete(id)],
    ["RotateSigningSecret", (id) => api.rotate(id)],
    ["SetTargetUrl", (id) => api.setTargetUrl(id, "https://8.8.8.8/")],
    ["SetTargetUrl, to clear it", (id) => api.setTargetUrl(id, "")],
  ])("to %s", async (_rpc, run) => {
    let id = given;
    if (given === "deleted") {
      ({ id } = await api.make());
      await api.delete(id);
    }
    await expect(run(id)).rejects.toMatchObject({ code: status.NOT_FOUND });
  });
});

test("a workspace is found by its id in any letter case", async () => {
  const { id } = await api.make();
  expect((await api.get(id.toUpperCase())).workspace).toHaveProperty("id", id);
});
