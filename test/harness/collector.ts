import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { bytesTo, eachField, textTo, WireReader } from "../../core/rpc/wire-fields";
import { until } from "./wait";

/** A span that a process exported. */
export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Id of the parent span; empty for the first span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Ids of the linked spans. */
  readonly links: readonly string[];
  readonly isFault: boolean;
}

export type Collector = Awaited<ReturnType<typeof startCollector>>;

/** Starts a server that receives spans over OTLP/HTTP, encoded in protobuf. */
export async function startCollector() {
  const spans: CollectedSpan[] = [];
  const requests: IncomingHttpHeaders[] = [];
  let status = 200;
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    requests.push(request.headers);
    if (status === 200) spans.push(...readSpans(body));
    response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
  }
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    /** Settings that make a process export each span to this collector within 50 ms. */
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: "50" },
    spans: spans as readonly CollectedSpan[],
    /** The headers of each request. */
    requests: requests as readonly IncomingHttpHeaders[],
    /** Makes the collector answer with `code`. */
    answerWith: (code: number) => void (status = code),
    /** Waits for the spans with this name and these attributes. */
    span: (name: string, attributes: CollectedSpan["attributes"] = {}): Promise<CollectedSpan> =>
      until(`the span ${name} ${JSON.stringify(attributes)} has arrived`, () =>
        spans.find((span) => span.name === name && has(span, attributes)),
      ),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function has({ attributes }: CollectedSpan, expected: CollectedSpan["attributes"]): boolean {
  return Object.entries(expected).every(([key, value]) => attributes[key] === value);
}

/** A decoded protobuf message: the values of each field in order, by the number of the field. */
type Fields = ReadonlyMap<number, readonly (Buffer | number)[]>;

/** Reads the fields of a protobuf message, but skips fixed-size numbers (fixed32 and fixed64). */
function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | number)[]>();
  const reader = new WireReader(message);
  eachField(reader, message.length, (tag, end) => {
    const [field, wireType] = [tag >>> 3, tag & 7];
    if (wireType === 1 || wireType === 5) return;
    const value = wireType === 2 ? bytesTo(reader, end) : Number(reader.int64());
    fields.set(field, [...(fields.get(field) ?? []), value]);
  });
  return fields;
}

const messages = (fields: Fields, field: number): readonly Fields[] =>
  (fields.get(field) ?? []).map((value) => fieldsOf(value as Buffer));
const bytes = (fields: Fields, field: number): Buffer =>
  (fields.get(field)?.[0] as Buffer) ?? Buffer.alloc(0);
const text = (fields: Fields, field: number): string => {
  const value = bytes(fields, field);
  return textTo(new WireReader(value), value.length);
};

/** Reads an `ExportTraceServiceRequest`. The field numbers are those of opentelemetry/proto/trace/v1/trace.proto. */
function readSpans(body: Buffer): readonly CollectedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resource = new Map()] = messages(resourceSpans, 1);
    const service = String(attributesOf(resource, 1)["service.name"]);
    const found = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2));
    return found.map((span) => ({
      service,
      traceId: bytes(span, 1).toString("hex"),
      spanId: bytes(span, 2).toString("hex"),
      parentId: bytes(span, 4).toString("hex"),
      name: text(span, 5),
      attributes: attributesOf(span, 9),
      links: messages(span, 13).map((link) => bytes(link, 2).toString("hex")),
      isFault: messages(span, 15)[0]?.get(3)?.[0] === 2,
    }));
  });
}

function attributesOf(owner: Fields, field: number): Record<string, string | number> {
  const entries = messages(owner, field).map((pair) => {
    const [value = new Map()] = messages(pair, 2);
    return [text(pair, 1), value.has(1) ? text(value, 1) : Number(value.get(3)?.[0] ?? 0)] as const;
  });
  return Object.fromEntries(entries);
}
