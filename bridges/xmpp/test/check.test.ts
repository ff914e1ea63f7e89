import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkPoller } from "../../../kit/check/poll/check-poller";
import { testFolder } from "../../../test/harness/folder";
import { plainHost } from "../../../test/harness/plain-host";
import { createTestCa } from "../../../test/harness/test-ca";
import { startBridgeProcess, type BridgeProcess } from "../../common/test/bridge-process";
import type { XmppMember } from "./harness/xmpp-member";
import { startEjabberd, startProsody, type XmppServer } from "./harness/xmpp-server";
import { chatSettings, openRoom, ROOM } from "./harness/xmpp-stage";

const SECRET = "the secret of the check";
const WORKSPACE = "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f";
const folder = testFolder();
const ca = createTestCa();
afterAll(() => ca.close());

/** Returns the bridge's messages that the member sees, in the format that the checker reads. */
function seenBy({ messages }: XmppMember, user: string) {
  const texts = new Map<string, { channel: string; text: string; to?: string }>();
  for (const { type, sender, nick, id, body, replaces, isOld } of messages) {
    if (body === "" || isOld || (sender === ROOM && nick !== "games")) continue;
    const isPrivate = type === "chat";
    const place = isPrivate ? { channel: `dm:${user}`, to: user } : { channel: ROOM };
    // The bridge puts an invisible character before a literal `*`, `_`, `~` or backtick, so that clients do not read it
    // as markup.
    texts.set(replaces ?? id, { ...place, text: body.replaceAll(/\u2060(?=[*_~`])/g, "") });
  }
  return [...texts.values()];
}

/** Starts a bridge between the checker and a room, and resolves to the rules that the bridge breaks. */
async function brokenRules(server: XmppServer) {
  // In a room that shows all accounts, the test knows the member's id before the member runs a command.
  const [ann] = (await openRoom(server, ["ann"], ROOM, { whois: "anyone" })) as [XmppMember];
  const user = `jid:${ann.jid}`;
  const observation = await plainHost((_request, response) =>
    response.end(JSON.stringify({ messages: seenBy(ann, user) })),
  );
  const state = mkdtempSync(join(folder, "state-"));
  // The bridge has reported the member before. Only such members get messages.
  writeFileSync(join(state, "reported.jsonl"), JSON.stringify({ user }));
  let bridge: BridgeProcess | undefined;
  const { rules } = await checkPoller({
    secrets: [SECRET],
    workspace: WORKSPACE,
    channel: ROOM,
    user,
    observe: new URL(observation.url),
    withinMs: 30_000,
    onListening({ baseUrl }) {
      bridge = startBridgeProcess("xmpp", {
        BASE_URL: baseUrl,
        WORKSPACE_ID: WORKSPACE,
        SIGNING_SECRET: SECRET,
        STATE_FOLDER: state,
        XMPP_NEW_QUESTIONS: "off",
        ...chatSettings(server),
      });
      void bridge.logs("joined a room").then(() => ann.say("!play start"));
    },
  });
  await bridge?.stop("SIGKILL");
  ann.leave();
  await observation.close();
  await server.stop("SIGKILL");
  expect(rules.length).toBeGreaterThan(25);
  return rules.filter(({ verdict }) => verdict !== "passed");
}

test("on Prosody and on ejabberd, the bridge passes every rule for bridges that poll", async () => {
  const servers = await Promise.all([startProsody(folder, ca), startEjabberd(folder, ca)]);
  expect(await Promise.all(servers.map(brokenRules))).toEqual([[], []]);
});
