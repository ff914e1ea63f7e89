import type { Namespace } from "./kubectl";

/** The results of the commands that the bridge posted during a load. */
export interface Account {
  readonly seconds: number;
  /** The number of different commands. */
  readonly sent: number;
  /** The number of commands whose first attempt failed. */
  readonly refusedFirst: number;
  /** The number of commands that were answered with 202, on the first or a later attempt. */
  readonly accepted: number;
  /** The number of attempts that got no 202, by the status of the answer or the code of the error. */
  readonly others: Readonly<Record<string, number>>;
  /** The longest time in ms until a POST was answered or failed. */
  readonly slowestMs: number;
  /** The number of pushes of events that the bridge had already accepted. */
  readonly repeatedPushes: number;
  /** The number of accepted commands that the game did not answer: these are lost. */
  readonly unanswered: number;
  /** The number of accepted commands that the game answered more than once. */
  readonly answeredTwice: number;
}

/** Returns functions that send commands to programs/bridge.mjs in the pod `bridge`. */
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

/** Fails unless every command was accepted, and the game answered it exactly once. */
export function expectNothingLost(account: Account): void {
  const { sent, accepted, unanswered, answeredTwice } = account;
  expect(sent).toBeGreaterThan(0);
  expect({ accepted, unanswered, answeredTwice }).toEqual({
    accepted: sent,
    unanswered: 0,
    answeredTwice: 0,
  });
}

/**
 * The only HTTP status after which a bridge must repeat a command; connection errors have codes instead of a status.
 */
const REPEATED_STATUS = "503";

/** Fails unless no command was lost, and all failed attempts were 503 answers or connection errors. */
export function expectOnlyOutages(account: Account): void {
  const statuses = Object.keys(account.others).filter((each) => /^\d+$/.test(each));
  expect(statuses.filter((each) => each !== REPEATED_STATUS)).toEqual([]);
  expectNothingLost(account);
}

/** Fails unless no command was lost, and every command was accepted on the first attempt. */
export function expectNoRefusal(account: Account): void {
  expect(account.others).toEqual({});
  expectNothingLost(account);
}
