import { readChatConfig } from "../../demo/chat/config";
import { readGameConfig } from "../../demo/game/config";

const TOKEN = { CORE_TOKEN: "game-token-for-tests" };

test("the game needs a token, and has a default for everything else", () => {
  expect(readGameConfig(TOKEN)).toEqual({
    core: { address: "127.0.0.1:50051", token: TOKEN.CORE_TOKEN, tls: undefined },
    group: "trivia",
    consumer: "one",
    healthListen: { host: "127.0.0.1", port: 8091 },
    picturesListen: { host: "127.0.0.1", port: 8090 },
    picturesUrl: undefined,
    lobbySeconds: 60,
    revealSeconds: 6,
    rounds: 5,
    secondsPerQuestion: 20,
    logLevel: "info",
  });
  expect(() => readGameConfig({})).toThrow(/CORE_TOKEN/);
  const { picturesUrl } = readGameConfig({ ...TOKEN, PICTURES_URL: "https://a.example/trivia" });
  expect(picturesUrl).toBe("https://a.example/trivia/");
});

test("the chat can be observed only where it is pushed to and CHAT_OBSERVE is on", () => {
  const joined = { BASE_URL: "http://127.0.0.1:8080", WORKSPACE_ID: "w", SIGNING_SECRET: "s" };
  const read = (CHAT_OBSERVE: string) => readChatConfig({ ...joined, CHAT_OBSERVE }).push;
  expect(read("off")).toBeUndefined();
  expect(() => read("on")).toThrow(/CHAT_OBSERVE .* PUSH_TLS_CERT/);
  expect(() => read("yes")).toThrow(/CHAT_OBSERVE .* on, off/);
});
