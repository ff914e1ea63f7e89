import type { Namespace } from "./kubectl";

/** What happened to the commands of a load. */
export interface Account {
  readonly seconds: number;
  /** The number of different commands. */
  readonly sent: number;
  /** The number of commands whose first attempt failed. */
  readonly refusedFirst: number;
  /** The number of commands that were answered with 202, on the first attempt or a later one. */
  readonly accepted: number;
  /** The number of answers other than 202, by status or by code of the error. */
  readonly others: Readonly<Record<string, number>>;
  /** The longest time until a POST was answered, or failed. */
  readonly slowestMs: number;
  /** The number of pushes of an event that the bridge had already accepted. */
  readonly repeatedPushes: number;
  /** The number of accepted commands that the game did not answer: these are lost. */
  readonly unanswered: number;
  /** The number of accepted commands that the game answered more than once. */
  readonly answeredTwice: number;
}

/** The commands of the bridge in the pod `bridge`: programs/bridge.mjs. */
export function bridgeIn(namespace: Namespace) {
  async function ask<T>(command: "begin" | "account" | "finish"): Promise<T> {
    const args = ["exec", "bridge", "--", "node", "/programs/bridge.mjs", command];
    return JSON.parse(await namespace.kubectl(args)) as T;
  }
  return {
    begin: () => ask<object>("begin"),
    account: () => ask<Account>("account"),
    finish: () => ask<Account>("finish"),
  };
}

const otherAnswers = ({ others }: Account): number =>
  Object.values(others).reduce((sum, one) => sum + one, 0);

/** Prints the figures of a load in one line. */
export function printFigures(what: string, account: Account): void {
  const {
    seconds,
    sent,
    refusedFirst,
    accepted,
    others,
    slowestMs,
    unanswered,
    answeredTwice,
    repeatedPushes,
  } = account;
  const parts = [
    `sent ${sent}`,
    `refused at first ${refusedFirst}`,
    `202 ${accepted}`,
    `other answers ${otherAnswers(account)} ${otherAnswers(account) > 0 ? JSON.stringify(others) : ""}`.trim(),
    `lost ${unanswered}`,
    `answered twice ${answeredTwice}`,
    `repeated pushes ${repeatedPushes}`,
    `slowest ${slowestMs} ms`,
    `${seconds} s`,
  ];
  process.stderr.write(`── ${what}: ${parts.join(" · ")}\n`);
}

/** Expects that every command was accepted, and answered once. */
export function expectNothingLost(account: Account): void {
  const { sent, accepted, unanswered, answeredTwice } = account;
  expect(sent).toBeGreaterThan(0);
  expect({ accepted, unanswered, answeredTwice }).toEqual({
    accepted: sent,
    unanswered: 0,
    answeredTwice: 0,
  });
}

/** Statuses of refusals that a bridge must repeat; errors of connections have codes instead. */
const REPEATED_STATUS = "503";

/** Expects that nothing was lost, and that a refused command was refused only because a process or a connection was lost. */
export function expectOnlyOutages(account: Account): void {
  const statuses = Object.keys(account.others).filter((each) => /^\d+$/.test(each));
  expect(statuses.filter((each) => each !== REPEATED_STATUS)).toEqual([]);
  expectNothingLost(account);
}

/** Expects that nothing was lost, and that every command was accepted on the first attempt. */
export function expectNoRefusal(account: Account): void {
  expect(account.others).toEqual({});
  expectNothingLost(account);
}
