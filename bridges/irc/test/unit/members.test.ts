import { createMembers } from "../../state/members";

const lower = (name: string): string => name.toLowerCase();

test("a member keeps the id over changes of the nick, and the name is the current nick", () => {
  const members = createMembers();
  members.begin(lower);
  members.joined("Ann", "#games");
  expect(members.identityOf("Ann")).toEqual({ id: "nick:ann", name: "Ann" });
  members.renamed("Ann", "Ann_away");
  expect(members.identityOf("ann_AWAY")).toEqual({ id: "nick:ann", name: "ann_AWAY" });
  expect(members.nickOf("nick:ann")).toBe("ann_AWAY");
});

test("another person with the former nick of a member gets another id", () => {
  const members = createMembers();
  members.joined("Ann", "#games");
  members.identityOf("Ann");
  members.renamed("Ann", "Eve");
  members.joined("Ann", "#games");
  expect(members.identityOf("Ann").id).toBe("nick:ann~2");
  expect(members.identityOf("Eve").id).toBe("nick:ann");
});

test("a member with an account has the id of the account, whatever the nick", () => {
  const members = createMembers();
  members.joined("Ann", "#games");
  members.hasAccount("Ann", "AnnSmith");
  expect(members.identityOf("Ann").id).toBe("account:annsmith");
  members.renamed("Ann", "Other");
  expect(members.nickOf("account:annsmith")).toBe("Other");
  members.hasAccount("Other", false);
  expect(members.identityOf("Other").id).toMatch(/^nick:/);
});

test("a nick that left is unknown again, because another person can use the nick", () => {
  const members = createMembers();
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

test("a limited number of members is kept", () => {
  const members = createMembers(2);
  for (const nick of ["a", "b", "c"]) {
    members.joined(nick, "#games");
    members.hasAccount(nick, nick);
  }
  expect(members.isUnknown("a")).toBe(true);
  expect(members.isUnknown("c")).toBe(false);
});
