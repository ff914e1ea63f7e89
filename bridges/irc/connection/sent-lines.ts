/** A line that was sent, and that the server has not confirmed. */
interface SentLine<Job> {
  readonly job: Job;
  readonly target: string;
  readonly text: string;
  readonly atMs: number;
}

/** A `PING`. Its answer confirms all lines before it. */
interface Mark {
  readonly ping: string;
}

/**
 * The lines that were sent over one connection and are not confirmed, in order. A line is confirmed by its echo, or by
 * the answer to a `PING` that was sent after the line.
 */
export function createSentLines<Job>() {
  let entries: (SentLine<Job> | Mark)[] = [];
  let pings = 0;
  const isLine = (entry: SentLine<Job> | Mark): entry is SentLine<Job> => "job" in entry;

  function remove(line: SentLine<Job> | undefined): Job | undefined {
    if (line !== undefined) entries = entries.filter((entry) => entry !== line);
    return line?.job;
  }

  return {
    add: (line: SentLine<Job>): void => void entries.push(line),
    /** Adds a `PING`, and returns its token. */
    addPing(): string {
      const ping = `lines-${++pings}`;
      entries.push({ ping });
      return ping;
    },
    /** Returns the jobs of the lines that the answer to a `PING` confirms, one for each line. */
    ponged(token: string): readonly Job[] {
      const at = entries.findIndex((entry) => "ping" in entry && entry.ping === token);
      const confirmed = entries.slice(0, at + 1);
      entries = entries.slice(at + 1);
      return confirmed.filter(isLine).map(({ job }) => job);
    },
    /**
     * Returns the job of the echoed line. A server may change the text of a line: then returns the job of the oldest
     * line to the target.
     */
    echoed(target: string, text: string): Job | undefined {
      const toTarget = entries.filter(isLine).filter((line) => line.target === target);
      return remove(toTarget.find((line) => line.text === text) ?? toTarget[0]);
    },
    /** Returns the job of the oldest line to a target, and removes all lines of this job. */
    refused(target: string): Job | undefined {
      const job = entries.filter(isLine).find((line) => line.target === target)?.job;
      entries = entries.filter((entry) => !isLine(entry) || entry.job !== job);
      return job;
    },
    /** Returns the lines that were sent after the last `PING`. */
    unpinged(): readonly SentLine<Job>[] {
      const lastPing = entries.findLastIndex((entry) => !isLine(entry));
      return entries.slice(lastPing + 1).filter(isLine);
    },
    /** The number of lines that are not confirmed. */
    size: (): number => entries.filter(isLine).length,
    clear(): void {
      entries = [];
    },
  };
}
