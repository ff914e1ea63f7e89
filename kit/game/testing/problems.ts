import type { GameLog } from "../log";
import type { Occurrence } from "./findings";

/** Maximum number of problems that are kept. */
const PROBLEMS_MAX = 100;

/** Collects the problems of a game from its log and from core. */
export class Problems implements GameLog {
  readonly #all: string[] = [];
  /** The problems since the last call of `takeNew`. */
  #fresh: { readonly text: string; readonly cause: unknown }[] = [];

  /** All problems. */
  get all(): readonly string[] {
    return this.#all;
  }

  /**
   * Adds a finding of core if the game broke a rule. Refused events are excluded, because the game's log already
   * contains them.
   */
  note({ code, severity, detail, advice }: Occurrence): void {
    if (severity === "broken" && code !== "invalid-event") this.#add(`${detail}: ${advice}`, undefined);
  }

  /** Returns the new problems as one error; undefined if there are none. */
  takeNew(): Error | undefined {
    const fresh = this.#fresh;
    this.#fresh = [];
    const [first] = fresh;
    if (first === undefined) return undefined;
    const { cause } = fresh.find((each) => each.cause !== undefined) ?? first;
    return new Error(fresh.map(({ text }) => text).join("\n"), cause === undefined ? {} : { cause });
  }

  info(): void {
    // This is not a problem.
  }

  warn(fields: object, message: string): void {
    this.#log(fields, message);
  }

  error(fields: object, message: string): void {
    this.#log(fields, message);
  }

  #log(fields: object, message: string): void {
    const {
      err: cause,
      workspaceId: _,
      ...rest
    } = fields as { readonly err?: Error; readonly workspaceId?: string };
    const details = Object.entries(rest).map(([name, value]) => `${name}: ${String(value)}`);
    if (cause !== undefined) details.push(String(cause));
    this.#add(details.length === 0 ? message : `${message} (${details.join(", ")})`, cause);
  }

  #add(text: string, cause: unknown): void {
    if (this.#all.length < PROBLEMS_MAX) this.#all.push(text);
    if (this.#fresh.length < PROBLEMS_MAX) this.#fresh.push({ text, cause });
  }
}
