import type { LinkMode, Member, StreamEvent } from "../shapes";

/** What the server refused, in words for people; status 0 when it could not be reached. */
export class ChatError extends Error {
  override readonly name = "ChatError";
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const NOT_KNOWN = 401;
const COME_BACK_AFTER_MS = 1_000;

/** What a member does, by the key that they joined with. Everything rejects with ChatError. */
export function clientFor(key: string) {
  const ask = (method: string, path: string, body: object): Promise<Response> =>
    reach(path, { method, body, key });
  /** One after the other, in the order in which they were said. */
  let lastSaid: Promise<unknown> = Promise.resolve();
  return {
    say(said: { readonly conversation: string; readonly text: string; readonly replyTo?: number }) {
      const answer = lastSaid.then(() => ask("POST", "/say", said));
      lastSaid = answer.catch(() => {});
      return answer;
    },
    press: (post: number, action: string) => ask("POST", "/press", { post, action }),
    setMode: (mode: LinkMode) => ask("PUT", "/link/mode", { mode }),
    setCut: (isCut: boolean) => ask("PUT", "/link/cut", { isCut }),
  };
}

export type ChatClient = ReturnType<typeof clientFor>;

export async function join(name: string): Promise<{ readonly member: Member; readonly key: string }> {
  const answer = await reach("/join", { method: "POST", body: { name } });
  return (await answer.json()) as { member: Member; key: string };
}

interface Asked {
  readonly method: string;
  readonly body?: object;
  readonly key?: string;
  readonly signal?: AbortSignal;
}

async function reach(path: string, { method, body, key, signal }: Asked): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch {
    throw new ChatError(0, "The chat's server cannot be reached. Does it still run?");
  }
  if (answer.ok) return answer;
  const { message } = (await answer.json().catch(() => ({}))) as { message?: string };
  throw new ChatError(answer.status, message ?? `The server answered ${answer.status}.`);
}

export interface StreamListener {
  onEvent(event: StreamEvent): void;
  /** The stream was lost, and is opened again. */
  onAway(): void;
  /** The server does not know the key any more. */
  onUnknown(): void;
}

/** Follows the chat until it is told to stop; opens the stream again whenever it ends. */
export function followChat(key: string, { onEvent, onAway, onUnknown }: StreamListener): () => void {
  const over = new AbortController();
  async function follow(): Promise<void> {
    while (!over.signal.aborted) {
      try {
        const answer = await reach("/stream", { method: "GET", key, signal: over.signal });
        for await (const line of linesOf(answer)) onEvent(JSON.parse(line) as StreamEvent);
      } catch (error) {
        if (over.signal.aborted) return;
        if (error instanceof ChatError && error.status === NOT_KNOWN) return onUnknown();
      }
      if (over.signal.aborted) return;
      onAway();
      await new Promise((resolve) => setTimeout(resolve, COME_BACK_AFTER_MS));
    }
  }
  void follow();
  return () => over.abort();
}

/** The lines of an answer as they come, without the empty ones. */
async function* linesOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}
