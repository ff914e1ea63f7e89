import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
});

test.each(["https://pictures.example/trivia", "https://pictures.example/trivia/"])(
  "pictures are found under %s, with a slash at its end or not",
  (url) => {
    expect(readGameConfig({ ...TOKEN, PICTURES_URL: url }).picturesUrl).toBe(
      "https://pictures.example/trivia/",
    );
  },
);

let folder: string;
let pem: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cb-demo-"));
  pem = join(folder, "a.pem");
  writeFileSync(pem, "a certificate");
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("TLS", () => {
  test("is turned on by core's authority", () => {
    const { core } = readGameConfig({ ...TOKEN, CORE_TLS_CA: pem });
    expect(core.tls).toEqual({ ca: Buffer.from("a certificate"), cert: undefined, key: undefined });
  });

  test.each<[string, readonly string[], RegExp]>([
    ["a certificate without its key", ["CORE_TLS_CA", "CORE_TLS_CERT"], /go together/],
    [
      "a certificate and a key without core's authority",
      ["CORE_TLS_CERT", "CORE_TLS_KEY"],
      /CORE_TLS_CA is missing/,
    ],
  ])("refuses %s", (_name, names, fault) => {
    const files = Object.fromEntries(names.map((name) => [name, pem]));
    expect(() => readGameConfig({ ...TOKEN, ...files })).toThrow(fault);
  });
});

describe("what the chat shows", () => {
  const JOINED = { BASE_URL: "http://127.0.0.1:8080", WORKSPACE_ID: "w", SIGNING_SECRET: "s" };
  const pushed = (): Record<string, string> => ({ ...JOINED, PUSH_TLS_CERT: pem, PUSH_TLS_KEY: pem });

  test("is told to nobody unless it is asked for", () => {
    expect(readChatConfig(pushed()).push?.isObserved).toBe(false);
    expect(readChatConfig({ ...pushed(), CHAT_OBSERVE: "off" }).push?.isObserved).toBe(false);
    expect(readChatConfig({ ...pushed(), CHAT_OBSERVE: "on" }).push?.isObserved).toBe(true);
  });

  test("cannot be told where nothing is pushed, nor half", () => {
    expect(() => readChatConfig({ ...JOINED, CHAT_OBSERVE: "on" })).toThrow(/CHAT_OBSERVE .* PUSH_TLS_CERT/);
    expect(() => readChatConfig({ ...pushed(), CHAT_OBSERVE: "yes" })).toThrow(/CHAT_OBSERVE .* on, off/);
  });
});
