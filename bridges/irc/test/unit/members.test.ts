import * as fc from "fast-check";
import { isNick, Members } from "../../state/members";

const lower = (name: string): string => name.toLowerCase();

test("a member who changes nicks keeps the id, and the member's name is the current nick", () => {
  const members = new Members();
  members.begin(lower);
  members.joined("Ann", "#games");
  expect(members.identityOf("Ann")).toEqual({ id: "nick:ann", name: "Ann" });
  members.renamed("Ann", "Ann_away");
  expect(members.identityOf("ann_AWAY")).toEqual({ id: "nick:ann", name: "ann_AWAY" });
  expect(members.nickOf("nick:ann")).toBe("ann_AWAY");
});

test("another person who uses the former nick of a member gets a different id", () => {
  const members = new Members();
  members.joined("Ann", "#games");
  members.identityOf("Ann");
  members.renamed("Ann", "Eve");
  members.joined("Ann", "#games");
  expect(members.identityOf("Ann").id).toBe("nick:ann~2");
  expect(members.identityOf("Eve").id).toBe("nick:ann");
});

test("a member with an account has the account's id, whatever the member's nick is", () => {
  const members = new Members();
  members.joined("Ann", "#games");
  members.hasAccount("Ann", "AnnSmith");
  expect(members.identityOf("Ann").id).toBe("account:annsmith");
  members.renamed("Ann", "Other");
  expect(members.nickOf("account:annsmith")).toBe("Other");
  members.hasAccount("Other", false);
  expect(members.identityOf("Other").id).toMatch(/^nick:/);
});

test("the nick of a member who left is unknown again, because another person can use it", () => {
  const members = new Members();
  members.joined("Ann", "#games");
  members.joined("Ann", "#quiz");
  members.hasAccount("Ann", "ann");
  members.left("Ann", "#games");
  expect(members.isUnknown("Ann")).toBe(false);
  members.left("Ann", "#quiz");
  expect(members.isUnknown("Ann")).toBe(true);
  expect(members.nickOf("account:ann")).toBeUndefined();
  expect(members.nickOf("nick:ann")).toBe("ann");
});

test("the number of members that are kept is limited", () => {
  const members = new Members(2);
  for (const nick of ["a", "b", "c"]) {
    members.joined(nick, "#games");
    members.hasAccount(nick, nick);
  }
  expect(members.isUnknown("a")).toBe(true);
  expect(members.isUnknown("c")).toBe(false);
});

test("a member who changed the nick, and returns with the same nick and address, keeps the id, unless somebody else has it", () => {
  const members = new Members();
  const [home, elsewhere] = ["bob@home", "eve@elsewhere"];
  members.joined("Bob", "#games", home);
  members.identityOf("Bob");
  members.renamed("Bob", "Bobby");
  members.quit("Bobby", home);
  members.joined("Bobby", "#games", elsewhere);
  expect(members.identityOf("Bobby").id).toBe("nick:bobby");
  members.quit("Bobby", elsewhere);
  members.joined("Bobby", "#games", home);
  expect(members.identityOf("Bobby").id).toBe("nick:bob");
  expect(members.nickOf("nick:bob")).toBe("Bobby");

  members.quit("Bobby", home);
  members.joined("Bob", "#games", elsewhere);
  expect(members.identityOf("Bob").id).toBe("nick:bob");
  members.joined("Bobby", "#games", home);
  expect(members.identityOf("Bobby").id).toBe("nick:bobby");
});

test("no member is found for an id if a different member now has the nick in the id", () => {
  const members = new Members();
  members.joined("Ann", "#games");
  members.identityOf("Ann");
  members.renamed("Ann", "Eve");
  expect(members.nickOf("nick:eve")).toBeUndefined();
  expect(members.nickOf("nick:ann")).toBe("Eve");
});

test("after a reconnect, no member is found for the id of the second person who used a nick", () => {
  const members = new Members();
  members.begin(lower);
  expect(members.nickOf("nick:ann~2")).toBeUndefined();
});

test("no member is found for an id if a member with an account has the nick in the id", () => {
  const members = new Members();
  members.joined("Ann", "#games");
  expect(members.nickOf("nick:ann")).toBe("ann");
  members.hasAccount("Ann", "eve");
  expect(members.nickOf("nick:ann")).toBeUndefined();
  expect(members.nickOf("account:eve")).toBe("Ann");
});

test.each([
  "ann,eve",
  "ann eve",
  "#games",
  "@#games",
  "&x",
  "$irc.test",
  "a@b",
  "a!b@c",
  ":x",
  "",
  "a*",
  "ann\r\nQUIT",
])("%j is not a nick, so no line is sent to it", (nick) => {
  expect(isNick(nick)).toBe(false);
  expect(new Members().nickOf(`nick:${nick}`)).toBeUndefined();
});

test("a name with a separator, a channel prefix or a control character is never a nick, and all usual nicks are nicks", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (nick) => {
      if (isNick(nick)) expect(nick).not.toMatch(/^[#&+~%@$!]|[\s,:!@*?.\p{Cc}]/u);
    }),
  );
  const usual = fc.stringMatching(/^[A-Za-z[\]\\`_^{|}][A-Za-z0-9[\]\\`_^{|}-]{0,29}$/);
  fc.assert(fc.property(usual, (nick) => isNick(nick)));
});
