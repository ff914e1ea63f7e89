import { createRecipients, MEMBERS_MAX } from "../../../crypto/recipients";

const ROOM = "!room:example.org";
const MEGOLM = {
  algorithm: "m.megolm.v1.aes-sha2",
  rotation_period_ms: 3_600_000,
  rotation_period_msgs: "many",
};

function room(visibility: string, encryption: object = MEGOLM) {
  const members = [
    { id: "@in:example.org", membership: "join" },
    { id: "@invited:example.org", membership: "invite" },
    { id: "@banned:example.org", membership: "ban" },
  ];
  const api = {
    members: jest.fn(async () => members),
    state: async (_: string, type: string) =>
      (type === "m.room.encryption" ? encryption : { history_visibility: visibility }) as never,
  };
  return { api, members, recipients: createRecipients(api) };
}

const idsOf = async ({ recipients }: ReturnType<typeof room>) => (await recipients.of(ROOM)).members;

test("invited members get the keys, unless members see only the history since they joined", async () => {
  expect(await idsOf(room("shared"))).toEqual(["@in:example.org", "@invited:example.org"]);
  expect(await idsOf(room("joined"))).toEqual(["@in:example.org"]);
});

test("the room's settings for key rotation are read, and invalid values are ignored", async () => {
  expect(await room("shared").recipients.of(ROOM)).toMatchObject({
    rotationMs: 3_600_000,
    rotationMessages: undefined,
  });
});

test("the list of members is read again after a membership in the room changes", async () => {
  const { api, members, recipients } = room("shared");
  await recipients.of(ROOM);
  await recipients.of(ROOM);
  recipients.changed(ROOM, "m.room.name");
  await recipients.of(ROOM);
  expect(api.members).toHaveBeenCalledTimes(1);
  recipients.changed(ROOM, "m.room.member");
  members.push({ id: "@new:example.org", membership: "join" });
  expect((await recipients.of(ROOM)).members).toContain("@new:example.org");
});

test("a list of members that was requested before a change is not cached", async () => {
  const { api, recipients } = room("shared");
  const first = recipients.of(ROOM);
  recipients.changed(ROOM, "m.room.member");
  await first;
  await recipients.of(ROOM);
  expect(api.members).toHaveBeenCalledTimes(2);
});

test("a room with an unknown encryption algorithm or with too many members is refused", async () => {
  await expect(room("shared", { algorithm: "m.other" }).recipients.of(ROOM)).rejects.toThrow("m.megolm");
  const { members, recipients } = room("shared");
  for (let i = 0; i < MEMBERS_MAX; i += 1) members.push({ id: `@u${i}:example.org`, membership: "join" });
  await expect(recipients.of(ROOM)).rejects.toThrow(`more than ${MEMBERS_MAX} members`);
});
