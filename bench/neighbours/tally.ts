import { status } from "@grpc/grpc-js";

/** Outcomes of calls of one kind. */
export interface Counts {
  readonly accepted: number;
  /**
   * Number of refused calls for each reason: the name of a gRPC status, an HTTP status, or the error of a connection.
   */
  readonly refused: Readonly<Record<string, number>>;
  /** Milliseconds that the accepted calls took. */
  readonly latenciesMs: readonly number[];
}

/** Thrown when the answer to a call is a failure. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export type Tally = ReturnType<typeof createTally>;

export function createTally() {
  const refused: Record<string, number> = {};
  const latenciesMs: number[] = [];
  const counts = (): Counts => ({ accepted: latenciesMs.length, refused: { ...refused }, latenciesMs });
  return {
    accept: (latencyMs: number) => void latenciesMs.push(latencyMs),
    refuse(error: unknown): void {
      const reason = reasonOf(error);
      refused[reason] = (refused[reason] ?? 0) + 1;
    },
    counts,
    /** The number of calls. */
    total: () => latenciesMs.length + sumOf(refused),
  };
}

export function sumOf(refused: Counts["refused"]): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

type Answers = Pick<Counts, "accepted" | "refused">;

/** Returns the total number of accepted calls, and the number of refused calls for each reason. */
export function addUp(all: readonly Answers[]): Answers {
  const refused: Record<string, number> = {};
  for (const [reason, count] of all.flatMap((each) => Object.entries(each.refused)))
    refused[reason] = (refused[reason] ?? 0) + count;
  return { accepted: all.reduce((sum, { accepted }) => sum + accepted, 0), refused };
}

/** Returns the name of a gRPC status, the code of a failed connection, or the message of any other error. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: number | string; readonly message?: string };
  return typeof code === "number" ? (status[code] ?? String(code)) : (code ?? message ?? "unknown");
}

/** Calls `make` with the numbers from 0 to `count` - 1, `atOnce` calls at a time, until `signal` is aborted. */
export async function attempt(
  {
    count,
    atOnce,
    signal,
  }: { readonly count: number; readonly atOnce: number; readonly signal: AbortSignal },
  make: (number: number) => Promise<unknown>,
): Promise<Counts> {
  const tally = createTally();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count && !signal.aborted) {
      const began = performance.now();
      await make(next++).then(
        () => tally.accept(performance.now() - began),
        (error: unknown) => tally.refuse(error),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return tally.counts();
}

/** The events of one kind that are in flight, with the time at which each event was due. */
export function createJourneys(tally: () => Tally | undefined) {
  const leftAt = new Map<string, number>();
  const accepted = new Set<string>();
  const arrived = new Set<string>();
  return {
    leave: (text: string, dueAt: number) => void leftAt.set(text, dueAt),
    /** Records that the service has accepted an event, which may already have arrived. */
    accept: (text: string) => void accepted.add(text),
    arrive(text: string): void {
      const dueAt = leftAt.get(text);
      if (dueAt === undefined || arrived.has(text)) return;
      arrived.add(text);
      tally()?.accept(performance.now() - dueAt);
    },
    missing: () => [...accepted].filter((text) => !arrived.has(text)),
  };
}
