import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as fc from "fast-check";
import { clearAnswer, newAnswer, readAnswer } from "../../bench/load/http-answer";
import { createHttpConnections } from "../../bench/load/http-connections";
import { forAll } from "../harness/for-all";

const answerBytes = (status: number, body: string): Buffer =>
  Buffer.from(`HTTP/1.1 ${status} OK\r\ndate: now\r\nContent-Length: ${body.length}\r\nx: y\r\n\r\n${body}`);

test("an answer is complete after its last byte, wherever the network splits it", () => {
  const answers = fc.array(
    fc.tuple(fc.integer({ min: 200, max: 599 }), fc.stringMatching(/^[a-z\r\n]{0,40}$/)),
    {
      maxLength: 5,
    },
  );
  forAll(answers, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (all, sizes) => {
    const answer = newAnswer();
    let chunks = 0;
    for (const [status, body] of all) {
      const bytes = answerBytes(status, body);
      for (let from = 0, size; from < bytes.length; from += size) {
        size = Math.min(sizes[chunks++ % sizes.length] ?? 1, bytes.length - from);
        // The rest of the buffer holds bytes of an earlier chunk.
        const chunk = Buffer.concat([bytes.subarray(from, from + size), Buffer.from("\r\n\r\nold")]);
        expect(readAnswer(answer, chunk, size)).toBe(from + size === bytes.length);
      }
      expect(answer).toMatchObject({ status, bodyBytes: body.length });
      clearAnswer(answer);
    }
  });
});

test("the reader fails on bytes after an answer, an answer without a length, and a head without an end", () => {
  const read = (text: string) => () => readAnswer(newAnswer(), Buffer.from(text), text.length);
  expect(read(`${answerBytes(200, "a").toString()}b`)).toThrow("bytes arrived after an answer");
  expect(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")).toThrow("no Content-Length");
  expect(read(`HTTP/1.1 200 OK\r\n${"x".repeat(3_000)}`)).toThrow("too long");
});

describe("a run of load over HTTP", () => {
  let status = 202;
  let requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.writeHead(status, { "Content-Length": "2" }).end("ok");
  });
  let origin = "";
  const request = (path: string) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    status = 202;
    requests = [];
  });
  afterEach(() => server.closeAllConnections());
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  test("a run sends each request once and counts every answer, and ends when no request is left", async () => {
    const load = createHttpConnections(origin, 3);
    await load.open();
    const all = Array.from({ length: 50 }, (_, number) => `/${number}`);
    const left = [...all];
    const next = () => {
      const path = left.shift();
      return path === undefined ? undefined : request(path);
    };
    expect(await load.run(60, next, 2)).toMatchObject({ count: 50, bodyBytes: 100 });
    expect(requests.toSorted()).toEqual(all.toSorted());
  });

  test("a run at a fixed rate sends each request once, and includes a request's waiting time in its latency", async () => {
    const load = createHttpConnections(origin, 1);
    await load.open();
    const all = Array.from({ length: 20 }, (_, number) => `/${number}`);
    // All requests are due at about the same time, and the only connection sends one after another.
    const latencies = await load.runAtRate(1_000_000, all.map(request));
    expect(requests).toEqual(all);
    expect(latencies).toHaveLength(20);
    expect(latencies.toSorted((a, b) => a - b)).toEqual(latencies);
    expect(await load.runAtRate(1_000, [])).toEqual([]);

    status = 429;
    await expect(load.runAtRate(1_000, all.map(request))).rejects.toThrow("answered with 429 and 2 bytes");
  });

  // time: smoke
  test("a run ends after the given time, when every request is answered", async () => {
    const load = createHttpConnections(origin, 2);
    await load.open();
    const { count } = await load.run(0.05, (connection) => request(`/${connection}`));
    expect(count).toBe(requests.length);
    expect(new Set(requests)).toEqual(new Set(["/0", "/1"]));
  });

  test("a run fails if an answer is not a 2xx or has another length, or if the server closes a connection", async () => {
    const run = async (bytes?: number) => {
      const load = createHttpConnections(origin, 1);
      await load.open();
      await load.run(60, () => request("/"), bytes);
    };
    await expect(run(3)).rejects.toThrow("202 and 2 bytes");
    status = 429;
    await expect(run()).rejects.toThrow("429");
    status = 202;
    server.once("request", ({ socket }) => socket.destroy());
    await expect(run()).rejects.toThrow("closed a connection");
  });

  test("a run reopens the connections that the server has closed", async () => {
    const load = createHttpConnections(origin, 1);
    const run = async () => {
      await load.open();
      const left = [request("/")];
      return load.run(60, () => left.pop());
    };
    await run();
    server.closeAllConnections();
    // The first of these runs fails if the connection closes during the run.
    expect(await run().catch(run)).toMatchObject({ count: 1 });
  });
});
