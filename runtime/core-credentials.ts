import { status, type Metadata } from "@grpc/grpc-js";
import { Certificates } from "./certificates";
import { bearer } from "./core-channel";
import type { CoreConnection } from "./core-connection";
import { FileWatch, type FileLog } from "./file-watch";

/** gRPC statuses with which core rejects a token that is unknown, or that has a different role. */
export const TOKEN_REFUSALS: ReadonlySet<unknown> = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
]);
const ATTEMPTS_MAX = 3;
/** Milliseconds after which a rejected token may be tried again. */
const REFUSED_FOR_MS = 2_000;
const SAME_FAULT_EVERY_MS = 60_000;

/**
 * The token and the certificates with which a process calls core. Their files are read again when they change. The
 * process keeps the previous token, and tries the other token when core rejects one: core may not know the new token
 * yet, or no longer know the previous one.
 *
 *                the file has another token
 *   one token ───────────────────────────────▶ the new token ◀──────┐
 *                                                  │ core rejects it │ core rejects it, or connections are renewed
 *                                                  └──▶ the previous token
 */
export class CoreCredentials {
  /** Certificates of the connection; undefined if the connection does not use TLS. */
  readonly tls: Certificates | undefined;
  readonly #watch: FileWatch | undefined;
  readonly #log: FileLog | undefined;
  readonly #listeners = new Set<() => void>();
  #newest: string;
  #previous: string | undefined;
  #current: string;
  /** The accepted token that `accepted` logged last. */
  #logged: string | undefined;
  /** Time at which core last rejected each token; emptied when core accepts a token. */
  readonly #refused = new Map<string, number>();
  #reportedAt = -Infinity;

  /** @param log without a log, the files are not read again */
  constructor(connection: CoreConnection, log?: FileLog) {
    const { token, tls, tokenFile, tlsFiles } = connection;
    this.#newest = token;
    this.#current = token;
    this.tls = tls && new Certificates(tls);
    this.#log = log;
    if (log === undefined || (tokenFile === undefined && tlsFiles === undefined)) return;
    this.#watch = new FileWatch(log);
    this.#watch.add(tokenFile, (next) => this.#renew(next));
    this.#watch.add(tlsFiles, (files) => {
      this.tls?.replace(files);
      log.info({}, "certificates were read again: new connections to core use them");
    });
  }

  /** The token for the next call. */
  get token(): string {
    return this.#current;
  }

  /** Whether there is another token to try if core rejects `token`. */
  get hasOther(): boolean {
    return this.#previous !== undefined;
  }

  /** Number of files that were changed, but could not be read again. */
  get faults(): number {
    return this.#watch?.faults ?? 0;
  }

  /** Calls `listener` when the file contains a new token. */
  onRenewed(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Selects the newest token, because core may have started to accept it. */
  preferNewest(): void {
    this.#current = this.#newest;
  }

  /**
   * Records that core has accepted a token. After the file has changed, logs which token core accepts, and logs again
   * if this changes.
   */
  accepted(token: string): void {
    this.#refused.clear();
    if (this.#previous === undefined || this.#logged === token) return;
    this.#logged = token;
    if (token === this.#newest) this.#log?.info({}, "core accepts the new token of CORE_TOKEN_FILE");
    else
      this.#log?.warn(
        {},
        "core does not know the new token of CORE_TOKEN_FILE yet: the previous token stays in use",
      );
  }

  /**
   * Records that core has rejected a token, and reads the file again. Resolves to whether another token is worth
   * trying.
   */
  async refused(token: string): Promise<boolean> {
    this.#refused.set(token, performance.now());
    await this.#watch?.readNow();
    const other = [this.#newest, this.#previous].find((each) => each !== undefined && !this.#isRefused(each));
    if (other !== undefined) {
      this.#current = other;
      return true;
    }
    if (this.#previous !== undefined) {
      // Later calls try both tokens in turn, because core may read the new token later.
      this.#current = token === this.#newest ? this.#previous : this.#newest;
      this.#reportBoth();
    }
    return false;
  }

  #isRefused(token: string): boolean {
    return performance.now() - (this.#refused.get(token) ?? -Infinity) < REFUSED_FOR_MS;
  }

  #reportBoth(): void {
    const now = performance.now();
    if (now - this.#reportedAt < SAME_FAULT_EVERY_MS) return;
    this.#reportedAt = now;
    this.#log?.error(
      {},
      "core rejects the new and the previous token of CORE_TOKEN_FILE: add the new one to core's CORE_TOKENS or CORE_TOKENS_FILE",
    );
  }

  /**
   * Calls `work` with the metadata of a call. If core rejects the token, calls `work` again with the other token.
   * Rejects as `work` does.
   */
  async call<T>(work: (metadata: Metadata) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const token = this.#current;
      try {
        const answer = await work(bearer(token));
        this.accepted(token);
        return answer;
      } catch (error) {
        const isRefused = TOKEN_REFUSALS.has((error as { readonly code?: unknown }).code);
        if (!isRefused || attempt === ATTEMPTS_MAX || !(await this.refused(token))) throw error;
      }
    }
  }

  close(): void {
    this.#watch?.close();
    this.#listeners.clear();
  }

  #renew(next: string): void {
    if (next === this.#newest) return;
    this.#previous = this.#current;
    this.#newest = next;
    this.#current = next;
    this.#logged = undefined;
    this.#refused.clear();
    this.#log?.info({}, "the token was read again: new calls to core use it");
    for (const listener of this.#listeners) listener();
  }
}
