import { Agent, request, type Dispatcher } from "undici";

export interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
}

/** What a client got so far: the status, how much of the body, and in the end "whole" or the code of an error. */
export interface Got {
  status?: number;
  bytes?: number;
  end?: string;
}

/** A client that finds every name on loopback and keeps to one connection. */
export interface TestClient {
  post(url: string, options?: SendOptions): Promise<Dispatcher.ResponseData>;
  /** Posts, reads the whole answer, and never fails: `got` says along the way how far it came. */
  observe(url: string, options?: SendOptions, got?: Got): Promise<Got>;
  close(): Promise<void>;
}

export function createTestClient(trusted?: Buffer, connectTimeoutMs = 10_000): TestClient {
  const dispatcher = new Agent({
    connections: 1,
    connect: {
      ...(trusted === undefined ? {} : { ca: trusted }),
      timeout: connectTimeoutMs,
      lookup: (_name, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    },
  });
  const post: TestClient["post"] = (url, { headers = {}, body = "{}", signal } = {}) =>
    request(url, { method: "POST", headers, body, dispatcher, ...(signal === undefined ? {} : { signal }) });
  return {
    post,
    async observe(url, options, got = {}) {
      try {
        const answer = await post(url, options);
        got.status = answer.statusCode;
        got.bytes = 0;
        for await (const chunk of answer.body as AsyncIterable<Buffer>) got.bytes += chunk.length;
        got.end = "whole";
      } catch (error) {
        const { name, code } = error as { name: string; code?: unknown };
        got.end = typeof code === "string" ? code : name;
      }
      return got;
    },
    close: () => dispatcher.destroy(),
  };
}
