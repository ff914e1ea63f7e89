/** Limits the rate at which the refused calls of each owner, e.g. of a token, are answered. */
export interface RefusalPace {
  /**
   * Calls `answer` immediately, or later if a call of the same owner has just been refused. A client that retries
   * refused calls in a loop therefore waits between its attempts, and does not keep this process busy.
   */
  refuse(owner: string, answer: () => void): void;
}

export interface PaceOptions {
  /** Maximum number of one owner's refusals that are answered per second. */
  readonly perSecond: number;
  /**
   * Maximum number of waiting refusals, for all owners together and for one owner. Further refusals are answered
   * immediately.
   */
  readonly waitingMax: { readonly inAll: number; readonly ofOne: number };
}

export function createRefusalPace({ perSecond, waitingMax }: PaceOptions): RefusalPace {
  /** The waiting refusals of the owners that were refused within the last `1 / perSecond` seconds. */
  const lines = new Map<string, (() => void)[]>();
  let waiting = 0;

  function answerNext(owner: string, line: (() => void)[]): void {
    const answer = line.shift();
    if (answer === undefined) {
      lines.delete(owner);
      return;
    }
    waiting -= 1;
    rest(owner, line);
    answer();
  }

  function rest(owner: string, line: (() => void)[]): void {
    setTimeout(answerNext, 1_000 / perSecond, owner, line).unref();
  }

  return {
    refuse(owner, answer) {
      const line = lines.get(owner);
      if (line !== undefined && waiting < waitingMax.inAll && line.length < waitingMax.ofOne) {
        waiting += 1;
        line.push(answer);
        return;
      }
      if (line === undefined) {
        const empty: (() => void)[] = [];
        lines.set(owner, empty);
        rest(owner, empty);
      }
      answer();
    },
  };
}
