import { Occupants } from "../../rooms/occupants";

const ROOM = "quiz@rooms.example";
const seen = (nick: string, more: { occupantId?: string; jid?: string } = {}) => ({
  nick,
  occupantId: undefined,
  jid: undefined,
  ...more,
});

test("in a room that shows all accounts, the id is the account, also for occupants who were listed before", () => {
  const occupants = new Occupants(ROOM);
  occupants.put(seen("Ann", { jid: "Ann@Chat.example/phone", occupantId: "o1" }));
  occupants.showAccounts();
  occupants.put(seen("Bob", { jid: "bob@chat.example/web", occupantId: "o2" }));
  expect(occupants.idOf(seen("Ann", { occupantId: "o1" }))).toBe("jid:ann@chat.example");
  expect(occupants.nickOf("jid:bob@chat.example")).toBe("Bob");
  expect(occupants.nickOf(`occupant:${ROOM}/o1`)).toBeUndefined();
  // The author of a repeated message can have left the room, and messages contain no accounts.
  expect(occupants.idOf(seen("Cid", { occupantId: "o3" }))).toBeUndefined();
});

test("in a room that hides accounts, the id is the occupant id of the room, even if the bridge sees the account", () => {
  const occupants = new Occupants(ROOM);
  occupants.put(seen("Ann", { occupantId: "o1", jid: "ann@chat.example/phone" }));
  expect(occupants.idOf(seen("Ann", { occupantId: "o1" }))).toBe(`occupant:${ROOM}/o1`);
  expect(new Occupants("other@rooms.example").idOf(seen("Ann", { occupantId: "o1" }))).toBe(
    "occupant:other@rooms.example/o1",
  );
});

test("a member who takes the nick of another member does not get the other's id", () => {
  const occupants = new Occupants(ROOM);
  occupants.put(seen("Bob", { occupantId: "o1" }));
  expect(occupants.idOf(seen("Bob", { occupantId: "o2" }))).toBe(`occupant:${ROOM}/o2`);
});

test("without accounts and occupant ids, the id is the first nick, and another member with that nick gets another id", () => {
  const occupants = new Occupants(ROOM);
  occupants.put(seen("Bob"));
  const id = `nick:${ROOM}/Bob`;
  occupants.rename("Bob", "Robert");
  occupants.put(seen("Robert"));
  expect(occupants.idOf(seen("Robert"))).toBe(id);
  expect(occupants.nickOf(id)).toBe("Robert");
  occupants.put(seen("Bob"));
  expect(occupants.idOf(seen("Bob"))).toBe(`${id}'`);
  occupants.remove("Robert");
  expect(occupants.nickOf(id)).toBeUndefined();
});

test("a member with two nicks stays present when one of the nicks leaves the room", () => {
  const occupants = new Occupants(ROOM);
  occupants.put(seen("Ann", { occupantId: "o1" }));
  occupants.put(seen("Ann phone", { occupantId: "o1" }));
  occupants.remove("Ann phone");
  expect(occupants.nickOf(`occupant:${ROOM}/o1`)).toBe("Ann");
});

test("a long id is replaced by a digest of at most 128 characters, and a room has at most 2,000 known occupants", () => {
  const occupants = new Occupants(ROOM);
  const id = occupants.idOf(seen("Ann", { occupantId: "o".repeat(200) })) ?? "";
  expect(id).toMatch(/^occupant:sha256:/);
  expect(id.length).toBeLessThanOrEqual(128);
  for (let i = 0; i <= 2_000; i += 1) occupants.put(seen(`nick ${i}`));
  expect(occupants.idOf(seen("nick 1999"))).toBeDefined();
  expect(occupants.idOf(seen("nick 2000"))).toBeUndefined();
});
