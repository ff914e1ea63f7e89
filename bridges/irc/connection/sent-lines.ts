/** A sent line that the server has not confirmed yet. */
interface SentLine<Post> {
  readonly post: Post;
  readonly target: string;
  readonly text: string;
  readonly atMs: number;
}

/** A `PING`, whose answer confirms all lines that were sent before it. */
interface Mark {
  readonly ping: string;
}

/**
 * The lines that were sent over one connection and are not confirmed, in order. A line is confirmed by its echo, or by
 * the answer to a `PING` that was sent after the line.
 */
export class SentLines<Post> {
  #entries: (SentLine<Post> | Mark)[] = [];
  #pings = 0;

  /** The number of lines that are not confirmed. */
  get size(): number {
    return this.#lines().length;
  }

  add(line: SentLine<Post>): void {
    this.#entries.push(line);
  }

  /** Adds a `PING`, and returns its token. */
  addPing(): string {
    const ping = `lines-${++this.#pings}`;
    this.#entries.push({ ping });
    return ping;
  }

  /** Returns the post of each line that the answer to a `PING` confirms. */
  ponged(token: string): readonly Post[] {
    const at = this.#entries.findIndex((entry) => "ping" in entry && entry.ping === token);
    return this.#entries
      .splice(0, at + 1)
      .filter(isLine)
      .map(({ post }) => post);
  }

  /**
   * Returns the post of the echoed line. If no line has this text, because the server has changed the text, returns the
   * post of the oldest line to the target.
   */
  echoed(target: string, text: string): Post | undefined {
    const toTarget = this.#lines().filter((line) => line.target === target);
    const echoed = toTarget.find((line) => line.text === text) ?? toTarget[0];
    this.#entries = this.#entries.filter((entry) => entry !== echoed);
    return echoed?.post;
  }

  /** Returns the post of the oldest line to a target, and removes all lines of this post. */
  refused(target: string): Post | undefined {
    const post = this.#lines().find((line) => line.target === target)?.post;
    this.#entries = this.#entries.filter((entry) => !isLine(entry) || entry.post !== post);
    return post;
  }

  /** Returns the lines that were sent after the last `PING`. */
  unpinged(): readonly SentLine<Post>[] {
    const lastPing = this.#entries.findLastIndex((entry) => !isLine(entry));
    return this.#entries.slice(lastPing + 1).filter(isLine);
  }

  clear(): void {
    this.#entries = [];
  }

  #lines(): readonly SentLine<Post>[] {
    return this.#entries.filter(isLine);
  }
}

function isLine<Post>(entry: SentLine<Post> | Mark): entry is SentLine<Post> {
  return "post" in entry;
}
