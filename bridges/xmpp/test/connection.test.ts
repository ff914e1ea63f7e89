import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { create, published, type ContentInit } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import { startBridgeProcess } from "../../common/test/bridge-process";
import { OTHER_DOMAIN, startEjabberd, startProsody, type XmppServer } from "./harness/xmpp-server";
import { chatSettings, openStage, ROOM } from "./harness/xmpp-stage";

const folder = testFolder();
const ca = createTestCa();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterAll(() => ca.close());

test("the server is killed during a question: messages wait, and the game continues in the room afterwards", async () => {
  const server = await startEjabberd(folder, ca);
  const stage = await openStage(server, folder);
  closing.push(() => stage.close());
  const [ann, bob] = stage.members;
  ann.say("!play start");
  await ann.sees("(answer with !1 or !2)");
  bob.say("!1");
  await bob.sees("You are in", "chat");
  ann.say("!2");
  await ann.sees("Question 1 of 2");
  await server.stop("SIGKILL");
  await until("the bridge has noticed", async () => (await stage.bridge.health()).status === 503);
  const content: ContentInit = create(ROOM, { kind: MessageKind.TEXT, text: "written during the outage" });
  published((await publish(stage.service.clients, { workspaceId: stage.workspace.id, content }))[0]);
  await server.start();
  await Promise.all(stage.members.map((member) => member.join(ROOM, 20)));
  await Promise.all(stage.members.map((member) => member.sees("written during the outage")));
  await stage.bridge.ready();
  ann.say("!1");
  await ann.sees("Locked in", "chat");
  bob.say("!2");
  await bob.sees("Locked in", "chat");
  expect(bob.messages.filter(({ body }) => body === "written during the outage")).toHaveLength(1);
});

describe("a bridge that cannot log in", () => {
  let server: XmppServer;
  beforeAll(async () => void (server = await startProsody(folder, ca)));
  afterAll(() => server.stop("SIGKILL"));

  /** Starts a bridge, and returns the reason why it is not connected. */
  async function bridgeWith(more: Readonly<Record<string, string>>) {
    const bridge = startBridgeProcess("xmpp", {
      BASE_URL: "http://127.0.0.1:1",
      WORKSPACE_ID: "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f",
      SIGNING_SECRET: "a signing secret",
      STATE_FOLDER: mkdtempSync(join(folder, "state-")),
      ...chatSettings(server),
      ...more,
    });
    closing.push(() => bridge.stop("SIGKILL"));
    const { problem } = await bridge.logs("a problem with the connection to the XMPP server");
    expect((await bridge.health()).body).toMatchObject({
      ok: false,
      connections: { xmpp: { isConnected: false, problem } },
    });
    return { bridge, problem };
  }

  test("because it does not trust the certificate says so", async () => {
    const other = createTestCa();
    closing.push(other.close);
    expect((await bridgeWith({ XMPP_CA: other.certPath })).problem).toMatch(/certificate/);
  });

  test("because the certificate is for another domain says so", async () => {
    const { problem } = await bridgeWith({ XMPP_JID: `games@${OTHER_DOMAIN}` });
    expect(problem).toMatch(/does not match certificate.*other\.example/);
  });

  test("because the server does not serve the domain says so", async () => {
    const { problem } = await bridgeWith({ XMPP_JID: "games@unknown.example" });
    expect(problem).toMatch(/the server does not serve unknown\.example: check XMPP_JID$/);
  });

  test("because the password is wrong says so, without the password", async () => {
    const password = "a wrong password";
    const { bridge, problem } = await bridgeWith({ XMPP_PASSWORD: password });
    expect(problem).toBe("the login failed (not-authorized): check XMPP_JID and XMPP_PASSWORD");
    expect(bridge.output()).not.toContain(password);
  });

  test("because the server requires encryption says so", async () => {
    const { problem } = await bridgeWith({ XMPP_TLS: "off" });
    expect(problem).toBe("the server accepts logins only with encryption: set XMPP_TLS=auto");
  });
});
