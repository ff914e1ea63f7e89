import { status } from "@grpc/grpc-js";
import { DeliveryMode } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { startCore, type TestProcess } from "../harness/processes";
import { connectToCore, type CoreClients } from "../harness/core-clients";
import { sharedService } from "../harness/shared-service";
import { createWorkspaceApi, refusal, type WorkspaceApi } from "../harness/workspace-api";

const service = sharedService();
/** A core that may not push to any address that is not public, where the shared one may to loopback. */
let strict: TestProcess;
let clients: CoreClients;
let api: WorkspaceApi;
beforeAll(async () => {
  strict = await startCore(service.redis.url);
  clients = connectToCore(strict.port);
  api = createWorkspaceApi(clients.workspaces);
});
afterAll(async () => {
  clients.close();
  await strict.stop();
});

const pollStatus = async (id: string, secret: string) => (await poll(service.url, { id, secret })).status;

describe("the target URL", () => {
  // contract: poll-403, workspace-modes
  test("set makes a push workspace, whose polls are refused; cleared makes it poll again", async () => {
    const { id, secret } = await api.make();
    expect((await api.setTargetUrl(id, "https://8.8.8.8/events?a=b")).workspace).toMatchObject({
      targetUrl: "https://8.8.8.8/events?a=b",
      mode: DeliveryMode.PUSH,
    });
    expect(await pollStatus(id, secret)).toBe(403);
    expect((await api.setTargetUrl(id, "")).workspace).toMatchObject({
      targetUrl: "",
      mode: DeliveryMode.POLL,
    });
    expect(await pollStatus(id, secret)).toBe(200);
  });

  // contract: push-https, push-private
  test.each([
    ["http://8.8.8.8/", "https://"],
    ["nonsense", "absolute URL"],
    ["https://user:word@8.8.8.8/", "user name or password"],
    ["https://8.8.8.8/#top", "fragment"],
    ["https://127.0.0.1/", "loopback"],
    ["https://2130706433/", "loopback"],
    ["https://localhost/", "loopback"],
    ["https://10.0.0.1/", "private"],
    ["https://169.254.169.254/latest/meta-data", "cloud metadata"],
    ["https://[::1]/", "loopback"],
    ["https://[::ffff:10.0.0.1]/", "private"],
  ])("%s is refused with INVALID_ARGUMENT that names target_url and says why: %s", async (url, why) => {
    const { id } = await api.make();
    await expect(api.setTargetUrl(id, url)).rejects.toMatchObject(
      refusal(status.INVALID_ARGUMENT, new RegExp(`^target_url: .*${why}`)),
    );
    expect((await api.get(id)).workspace).toMatchObject({ targetUrl: "", mode: DeliveryMode.POLL });
  });

  test("PUSH_ALLOW lets it be at the addresses that the operator lists, and at no others", async () => {
    const core = await startCore(service.redis.url, { PUSH_ALLOW: "127.0.0.0/8, ::1/128, 10.1.0.0/16" });
    const clients = connectToCore(core.port);
    const allowing = createWorkspaceApi(clients.workspaces);
    try {
      for (const targetUrl of ["https://127.0.0.1:8443/", "https://localhost/", "https://10.1.2.3/"]) {
        expect(await allowing.make({ targetUrl })).toMatchObject({ targetUrl, mode: DeliveryMode.PUSH });
      }
      await expect(allowing.create({ targetUrl: "https://10.2.0.1/" })).rejects.toMatchObject(
        refusal(status.INVALID_ARGUMENT, "private"),
      );
    } finally {
      clients.close();
      await core.stop();
    }
  });
});
