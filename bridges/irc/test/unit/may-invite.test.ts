import { inviteRule } from "../../connection/may-invite";
import { Members } from "../../state/members";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

// time: controlled
test("if a member repeats an invitation, the bridge asks the server for the member's account only once in 30 seconds", async () => {
  // The cache treats the time 0 as "never".
  jest.advanceTimersByTime(1);
  const members = new Members();
  members.begin((name) => name.toLowerCase());
  const lookUp = jest.fn(async (nick: string) => members.hasAccount(nick, false));
  const mayInvite = inviteRule(["account:Ann"], { members, lower: (name) => name.toLowerCase(), lookUp });
  for (let i = 0; i < 5; i += 1) expect(await mayInvite("Eve")).toBe(false);
  expect(await mayInvite("eve")).toBe(false);
  expect(lookUp).toHaveBeenCalledTimes(1);
  await mayInvite("Cid");
  expect(lookUp).toHaveBeenCalledTimes(2);
  jest.advanceTimersByTime(31_000);
  lookUp.mockImplementation(async (nick) => members.hasAccount(nick, "Ann"));
  expect(await mayInvite("Eve")).toBe(true);
});
