import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { sharedService } from "../../../test/harness/shared-service";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import {
  operatorOf,
  startInit,
  startInitInTerminal,
  startPrinted,
  visible,
} from "../../common/test/init-run";
import type { XmppMember } from "./harness/xmpp-member";
import { PASSWORD, ROOMS, startProsody, type XmppServer } from "./harness/xmpp-server";
import { chatSettings, openRoom, ROOM } from "./harness/xmpp-stage";

const service = sharedService();
const root = testFolder();
const ca = createTestCa();
let server: XmppServer;
let ann: XmppMember;
beforeAll(async () => {
  server = await startProsody(root, ca);
  [ann] = (await openRoom(server, ["ann"])) as [XmppMember];
});
afterAll(async () => {
  ann.leave();
  await server.stop("SIGKILL");
  ca.close();
});

test("init logs in, joins the rooms, and creates the workspace, and the printed line starts a bridge that answers", async () => {
  const folder = mkdtempSync(join(root, "init-"));
  const init = startInit("xmpp", folder, [], { ...chatSettings(server), ...operatorOf(service) });
  expect([await init.exited, init.output()]).toEqual([0, expect.stringContaining("created the workspace")]);
  expect(init.output()).toContain(`joined ${ROOM}, and may speak`);
  expect(init.output()).not.toContain(PASSWORD);
  expect(statSync(join(folder, "xmpp.env")).mode & 0o777).toBe(0o600);
  const bridge = startPrinted(folder, init);
  await until("the bridge has joined", () => bridge.output().includes("joined a room"));
  await until("the bridge is connected", () => bridge.output().includes("connected to the service"));
  ann.say("!play status");
  expect((await ann.sees(/^chat-bridge-xmpp \d/, "chat")).body).toContain("Games work here.");
  expect(await bridge.stop()).toBe(0);
});

test("init says that a password is wrong, that a certificate is not trusted, and that a room does not exist", async () => {
  const folder = mkdtempSync(join(root, "init-"));
  const environment = { ...chatSettings(server), ...operatorOf(service) };
  const wrong = startInit("xmpp", folder, [], { ...environment, XMPP_PASSWORD: "wrong words" });
  await wrong.exited;
  expect(wrong.output()).toContain("the login failed (not-authorized)");
  expect(wrong.output()).not.toContain("wrong words");
  const untrusted = createTestCa();
  const { certPath } = untrusted.selfSigned(["other.example"]);
  const distrusting = startInit("xmpp", folder, [], { ...environment, XMPP_CA: certPath });
  await distrusting.exited;
  untrusted.close();
  expect(distrusting.output()).toContain("set XMPP_CA to the PEM file");
  expect(distrusting.output()).not.toContain("its password");
  const missing = startInit("xmpp", folder, [], { ...environment, XMPP_ROOMS: `nowhere@${ROOMS}` });
  await missing.exited;
  expect(missing.output()).toContain(`cannot play in nowhere@${ROOMS}: the room does not exist`);
});

test("in a terminal, a user can leave the list of rooms empty, and init then says who may invite the bridge", async () => {
  const folder = mkdtempSync(join(root, "init-"));
  const workspace = await service.workspaces.make();
  const { XMPP_ROOMS: _rooms, ...environment } = chatSettings(server);
  const { program, answer } = startInitInTerminal("xmpp", folder, {
    ...environment,
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
  });
  await answer("XMPP_NICK", "");
  await answer("XMPP_ROOMS", "");
  await answer("XMPP_ALLOW_INVITES", "");
  expect([await program.exited, visible(program.output())]).toEqual([
    0,
    expect.stringContaining("no rooms: the bridge waits for invitations from localhost"),
  ]);
  expect(readFileSync(join(folder, "xmpp.env"), "utf8")).toContain("XMPP_ALLOW_INVITES=localhost");
});
