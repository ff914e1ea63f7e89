import { canSignIn, childEnvironments } from "../../deploy/local/child-environments";
import { readStartSettings, type ListenAddresses } from "../../deploy/local/start-settings";

const TOKENS = { edge: "e".repeat(16), game: "g".repeat(16), operator: "o".repeat(16) };
const KEPT = { secretsKey: "key", tokens: TOKENS, workspaces: {} };
const CHAT = { token: "the-token-of-the-chat", workspaceId: "the-workspace" };
const addresses = (more: Partial<ListenAddresses> = {}) =>
  ({ ...readStartSettings({}).listen, ...more }) as ListenAddresses;
const environments = (chat?: typeof CHAT) =>
  childEnvironments({}, addresses(), KEPT, "redis://127.0.0.1", undefined, chat);

test("only the chat and core get the chat's token, which is limited to one workspace", () => {
  const { core, edge, game, chat } = environments(CHAT);
  expect(core["CORE_TOKENS"]).toContain(`,operator:demo-chat@the-workspace=${CHAT.token}`);
  expect(chat).toMatchObject({ DASHBOARD_URL: "http://127.0.0.1:8082", DASHBOARD_TOKEN: CHAT.token });
  expect(edge).toMatchObject({ DEMO_WORKSPACE_ID: "the-workspace", DEMO_CHAT_URL: "http://127.0.0.1:8083" });
  expect(JSON.stringify([edge, game])).not.toContain(CHAT.token);
});

test("without a token for the chat, the chat cannot sign anyone in, and the edge does not get the address of the chat", () => {
  const { core, edge, chat } = environments();
  expect(core["CORE_TOKENS"]).not.toContain("demo-chat");
  expect(chat["DASHBOARD_TOKEN"]).toBeUndefined();
  expect(edge["DEMO_CHAT_URL"]).toBeUndefined();
});

test("the chat can sign members in only while the chat and the dashboard both listen on loopback", () => {
  const hosts = ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "192.0.2.1"];
  const loopback = hosts.slice(0, 3);
  for (const chat of hosts) {
    for (const dashboard of hosts) {
      const listen = addresses({
        CHAT_LISTEN: { host: chat, port: 1 },
        DASHBOARD_LISTEN: { host: dashboard, port: 2 },
      });
      const expected = loopback.includes(chat) && loopback.includes(dashboard);
      expect([chat, dashboard, canSignIn(listen)]).toEqual([chat, dashboard, expected]);
    }
  }
});
