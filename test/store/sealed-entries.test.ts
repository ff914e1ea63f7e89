import { seal, sealOf } from "../../edge/dashboard/seal";
import type { SealedClient } from "../../edge/dashboard/sealed-client";
import { createSessions } from "../../edge/dashboard/sessions";
import { ageSessions, SEALED_KEYS } from "../harness/age-sessions";
import { evaluate, testClock, testStore, texts, type TestStore } from "../harness/store";

const store = testStore();
const clock = testClock(store);

const HOUR_US = 3_600_000_000;

/** Returns a client that calls core's store directly, without gRPC. */
function clientOf({ sealedEntries }: TestStore): SealedClient {
  return {
    async put(kind, id, { sealed, tokenName, limited }) {
      const put = await sealedEntries.put(kind, { id, sealed, tokenName, isLimited: limited });
      return put === "full" ? undefined : { ...put, removedId: put.removedId ?? "" };
    },
    read: (kind, id, used) => sealedEntries.read(kind, id, used),
    take: async (kind, id) => (await sealedEntries.take(kind, id))?.sealed,
  };
}

/** Returns the sessions of an edge that never answers from its cache: each call reaches core. */
function sessionsOfEdge() {
  let ms = 0;
  return createSessions(clientOf(store), () => (ms += 10_000));
}

type Described = Parameters<ReturnType<typeof createSessions>["begin"]>[1];
const ofToken = (tokenName: string, workspaces: readonly string[] | null = null): Described => ({
  tokenName,
  workspaces,
});
const clear = () =>
  evaluate(
    store,
    `for _, key in ipairs(redis.call('KEYS', '${SEALED_KEYS}')) do redis.call('DEL', key) end`,
    [],
  );
beforeEach(clear);

/** Advances the clock of the functions, and shortens the time until the sessions expire. */
async function pass(us: number): Promise<void> {
  await clock.pass(us);
  await ageSessions(store.redis, us / 1_000);
}

// time: controlled
describe("a token that exceeds its share loses only its own least recently used sessions and oldest sign-in links:", () => {
  test.each<[share: string, sessions: number, links: number, described: Described]>([
    ["an unlimited token has 500 sessions and 50 links", 500, 50, ofToken("ann")],
    ["a token that is limited to workspaces has 100 sessions and 10 links", 100, 10, ofToken("eve", ["w"])],
  ])("%s", async (_share, most, mostLinks, described) => {
    const { begin, find, use, makeCode, tokenOf } = sessionsOfEdge();
    const next = () => clock.pass(1);
    const neighbour = await begin("n", ofToken("bob"));
    const link = (await makeCode("n", ofToken("bob")))?.code ?? "";
    const first = await begin("a", described);
    await next();
    const second = await begin("b", described);
    for (let i = 2; i < most; i++) {
      await next();
      await begin("c", described);
    }
    await next();
    await use(first?.id ?? "");
    await find(second?.id ?? "");
    await begin("d", described);
    const found = await Promise.all([first, second, neighbour].map((begun) => find(begun?.id ?? "")));
    expect(found.map((session) => session?.token)).toEqual(["a", undefined, "n"]);
    expect([second?.session.over.aborted, neighbour?.session.over.aborted]).toEqual([true, false]);
    const codes: string[] = [];
    for (let i = 0; i <= mostLinks; i++) {
      await next();
      codes.push((await makeCode("token", described))?.code ?? "");
    }
    const tokens = await Promise.all(codes.map(tokenOf));
    expect(codes.filter((_code, i) => tokens[i] === undefined)).toEqual(codes.slice(0, 1));
    expect(await tokenOf(link)).toBe("n");
  });
});

test("all edges together keep at most 1,000 sessions and 100 links; at that bound, other tokens are refused, and no session ends", async () => {
  const [one, other] = [sessionsOfEdge(), sessionsOfEdge()];
  const both = [ofToken("ann"), ofToken("bob")];
  const begun: Awaited<ReturnType<typeof one.begin>>[] = [];
  const codes: Awaited<ReturnType<typeof one.makeCode>>[] = [];
  for (const described of both) {
    for (let i = 0; i < 500; i++) begun.push(await (i % 2 ? one : other).begin("t", described));
    for (let i = 0; i < 50; i++) codes.push(await (i % 2 ? one : other).makeCode("t", described));
  }
  const eve = ofToken("eve");
  expect([await one.begin("t", eve), await one.makeCode("t", eve)]).toEqual([undefined, undefined]);
  const found = await Promise.all(begun.map((each) => other.find(each?.id ?? "")));
  expect(found.filter((session) => session === undefined)).toEqual([]);
  await other.end(begun[0]?.id ?? "");
  await other.takeCode(codes[0]?.code ?? "");
  expect(await one.begin("t", eve)).toBeDefined();
  expect(await one.makeCode("t", eve)).toBeDefined();
});

// time: controlled
test("a session ends after two hours without use, and after twelve hours in any case", async () => {
  const { begin, find, use } = sessionsOfEdge();
  const [used, unused] = [await begin("a", ofToken("ann")), await begin("b", ofToken("ann"))];
  for (let hour = 1; hour < 12; hour++) {
    await pass(HOUR_US);
    expect((await use(used?.id ?? ""))?.token).toBe("a");
    expect((await find(unused?.id ?? ""))?.token).toBe(hour < 2 ? "b" : undefined);
  }
  await pass(HOUR_US);
  expect(await use(used?.id ?? "")).toBeUndefined();
  expect(used?.session.over.aborted).toBe(true);
});

// time: controlled
test("sessions that have expired do not count toward a token's share", async () => {
  const { begin, find, use } = sessionsOfEdge();
  const eve = ofToken("eve", ["w"]);
  const first = await begin("first", eve);
  for (let hour = 0; hour < 10; hour++) {
    await pass(HOUR_US);
    await use(first?.id ?? "");
  }
  await pass(HOUR_US / 2);
  const kept = await begin("kept", eve);
  await pass(HOUR_US / 2);
  await use(first?.id ?? "");
  // The first session was used more recently, but it ends now.
  await pass(HOUR_US);
  for (let i = 1; i < 100; i++) await begin("t", eve);
  expect((await find(kept?.id ?? ""))?.token).toBe("kept");
});

test("a sign-in link works only once, even if several edges use it at the same time", async () => {
  const edges = Array.from({ length: 5 }, sessionsOfEdge);
  const made = await edges[0]?.makeCode("the token", ofToken("ann"));
  const taken = await Promise.all(edges.map((edge) => edge.takeCode(made?.code ?? "")));
  expect(taken.filter((token) => token !== undefined)).toEqual(["the token"]);
  expect(await edges[0]?.tokenOf(made?.code ?? "")).toBeUndefined();
});

test("a session that is signed out at one edge has ended at all edges", async () => {
  const [one, other] = [sessionsOfEdge(), sessionsOfEdge()];
  const begun = await one.begin("a", ofToken("ann"));
  const secret = begun?.id ?? "";
  const elsewhere = await other.use(secret);
  expect(elsewhere?.token).toBe("a");
  await one.end(secret);
  expect(begun?.session.over.aborted).toBe(true);
  expect([await one.find(secret), await other.find(secret)]).toEqual([undefined, undefined]);
  expect(elsewhere?.over.aborted).toBe(true);
  expect(await texts(store, "KEYS", SEALED_KEYS)).toEqual([]);
});

test("an edge asks core about a session at most once in two seconds, but always tells core about the first use", async () => {
  let [nowMs, calls] = [0, 0];
  const client = clientOf(store);
  const sessions = createSessions(
    {
      ...client,
      read(...of) {
        calls++;
        return client.read(...of);
      },
    },
    () => nowMs,
  );
  const begun = await sessions.begin("a", ofToken("ann"));
  const secret = begun?.id ?? "";
  const askMany = () => Promise.all(Array.from({ length: 5 }, () => sessions.find(secret)));
  await askMany();
  expect(calls).toBe(0);
  nowMs += 2_000;
  expect((await askMany()).map((session) => session?.token)).toEqual(Array(5).fill("a"));
  expect(calls).toBe(1);
  // The calls so far did not use the session, so core must learn of the first use.
  await sessions.use(secret);
  await sessions.use(secret);
  expect(calls).toBe(2);
});

test("the data of a session in Redis contains neither the token nor the secret of the cookie", async () => {
  const token = "an-operators-secret-token";
  const begun = await sessionsOfEdge().begin(token, ofToken("ann"));
  const keys = await texts(store, "KEYS", "*");
  const dump = await Promise.all(
    keys.map(
      async (key) =>
        `${key} ${(await texts(store, "EVAL", "return { redis.call('DUMP', KEYS[1]) }", "1", key)).join()}`,
    ),
  );
  expect(dump.join("\n")).not.toContain(token);
  expect(dump.join("\n")).not.toContain(begun?.id);
  expect(dump.filter((each) => each.includes(":sealed:"))).toHaveLength(2);
});

test("an entry that was sealed with another secret is not accepted as a session", async () => {
  const { begin, find } = sessionsOfEdge();
  const begun = await begin("a", ofToken("ann"));
  const [mine, theirs] = [sealOf("session", begun?.id ?? ""), sealOf("session", "x".repeat(43))];
  if (mine === undefined || theirs === undefined) throw new Error("no seal");
  const sealed = seal(theirs, JSON.stringify(["stolen", "ann", false]));
  await store.sealedEntries.put("session", { id: mine.id, sealed, tokenName: "ann", isLimited: false });
  expect(await find(begun?.id ?? "")).toBeUndefined();
});
