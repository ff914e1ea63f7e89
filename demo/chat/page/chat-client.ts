import type { LinkMode, Member, StreamEvent } from "../shapes";

/** A failed request, with a message for members; `status` is 0 when the server could not be reached. */
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

/** Returns the requests of the member who joined with `key`. All of them reject with ChatError. */
export function clientFor(key: string) {
  const ask = (method: string, path: string, body: object): Promise<Response> =>
    reach(path, { method, body, key });
  /** The last post sent; each waits for the one before, so that posts keep their order. */
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
    throw new ChatError(0, "The chat's server cannot be reached. Is it still running?");
  }
  if (answer.ok) return answer;
  const { message } = (await answer.json().catch(() => ({}))) as { message?: string };
  throw new ChatError(answer.status, message ?? `The server answered ${answer.status}.`);
}

export interface StreamListener {
  onEvent(event: StreamEvent): void;
  /** Called when the stream was lost; it is opened again after a second. */
  onAway(): void;
  /** Called when the server no longer knows the key; the stream is not opened again. */
  onUnknown(): void;
}

/** Follows the chat, reopening the stream whenever it ends. Returns a function that stops it. */
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

/** Yields the lines of an answer as they arrive, without empty ones. */
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
