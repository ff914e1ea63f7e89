import { SettingsError } from "../../../../runtime/settings";
import { defaultConsumer, readGameSettings } from "../../settings";

const TOKEN = { CORE_TOKEN: "t0ken" };
const read = (environment: Record<string, string>, options = {}) =>
  readGameSettings("dice", { ...TOKEN, ...environment }, options);

/** Returns the faults of settings. */
function faultsOf(environment: Record<string, string>, options = {}): readonly string[] {
  try {
    readGameSettings("dice", environment, options);
    return [];
  } catch (error) {
    return (error as SettingsError).faults;
  }
}

test("a game needs only a token", () => {
  const settings = read({});
  expect(settings).toMatchObject({
    core: { address: "127.0.0.1:50051", token: "t0ken", tls: undefined },
    games: ["dice"],
    group: "dice",
    healthListen: undefined,
    store: { type: "memory" },
    logLevel: "info",
    misspelled: [],
  });
  expect(settings.consumer).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
});

test("an option replaces the variable of the environment", () => {
  const environment = {
    CORE_ADDRESS: "core:1",
    CORE_TOKEN: "a",
    GAMES: "dice,trivia",
    FOLLOW_GROUP: "b",
    FOLLOW_CONSUMER: "c",
    HEALTH_LISTEN: "127.0.0.1:2",
    GAME_STORE: "/d",
    LOG_LEVEL: "warn",
  };
  expect(read(environment)).toMatchObject({
    core: { address: "core:1", token: "a" },
    games: ["dice", "trivia"],
    group: "b",
    consumer: "c",
    healthListen: { host: "127.0.0.1", port: 2 },
    store: { type: "files", folder: "/d" },
    logLevel: "warn",
  });
  const options = {
    coreAddress: "other:3",
    coreToken: "z",
    games: ["poker", "dice"],
    group: "y",
    consumer: "x",
    healthListen: "0.0.0.0:4",
    store: "",
    logLevel: "error",
  };
  expect(read(environment, options)).toMatchObject({
    core: { address: "other:3", token: "z" },
    games: ["poker", "dice"],
    group: "y",
    consumer: "x",
    healthListen: { host: "0.0.0.0", port: 4 },
    store: { type: "memory" },
    logLevel: "error",
  });
});

test.each([
  ["", { type: "memory" }],
  ["state", { type: "files", folder: "state" }],
  ["/var/lib/dice", { type: "files", folder: "/var/lib/dice" }],
  ["C:\\dice", { type: "files", folder: "C:\\dice" }],
  ["./a:b", { type: "files", folder: "./a:b" }],
  ["redis://127.0.0.1:6379", { type: "redis", url: "redis://127.0.0.1:6379" }],
  ["rediss://:pw@redis:6380/1", { type: "redis", url: "rediss://:pw@redis:6380/1" }],
])("GAME_STORE can be %j", (text, store) => {
  expect(read({ GAME_STORE: text }).store).toEqual(store);
});

test.each(["localhost:6379", "redis:/x", "C:x"])(
  "GAME_STORE cannot be %s, which is neither a folder nor a valid Redis URL",
  (text) => {
    expect(faultsOf({ GAME_STORE: text })).toContainEqual(
      expect.stringContaining("is neither a folder nor a URL"),
    );
  },
);

test("the error lists all invalid settings, without their values", () => {
  const faults = faultsOf({
    CORE_TOKEN: "has a space",
    GAMES: "trivia",
    FOLLOW_CONSUMER: "a/b",
    GAME_STORE: "postgres://user:secret@host/db",
  });
  expect(faults).toEqual([
    expect.stringContaining("CORE_TOKEN may contain only visible ASCII"),
    expect.stringContaining("GAMES must contain dice"),
    expect.stringContaining("FOLLOW_CONSUMER must be 1 to 64 characters"),
    expect.stringContaining("GAME_STORE is not a URL of Redis"),
  ]);
  expect(faults.join("\n")).not.toMatch(/secret|has a space/);
});

test("the default name of a process is valid, and differs between the processes of a host with a long name", () => {
  expect(defaultConsumer("Ada's Mac.local", 12)).toBe("Ada-s-Mac.local-12");
  const names = [1, 2].map((pid) => defaultConsumer("h".repeat(200), pid));
  expect(names[0]).not.toBe(names[1]);
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9._-]{64}$/);
});
